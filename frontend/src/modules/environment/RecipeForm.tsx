import { Alert, NumberInput, Select, Skeleton, Slider, Textarea, TextInput } from '@mantine/core';
import { lazy, Suspense, useId, useState } from 'react';
import type { Base, NetworkPolicy, Recipe, Runner } from '~/api/types';
import classes from './Recipe.module.css';
import { bounds, enforces, type Faults, hasBuild, kinds, policies } from './recipe';

const SetupEditor = lazy(() => import('./SetupEditor'));

interface Props {
  recipe: Recipe;
  faults: Faults;
  /** runner is the one that is chosen for the build: what it cannot do is said. */
  runner: Runner | undefined;
  failed: number;
  go: { line: number } | undefined;
  set: (to: Partial<Recipe>) => void;
}

/** RecipeForm is a recipe to be changed. */
export function RecipeForm({ recipe, faults, runner, failed, go, set }: Props) {
  const hint = useId();
  return (
    <div className={classes.form}>
      <BaseFields recipe={recipe} faults={faults} set={set} />
      <div className={classes.script}>
        <div className={classes.label}>
          Setup script
          <span className={classes.hint} id={hint}>
            Runs once as root when the Environment is built. Tab indents; Esc, then Tab leaves.
          </span>
        </div>
        <div className={classes.box} data-fault={faults.setup !== undefined}>
          <Suspense fallback={<Skeleton height="100%" radius={6} />}>
            <SetupEditor
              text={recipe.setup}
              failed={failed}
              go={go}
              describedBy={hint}
              change={(setup) => set({ setup })}
            />
          </Suspense>
        </div>
        {faults.setup && (
          <div className={classes.fault} role="alert">
            {faults.setup}
          </div>
        )}
      </div>
      <Sizes recipe={recipe} faults={faults} runner={runner} set={set} />
      <Network recipe={recipe} faults={faults} runner={runner} set={set} />
      {!hasBuild(recipe) && (
        <p className={classes.hint}>
          There is nothing to build here yet: without a base of its own and a script, Sessions run on the Runner’s own
          system, within these limits.
        </p>
      )}
    </div>
  );
}

type Part = Pick<Props, 'recipe' | 'faults' | 'runner' | 'set'>;

function BaseFields({ recipe, faults, set }: Omit<Part, 'runner'>) {
  const { kind, ref } = recipe.base;
  const [touched, setTouched] = useState(false);
  return (
    <div className={classes.base}>
      <div>
        <Select
          label="Base"
          description={kinds[kind].help}
          inputWrapperOrder={['label', 'input', 'description']}
          allowDeselect={false}
          value={kind}
          data={Object.entries(kinds).map(([value, k]) => ({ value, label: k.name }))}
          onChange={(k) => {
            setTouched(false);
            set({ base: { kind: (k ?? 'default') as Base['kind'], ref: k === 'default' ? undefined : ref } });
          }}
        />
      </div>
      {kind !== 'default' && (
        <TextInput
          label={kinds[kind].label}
          placeholder={kinds[kind].example}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          classNames={{ input: classes.mono }}
          value={ref ?? ''}
          error={touched || ref ? faults.ref : undefined}
          spellCheck={false}
          autoCapitalize="off"
          onBlur={() => setTouched(true)}
          onChange={(e) => set({ base: { kind, ref: e.currentTarget.value } })}
        />
      )}
    </div>
  );
}

const gb = 2 ** 30;

/** steps of the sliders: powers of two, as machines are made. */
const memorySteps = [0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256];
const diskSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024];
const cpuSteps = [1, 2, 4, 8, 16, 32, 64];

