import { waitFor } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { hub } from '~/test/render';
import { bare } from './ansi';
import { BuildLog } from './log';

const part = (offset: number, text: string) =>
  `id: ${offset + text.length}\nevent: log\ndata: ${JSON.stringify({ offset, data: btoa(text) })}\n\n`;
const stream = (text: string) => new Response(text, { headers: { 'Content-Type': 'text/event-stream' } });
const lines = (l: BuildLog) => l.buffer.rows(0, l.buffer.length).map((r) => bare(r.text));

let log: BuildLog | undefined;
afterEach(() => log?.dispose());

describe('BuildLog', () => {
  it('goes on after a cut from where it was, and ends with the build', async () => {
    const asked = hub((a) =>
      a.query.get('from') === '0'
        ? stream(`: hi\n\n${part(0, 'one\ntw')}`)
        : stream(`${part(4, 'two\nthree\n')}event: end\ndata: {}\n\n`),
    );
    log = new BuildLog('bld_1');
    await waitFor(() => expect(log?.state).toBe('ended'));
    expect(lines(log)).toEqual(['one', 'two', 'three']);
    expect(asked.map((a) => [a.path, a.query.get('from'), a.headers.get('Last-Event-ID')])).toEqual([
      ['/api/builds/bld_1/log', '0', null],
      ['/api/builds/bld_1/log', '6', '6'],
    ]);
  });

  it('asks again when a part is missing', async () => {
    let first = true;
    hub(() => {
      const text = first ? part(0, 'one\n') + part(100, 'far\n') : `${part(4, 'two\n')}event: end\ndata: {}\n\n`;
      first = false;
      return stream(text);
    });
    log = new BuildLog('bld_1');
    await waitFor(() => expect(log?.state).toBe('ended'));
    expect(lines(log)).toEqual(['one', 'two']);
  });

  it('does not ask for ever for a build that is not there', async () => {
    const asked = hub(() => undefined);
    log = new BuildLog('bld_1');
    await waitFor(() => expect(log?.state).toBe('refused'));
    expect(asked).toHaveLength(1);
  });

  it('tells its watchers once a frame', async () => {
    hub(() => stream(`${Array.from({ length: 50 }, (_, i) => part(i * 2, 'x\n')).join('')}event: end\ndata: {}\n\n`));
    log = new BuildLog('bld_1');
    const told = vi.fn();
    log.subscribe(told);
    await waitFor(() => expect(log?.state).toBe('ended'));
    await waitFor(() => expect(told).toHaveBeenCalled());
    expect(told.mock.calls.length).toBeLessThan(10);
    expect(log.buffer.length).toBe(50);
  });
});
