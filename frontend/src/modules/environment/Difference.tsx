import type { Recipe } from '~/api/types';
import { compare, fold } from './lines';
import { changed } from './recipe';
import classes from './Versions.module.css';
import { fieldName, fieldText } from './words';

interface Props {
  mine: Recipe;
  theirs: Recipe;
  mineName: string;
  theirsName: string;
}

const sign = { same: ' ', mine: '−', theirs: '+' };

/** Difference shows in what two recipes differ: each field, and the script line by line. */
export function Difference({ mine, theirs, mineName, theirsName }: Props) {
  const fields = changed(mine, theirs);
  if (fields.length === 0) return <p className={classes.facts}>They are the same.</p>;
  return (
    <div className={classes.difference}>
      {fields.some((f) => f !== 'setup') && (
        <table>
          <thead>
            <tr>
              <td />
              <th scope="col">{mineName}</th>
              <th scope="col">{theirsName}</th>
            </tr>
          </thead>
          <tbody>
            {fields
              .filter((f) => f !== 'setup')
              .map((f) => (
                <tr key={f}>
                  <th scope="row">{fieldName[f]}</th>
                  <td>{fieldText(mine, f)}</td>
                  <td>{fieldText(theirs, f)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      )}
      {fields.includes('setup') && (
        <>
          <p className={classes.facts}>
            Setup script: − only in {mineName}, + only in {theirsName}
          </p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
          <pre tabIndex={0} className={classes.lines}>
            {fold(compare(mine.setup, theirs.setup)).map((l, i) =>
              l.kind === 'fold' ? (
                // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
                <span key={i} data-kind="fold">{`  … ${l.lines} the same`}</span>
              ) : (
                // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
                <span key={i} data-kind={l.kind}>{`${sign[l.kind]} ${l.text}`}</span>
              ),
            )}
          </pre>
        </>
      )}
    </div>
  );
}