function Sizes({ recipe, faults, runner, set }: Part) {
  const m = runner?.machine;
  const known = m !== undefined && m.hostname !== '';
  return (
    <div className={classes.sizes}>
      <Size
        label="CPUs"
        steps={cpuSteps}
        bounds={bounds.cpus}
        value={recipe.cpus}
        fault={faults.cpus}
        warn={known && recipe.cpus > m.cpus ? `${runner?.name} has ${m.cpus}.` : undefined}
        change={(cpus) => set({ cpus })}
      />
      <Size
        label="Memory"
        unit="GB"
        decimals
        steps={memorySteps}
        bounds={{ min: bounds.memory.min / gb, max: bounds.memory.max / gb }}
        value={recipe.memory / gb}
        fault={faults.memory}
        warn={
          known && recipe.memory > m.memory_total
            ? `${runner?.name} has ${(m.memory_total / gb).toFixed(1)}.`
            : undefined
        }
        change={(v) => set({ memory: Math.round(v * gb) })}
      />
      <Size
        label="Disk"
        unit="GB"
        steps={diskSteps}
        bounds={{ min: bounds.disk.min / gb, max: bounds.disk.max / gb }}
        value={recipe.disk / gb}
        fault={faults.disk}
        warn={
          known && recipe.disk > m.disk_free ? `${runner?.name} has ${Math.floor(m.disk_free / gb)} free.` : undefined
        }
        change={(v) => set({ disk: Math.round(v * gb) })}
      />
    </div>
  );
}

interface SizeProps {
  label: string;
  unit?: string;
  decimals?: boolean;
  steps: number[];
  bounds: { min: number; max: number };
  value: number;
  fault: string | undefined;
  /** warn is said and does not forbid: another Runner may have it. */
  warn: string | undefined;
  change: (v: number) => void;
}

/** Size is a number with a slider over the usual ones. */
function Size({ label, unit, decimals, steps, bounds: b, value, fault, warn, change }: SizeProps) {
  const nearest = steps.reduce(
    (best, s, i) => (Math.abs(s - value) < Math.abs((steps[best] ?? 0) - value) ? i : best),
    0,
  );
  return (
    <div className={classes.size}>
      <NumberInput
        label={label}
        suffix={unit && ` ${unit}`}
        min={b.min}
        max={b.max}
        decimalScale={decimals ? 2 : 0}
        allowNegative={false}
        clampBehavior="blur"
        value={value}
        error={fault}
        description={fault ? undefined : warn}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        classNames={{ description: classes.warn }}
        onChange={(v) => change(typeof v === 'number' ? v : Number.parseFloat(v) || 0)}
      />
      <Slider
        thumbLabel={`${label}, in usual steps`}
        size={4}
        thumbSize={16}
        label={null}
        min={0}
        max={steps.length - 1}
        step={1}
        value={nearest}
        onChange={(i) => {
          const v = steps[i];
          if (v !== undefined && i !== nearest) change(v);
        }}
      />
    </div>
  );
}

function Network({ recipe, faults, runner, set }: Part) {
  const id = useId();
  const holds = enforces(runner, recipe.network);
  return (
    <div className={classes.network}>
      <fieldset className={classes.policies}>
        <legend className={classes.label}>Network</legend>
        {(Object.keys(policies) as NetworkPolicy[]).map((p) => (
          <label key={p} className={classes.policy} data-checked={recipe.network === p}>
            <input type="radio" name={id} checked={recipe.network === p} onChange={() => set({ network: p })} />
            <span>
              <b>{policies[p].name}</b>
              <span className={classes.hint}>{policies[p].help}</span>
              {enforces(runner, p) === false && (
                <span className={classes.cannot}>
                  {runner?.name} cannot enforce it with {runner?.machine.backend}.
                </span>
              )}
            </span>
          </label>
        ))}
      </fieldset>
      {holds === false && (
        <Alert color="orange" role="status">
          Sessions with this policy cannot start on {runner?.name}: a policy that is not enforced would be a false
          promise. Choose another one, or another Runner.
        </Alert>
      )}
      {recipe.network === 'allow-list' && (
        <Hosts allow={recipe.allow} fault={faults.allow} change={(allow) => set({ allow })} />
      )}
    </div>
  );
}

function Hosts({ allow, fault, change }: { allow: string[]; fault?: string; change: (a: string[]) => void }) {
  const [text, setText] = useState(allow.join('\n'));
  const shown = hosts(text).join('\n') === allow.join('\n') ? text : allow.join('\n');
  return (
    <Textarea
      label="Hosts"
      description="One a line: example.org, *.example.org, each with an optional :port"
      placeholder={'github.com\n*.npmjs.org:443'}
      autosize
      minRows={3}
      maxRows={12}
      classNames={{ input: classes.mono }}
      spellCheck={false}
      autoCapitalize="off"
      value={shown}
      error={fault}
      onChange={(e) => {
        setText(e.currentTarget.value);
        change(hosts(e.currentTarget.value));
      }}
    />
  );
}

function hosts(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}
