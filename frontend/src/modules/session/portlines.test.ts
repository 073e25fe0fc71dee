import { expect, it } from 'vitest';
import type { Port, Session } from '~/api/types';
import { portLines, portNumber } from './portlines';

const lines = (ports: Port[], forwards: Session['forwards']) =>
  portLines({ forwards, observed: { ports } as Session['observed'] }).map((l) => `${l.port} ${l.state}`);

it('puts what listens and what was asked for together, by number', () => {
  expect(
    lines(
      [
        { port: 5432, listens: true },
        { port: 3000, listens: true, local: '127.0.0.1:41234' },
        { port: 8080, listens: true, error: 'Port 8080 is taken.' },
        { port: 9000, listens: true, local: '127.0.0.1:9000' },
      ],
      [
        { port: 3000, same: false },
        { port: 8080, same: true },
        { port: 1455, same: true },
      ],
    ),
  ).toEqual(['1455 asked', '3000 forwarded', '5432 listens', '8080 failed', '9000 stopping']);
});

it.each([
  ['3000', 3000],
  [' 80 ', 80],
  ['0', undefined],
  ['70000', undefined],
  ['3e3', undefined],
  ['', undefined],
])('portNumber %j', (text, want) => {
  expect(portNumber(text)).toBe(want);
});
