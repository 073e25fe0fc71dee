import classes from './Meter.module.css';

interface Part {
  name: string;
  value: number;
  kind: 'ours' | 'images' | 'reclaimable' | 'others';
}

interface Props {
  label: string;
  /** text says the numbers: a bar alone tells too little. */
  text: string;
  total: number;
  parts: Part[];
  /** legend names each part below the bar, with its size as it is written. */
  legend?: (value: number) => string;
}

/** Meter shows how much of something is used, and by whom. */
export function Meter({ label, text, total, parts, legend }: Props) {
  const used = parts.reduce((sum, p) => sum + p.value, 0);
  return (
    <div>
      <div className={classes.line}>
        <span>{label}</span>
        <span className={classes.text}>{text}</span>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a meter element cannot show two parts */}
      <div
        className={classes.track}
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={total > 0 ? Math.round((100 * used) / total) : 0}
        aria-valuetext={text}
        data-full={total > 0 && used / total > 0.9}
      >
        {parts.map((p) => (
          <div
            key={p.name}
            title={p.name}
            data-kind={p.kind}
            style={{ width: total > 0 ? `${(100 * p.value) / total}%` : 0 }}
          />
        ))}
      </div>
      {legend && (
        <ul className={classes.legend}>
          {parts
            .filter((p) => p.value > 0)
            .map((p) => (
              <li key={p.name} data-kind={p.kind}>
                {p.name} {legend(p.value)}
              </li>
            ))}
        </ul>
      )}
    </div>
  );
}
