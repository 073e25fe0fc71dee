import { act, fireEvent, screen } from '@testing-library/react';
import { createRef } from 'react';
import { expect, it } from 'vitest';
import { show, sound } from '~/test/render';
import { LogBuffer } from './buffer';
import { type LogHandle, LogView } from './LogView';
import type { BuildLog } from './log';

function made(text: string): BuildLog {
  const buffer = new LogBuffer();
  buffer.add(0, new TextEncoder().encode(text));
  return { buffer, state: 'ended', version: 1 } as unknown as BuildLog;
}

it('puts only what is in view into the page, and nothing of the output becomes markup', async () => {
  const log = made(`<img src=x onerror=alert(1)>\n\x1b[31mred\x1b[0m\n${'y\n'.repeat(50_000)}`);
  const view = createRef<LogHandle>();
  const { container } = show(<LogView ref={view} build="bld_1" log={log} running={false} />);
  const output = screen.getByTestId('build-log');
  act(() => view.current?.show(0));
  fireEvent.scroll(output);
  expect(output.querySelector('img')).toBeNull();
  expect(output.textContent).toContain('<img src=x onerror=alert(1)>');
  expect(output.querySelector('[data-fg="1"]')?.textContent).toBe('red');
  expect(output.textContent?.length).toBeLessThan(2000);
  expect(screen.getByText('50,002 lines, 97.7 KB')).toBeTruthy();
  await sound(container);
});

it('says when the link is down, rather than that this is all', () => {
  const log = made('one\n');
  log.state = 'cut';
  show(<LogView build="bld_1" log={log} running />);
  expect(screen.getByText(/link to the Hub is down: there may be more/)).toBeTruthy();
});
