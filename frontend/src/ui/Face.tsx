import { Tooltip, UnstyledButton } from '@mantine/core';
import { IconEye } from '@tabler/icons-react';
import classes from './Face.module.css';
import { called, hueOf, initials } from './person';

/** Person is what a face needs to know. */
export interface Person {
  id: string;
  login: string;
  name: string;
}

/** Face is a person's initials in a colour of their own. The name stands beside it, or is said by what holds it. No
 * picture is fetched: it would tell another site who looks at what. */
export function Face({ person, size = 24 }: { person: Person; size?: number }) {
  return (
    <span
      className={classes.face}
      data-hue={hueOf(person.id)}
      style={{ width: size, height: size, fontSize: Math.round(size * 0.42) }}
      data-initials={initials(person.name, person.login)}
      aria-hidden="true"
    />
  );
}

/** Named is a face with its name, and its login where that says more. */
export function Named({ person, size = 28, children }: { person: Person; size?: number; children?: React.ReactNode }) {
  const name = called(person);
  return (
    <span className={classes.named}>
      <Face person={person} size={size} />
      <span className={classes.words}>
        <span className={classes.name}>
          {name}
          {children}
        </span>
        {name !== person.login && <span className={classes.login}>{person.login}</span>}
      </span>
    </span>
  );
}

const most = 4;

/** FaceRow is the same inside of something that is pressed as a whole: it takes no press and no focus of its own. */
export function FaceRow({ people }: { people: Person[] }) {
  if (people.length === 0) return null;
  const said = `here now: ${people.map((p) => called(p)).join(', ')}`;
  return (
    <span className={classes.row} title={said} data-testid="watchers">
      {people.slice(0, 3).map((p) => (
        <Face key={p.id} person={p} size={20} />
      ))}
      {people.length > 3 && <span className={classes.more} data-more={`+${people.length - 3}`} />}
      <span className={classes.hidden}>{said}</span>
    </span>
  );
}

/** Faces are the people who watch: their names come with pointer, focus or touch; where there is no room, a number. */
export function Faces({ people, compact = false }: { people: Person[]; compact?: boolean }) {
  if (people.length === 0) return null;
  const names = people.map((p) => called(p));
  const said = `here now: ${names.join(', ')}`;
  return (
    <Tooltip
      events={{ hover: true, focus: true, touch: true }}
      multiline
      maw={280}
      label={
        <>
          <b>Here now</b>
          {names.map((n, i) => (
            <div key={people[i]?.id}>{n}</div>
          ))}
        </>
      }
    >
      <UnstyledButton
        className={classes.faces}
        aria-label={compact ? `${people.length} ${said}` : said}
        data-testid="watchers"
        data-compact={compact}
      >
        {compact ? (
          <>
            <IconEye size={16} aria-hidden /> {people.length}
          </>
        ) : (
          <>
            {people.slice(0, people.length > most ? most - 1 : most).map((p) => (
              <Face key={p.id} person={p} />
            ))}
            {people.length > most && <span className={classes.more} data-more={`+${people.length - most + 1}`} />}
          </>
        )}
      </UnstyledButton>
    </Tooltip>
  );
}
