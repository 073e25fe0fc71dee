import { IconChevronRight } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useId, useState } from 'react';
import type { AuditEntry, Face } from '~/api/types';
import { CopyButton } from '~/ui/Copyable';
import { called } from '~/ui/person';
import { moment } from '~/ui/time';
import classes from './Audit.module.css';
import { clock } from './days';
import { actorName, phrase } from './sentence';

/** Line is one entry of the audit log as a sentence. What else it holds is shown on demand. */
export function Line({ e, personOf }: { e: AuditEntry; personOf: (id: string) => Face | undefined }) {
  const { before, after, target } = phrase(e);
  const [open, setOpen] = useState(false);
  const details = useId();
  return (
    <li className={classes.line} data-outcome={e.outcome} data-testid="audit-line">
      <div className={classes.row} data-open={open}>
        <button
          type="button"
          className={classes.when}
          title={moment(e.at)}
          aria-expanded={open}
          aria-controls={details}
          onClick={() => setOpen(!open)}
        >
          <IconChevronRight size={14} aria-hidden />
          <time dateTime={e.at}>{clock(e.at)}</time>
          <span className={classes.hidden}>, all that this line holds</span>
        </button>
        <span className={classes.sentence}>
          {e.actor ? (
            <Link to="/admin/audit" search={(old) => ({ ...old, actor: e.actor })} className={classes.who}>
              {actorName(e)}
            </Link>
          ) : (
            <span className={classes.who}>{actorName(e)}</span>
          )}{' '}
          {before} {target && <Target id={e.target ?? ''} personOf={personOf} />}
          {after}
        </span>
        <span className={classes.address}>{e.address}</span>
      </div>
      <div id={details} hidden={!open}>
        {open && <Details e={e} />}
      </div>
    </li>
  );
}

/** Target is what it was done to: a person by name, the rest by its id. It narrows the list to itself. */
function Target({ id, personOf }: { id: string; personOf: (id: string) => Face | undefined }) {
  const person = personOf(id);
  return (
    <Link to="/admin/audit" search={(old) => ({ ...old, target: id })} className={classes.target} title={id}>
      {person ? called(person) : <code>{id.length > 14 ? `${id.slice(0, 12)}…` : id}</code>}
    </Link>
  );
}

function Details({ e }: { e: AuditEntry }) {
  const rows: [string, string | undefined][] = [
    ['When', `${moment(e.at)} (${e.at})`],
    ['Who', [e.actor_kind, e.login, e.actor].filter(Boolean).join(' · ')],
    ['Action', e.action],
    ['Target', e.target],
    ['From', e.address],
    ['Outcome', e.outcome],
    ...Object.entries(e.detail ?? {}),
    ['Line', String(e.seq)],
    ['Hash', e.hash],
    ['Hash before', e.prev],
  ];
  return (
    <div className={classes.details}>
      <dl>
        {rows
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      <CopyButton text={JSON.stringify(e, null, 2)} label="Copy the line as JSON" />
    </div>
  );
}
