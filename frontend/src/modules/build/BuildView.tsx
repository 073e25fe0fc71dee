import { Button } from '@mantine/core';
import { IconTerminal2 } from '@tabler/icons-react';
import { useRef } from 'react';
import type { Build } from '~/api/types';
import { Mark } from '~/modules/session/StatusMark';
import { Command, Output } from '~/ui/Copyable';
import { ago, moment, useNow } from '~/ui/time';
import { useBuildActions } from './actions';
import classes from './Build.module.css';
import { type LogHandle, LogView } from './LogView';
import { Steps } from './Steps';
import { useBuildLog } from './useBuildLog';
import { buildTone, buildWord } from './words';

interface Props {
  build: Build;
  runnerName: string;
  linked: boolean;
  /** goToLine shows a line of the setup script; missing when the script has changed since. */
  goToLine: ((line: number) => void) | undefined;
}

/** BuildView is one build: how it is, its steps, what went wrong, and its log as it grows. */
export function BuildView({ build, runnerName, linked, goToLine }: Props) {
  const now = useNow(5000);
  const log = useBuildLog(build.id);
  const view = useRef<LogHandle>(null);
  const running = build.state === 'queued' || build.state === 'building';
  const unknown = running && !linked;
  return (
    <>
      <div className={classes.head}>
        <span className={classes.status} data-testid="build-status">
          <Mark tone={unknown ? 'unknown' : buildTone[build.state]} moving={running && !unknown} />
          {buildWord(build, linked)}
        </span>
        <span className={classes.quiet} title={moment(build.created)}>
          {build.environment ? `version ${build.version} · ` : ''}
          {runnerName} · {ago(Date.parse(running ? build.created : build.updated), now)}
          {running ? '' : ' ago'}
        </span>
      </div>
      {build.steps.length > 0 && <Steps build={build} show={(s) => view.current?.show(s.log_from)} />}
      {build.state === 'failed' && <Failed build={build} goToLine={goToLine} now={now} />}
      <div className={classes.logs}>
        <LogView ref={view} key={build.id} build={build.id} log={log} running={running} />
      </div>
    </>
  );
}

function Failed({ build, goToLine, now }: { build: Build; goToLine: Props['goToLine']; now: number }) {
  const actions = useBuildActions();
  const { failure, line } = build;
  const kept = Date.parse(build.kept ?? '');
  const lines = line !== undefined && line > 0;
  const command = /`([^`]+)`/.exec(failure?.fix ?? '')?.[1];
  return (
    <div className={classes.failure} role="alert" data-testid="build-failure">
      <p>{failure?.reason ?? 'The build failed.'}</p>
      {failure?.fix && <p className={classes.fix}>{failure.fix.replaceAll('`', '')}</p>}
      {command && <Command>{command}</Command>}
      {(lines || kept > now) && (
        <div className={classes.tools}>
          {lines && goToLine && (
            <Button size="xs" variant="default" onClick={() => goToLine(line)}>
              Go to line {line}
            </Button>
          )}
          {lines && !goToLine && (
            <span className={classes.quiet}>
              It was line {line} of version {build.version}; the script has changed since.
            </span>
          )}
          {kept > now && (
            <>
              <Button
                size="xs"
                leftSection={<IconTerminal2 size={14} aria-hidden />}
                loading={actions.looking}
                onClick={() => actions.look(build)}
              >
                Look inside
              </Button>
              <span className={classes.quiet}>
                Its Sandbox is kept until{' '}
                {new Date(kept).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })}, another{' '}
                {ago(now, kept)}.
              </span>
            </>
          )}
        </div>
      )}
      {failure?.detail && <Output>{failure.detail}</Output>}
    </div>
  );
}
