// A dev server in a Session: its port is listed, forwarded on demand through the Runner, opened in the browser, and
// closed again.
import { expect, test } from 'vitest';
import type { Session } from '../../src/api/types';
import { recipe } from '../api';
import { place } from '../place';
import { story } from '../story';

const { person } = story('port');

// Perl is in every Debian. It answers each request with one page.
const server = (port: number) =>
  `setsid perl -MIO::Socket::INET -e '$s=IO::Socket::INET->new(LocalAddr=>"127.0.0.1",LocalPort=>${port},Listen=>5,ReuseAddr=>1)or die;while($c=$s->accept){<$c>;print $c "HTTP/1.0 200 OK\\r\\nContent-Type: text/html\\r\\n\\r\\n<h1>Served from within</h1>";close $c}' >/dev/null 2>&1 & echo server begins`;

test('port', async () => {
  const me = await person();
  const { api } = me;
  const environment = await api.environment('Serves', recipe());
  const id = await api.start('Serves a page', { environment });
  await me.open(id);
  await api.ready(id, 150);
  const port = 20_000 + Math.floor(Math.random() * 9000);
  await me.shell(server(port), /^\W*server begins$/m);
  const listens = await api.observe(
    id,
    'listening',
    (s) => s.observed.ports.some((p) => p.port === port && p.listens),
    90,
  );
  expect(listens.observed.ports.find((p) => p.port === port)).toMatchObject({
    process: expect.stringContaining('perl'),
  });
  expect(listens.observed.ports.find((p) => p.port === port)?.local ?? '').toBe('');

  await api.call('POST', `/sessions/${id}/ports`, { port, same: false });
  const found = (s: Session) => s.observed.ports.find((p) => p.port === port && p.local)?.local;
  const local = found(await api.observe(id, 'forwarded', found, 60)) ?? '';
  expect(local).toMatch(/^127\.0\.0\.1:\d+$/);
  await me.shot('forwarded');
  const near = await place.reach(Number(local.split(':')[1]));
  const browser = await me.another();
  await browser.page.goto(`http://127.0.0.1:${near}/`);
  await browser.page.getByRole('heading', { name: 'Served from within' }).waitFor();
  await browser.shot('served');

  // It sleeps and wakes: the forward is a wish that stays, and says that nobody listens.
  await api.act(id, 'sleep');
  await api.observe(id, 'asleep', (s) => s.observed.phase === 'asleep');
  await api.act(id, 'wake');
  await api.ready(id, 150);
  const awake = await api.observe(id, 'forwarded again', (s) => s.observed.ports.some((p) => p.port === port), 60);
  expect(awake.observed.ports.find((p) => p.port === port)?.listens).toBe(false);

  const ended = await api.call<Session>('DELETE', `/sessions/${id}/ports/${port}`);
  expect(ended.forwards).toEqual([]);
  await api.observe(id, 'closed', (s) => !found(s), 60);
  const answers = await fetch(`http://127.0.0.1:${near}/`).then(
    () => true,
    () => false,
  );
  expect(answers).toBe(false);
});
