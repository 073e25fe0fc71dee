import { describe, expect, it } from 'vitest';
import { userCode } from './code';

describe('userCode', () => {
  it.each(['BDFG-HJKL', 'bdfghjkl', ' b d f g - h j k l ', 'BDFG–HJKL', 'bdfg_hjkl'])('reads %j', (typed) =>
    expect(userCode(typed)).toEqual({ code: 'BDFG-HJKL', whole: true }),
  );

  it('goes along while one types', () => {
    expect(userCode('b')).toEqual({ code: 'B', whole: false });
    expect(userCode('bdfg')).toEqual({ code: 'BDFG', whole: false });
    expect(userCode('bdfgh')).toEqual({ code: 'BDFG-H', whole: false });
  });

  it('says which letter no code has, and when there are too many', () => {
    expect(userCode('BDFA').fault).toContain('“A”');
    expect(userCode('BDF0HJKL').fault).toContain('“0”');
    expect(userCode('BDFGÉJKL').fault).toContain('“É”');
    const long = userCode('BDFGHJKLM');
    expect(long.fault).toContain('too long');
    expect(long.whole).toBe(false);
  });
});
