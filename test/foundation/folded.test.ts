import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endOfPrefix, folded } from '../../src/foundation/folded.ts';
import { anyCharacter, cases } from '../kit/cases.ts';

/** Every code point that text can have; in short runs one in 16 of the large blocks without case or accents. */
function* codePoints(): Generator<string> {
  for (let point = 0; point <= 0x10ffff; point++) {
    const isPlain = (point >= 0x3400 && point < 0xd7b0) || point >= 0x20000;
    if (isPlain && point % cases(16, 1) > 0) continue;
    if (point < 0xd800 || point > 0xdfff) yield String.fromCodePoint(point);
  }
}

/** Text that is likely to change when it is folded. */
const text = fc.string({
  unit: fc.oneof(fc.constantFrom(...'aBİıßẞΣςé\u0323ﬁＡ한ᄒ𝔄\uffff', 'e\u0301'), anyCharacter),
});

const byUtf8 = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

describe('folded', () => {
  it.each([
    ['Rex', 'rex'],
    ['Zoë', 'zoe'],
    ['Zoe\u0308', 'zoe'],
    ['ÅNGSTRÖM', 'angstrom'],
    ['Ａｉｄａ', 'aida'],
    ['ﬁdo', 'fido'],
    ['İstanbul', 'istanbul'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['Straße', 'straße'],
    ['Ⅳ', 'iv'],
    ['한글', '한글'],
    ['𝔄', 'a'],
    ['\u0301', ''],
    ['ǅ', 'dz'],
  ])('maps %s to %s', (name, expected) => {
    expect(folded(name)).toBe(expected);
  });

  it('maps every code point of Unicode as its definition says, whichever form it comes in', () => {
    const wrong: string[] = [];
    for (const character of codePoints()) {
      const lower = character.normalize('NFKC').toLowerCase().replace(/ς/g, 'σ').normalize('NFD');
      const bare = Array.from(lower).filter((part) => !/\p{Mn}/u.test(part));
      const expected = bare.join('').normalize('NFC');
      const forms = [character, ...['NFC', 'NFD', 'NFKC', 'NFKD'].map((form) => character.normalize(form))];
      if (forms.some((form) => folded(form) !== expected) || /\p{Mn}/u.test(folded(character)))
        wrong.push(character.codePointAt(0)!.toString(16));
    }
    expect(wrong).toEqual([]);
  });

  it('is the same for every normal form of a text', () => {
    fc.assert(fc.property(text, (name) => folded(name.normalize('NFD')) === folded(name.normalize('NFC'))));
  });
});

describe('endOfPrefix', () => {
  it('is larger than every text with the prefix and no larger than any other that is', () => {
    fc.assert(
      fc.property(text, text, (prefix, other) => {
        const end = endOfPrefix(prefix);
        const isWithin = byUtf8(other, prefix) >= 0 && (end === undefined || byUtf8(other, end) < 0);
        expect(isWithin).toBe(other.startsWith(prefix));
        expect(end === undefined || byUtf8(`${prefix}${other}`, end) < 0).toBe(true);
      }),
    );
    expect(['', 'a', 'a\u{10ffff}', '\u{10ffff}', '\ud7ff', '\uffff'].map(endOfPrefix)).toEqual([
      undefined,
      'b',
      'b',
      undefined,
      '\ue000',
      '\u{10000}',
    ]);
  });
});
