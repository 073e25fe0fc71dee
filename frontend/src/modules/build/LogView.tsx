import { Button, CopyButton, Tooltip } from '@mantine/core';
import { IconArrowDown, IconCheck, IconCopy, IconDownload } from '@tabler/icons-react';
import { forwardRef, useImperativeHandle, useLayoutEffect, useRef, useState } from 'react';
import { bytes } from '~/ui/bytes';
import { pieces } from './ansi';
import type { Row } from './buffer';
import classes from './Log.module.css';
import type { BuildLog } from './log';

const lineHeight = 18; // px, as in Log.module.css
const spare = 30; // lines beyond what is seen, so that scrolling shows no gap

export interface LogHandle {
  /** show scrolls to where in the log a step's output begins. */
  show: (offset: number) => void;
}

interface Props {
  build: string;
  log: BuildLog | undefined;
  running: boolean;
}

/** LogView shows a log of any length: only the lines in view are in the document. It stays at the end until scrolled away. */
export const LogView = forwardRef<LogHandle, Props>(function LogView({ build, log, running }, handle) {
  const box = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(400);
  const count = log?.buffer.length ?? 0;
  const version = log?.version ?? 0;

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of the log is a reason to go to its end
  useLayoutEffect(() => {
    if (following && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [version, following, height]);

  useImperativeHandle(handle, () => ({
    show: (offset) => {
      if (!box.current || !log) return;
      setFollowing(false);
      box.current.scrollTop = log.buffer.lineAt(offset) * lineHeight;
      box.current.focus();
    },
  }));

  const from = Math.max(0, Math.floor(top / lineHeight) - spare);
  const to = Math.min(count, Math.ceil((top + height) / lineHeight) + spare);
  return (
    <section className={classes.frame} aria-label="Log">
      <div className={classes.bar}>
        <span className={classes.said} role="status">
          {said(log, running)}
        </span>
        <CopyButton value={log?.buffer.text() ?? ''} timeout={1500}>
          {({ copied, copy }) => (
            <Tooltip label="Copy the log">
              <button type="button" className={classes.tool} aria-label="Copy the log" onClick={copy}>
                {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
              </button>
            </Tooltip>
          )}
        </CopyButton>
        <Tooltip label="Download the log">
          <a
            className={classes.tool}
            href={`/api/builds/${build}/log.txt`}
            download={`${build}.log`}
            aria-label="Download the log"
          >
            <IconDownload size={14} />
          </a>
        </Tooltip>
      </div>
      <div
        ref={box}
        className={classes.log}
        role="log"
        aria-live="off"
        aria-label="Output"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        data-testid="build-log"
        onScroll={(e) => {
          const { scrollTop, clientHeight, scrollHeight } = e.currentTarget;
          setTop(scrollTop);
          setFollowing(scrollTop + clientHeight >= scrollHeight - lineHeight);
        }}
      >
        <div className={classes.lines} style={{ height: count * lineHeight }}>
          <div className={classes.window} style={{ transform: `translateY(${from * lineHeight}px)` }}>
            {log?.buffer.rows(from, to).map((row, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
              <Line key={from + i} row={row} />
            ))}
          </div>
        </div>
        {count === 0 && log?.state !== 'reading' && (
          <p className={classes.none}>{running ? 'No output yet.' : 'This build wrote nothing.'}</p>
        )}
      </div>
      {!following && (
        <Button
          size="compact-sm"
          className={classes.jump}
          leftSection={<IconArrowDown size={14} aria-hidden />}
          onClick={() => setFollowing(true)}
        >
          Jump to the end
        </Button>
      )}
    </section>
  );
});

function Line({ row }: { row: Row }) {
  return (
    <div className={classes.line}>
      {pieces(row.text, row.style).map((p, i) =>
        p.fg < 0 && !p.bold && !p.dim ? (
          p.text
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place
          <span key={i} data-fg={p.fg < 0 ? undefined : p.fg % 8} data-bold={p.bold} data-dim={p.dim}>
            {p.text}
          </span>
        ),
      )}
    </div>
  );
}

function said(log: BuildLog | undefined, running: boolean): string {
  if (!log || log.state === 'reading') return 'Reading the log …';
  const { length, offset, dropped } = log.buffer;
  if (log.state === 'refused') return 'The Hub has no log of this build.';
  const size = `${(length + dropped).toLocaleString()} ${length + dropped === 1 ? 'line' : 'lines'}, ${bytes(offset)}`;
  const less = dropped > 0 ? `; the first ${dropped.toLocaleString()} are in the download` : '';
  if (log.state === 'cut') return `${size}. The link to the Hub is down: there may be more.`;
  return running ? `Live · ${size}${less}` : `${size}${less}`;
}
