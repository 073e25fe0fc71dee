import { describe, expect, it } from 'vitest';
import { looksSecret, parseEnv, seemsEnv } from './dotenv';

const read = (text: string) => Object.fromEntries(parseEnv(text).entries.map((e) => [e.name, e.value]));

describe('parseEnv', () => {
  it('reads what people write', () => {
    expect(
      read(
        [
          '# a comment',
          'A=1',
          'export B = two words # why',
          "C='with # and $D'",
          'D="a\\nb \\"q\\" \\$x"',
          'E=',
          'F=a#b',
          'G="first',
          'second"',
          'A=again',
        ].join('\r\n'),
      ),
    ).toEqual({
      A: 'again',
      B: 'two words',
      C: 'with # and $D',
      D: 'a\nb "q" $x',
      E: '',
      F: 'a#b',
      G: 'first\nsecond',
    });
  });

  it('keeps a key over several lines whole', () => {
    const pem = '-----BEGIN PRIVATE KEY-----\nabc==\n-----END PRIVATE KEY-----\n';
    expect(read(`K="${pem}"\nNEXT=1`)).toEqual({ K: pem, NEXT: '1' });
  });

  it('says which lines it did not understand', () => {
    const { entries, unread } = parseEnv('A=1\nnonsense\nB="open\nC=2');
    expect(entries.map((e) => e.name)).toEqual(['A', 'C']);
    expect(unread.map((u) => u.line)).toEqual([2, 3]);
  });

  it('leaves names that the Hub refuses to the Hub', () => {
    expect(read('MY-NAME=1')).toEqual({ 'MY-NAME': '1' });
  });
});

it.each([
  ['API_TOKEN', 'x', true],
  ['DB_PASSWORD', 'x', true],
  ['DATABASE_URL', 'postgres://u:p@h/db', true],
  ['DATABASE_URL', 'postgres://h/db', false],
  ['CERT', '-----BEGIN RSA PRIVATE KEY-----', true],
  ['NODE_ENV', 'production', false],
  ['KEYBOARD', 'de', false],
])('looksSecret %s=%s', (name, value, want) => {
  expect(looksSecret(name, value)).toBe(want);
});

it('seemsEnv tells several from one value of several lines', () => {
  expect(seemsEnv('A=1\nB=2')).toBe(true);
  expect(seemsEnv('just\ntext')).toBe(false);
  expect(seemsEnv('A=1')).toBe(false);
});
