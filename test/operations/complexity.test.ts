import { parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import { checkExpansion, checkNesting } from '../../src/operations/complexity.ts';

const DEEP = 'The operation has more than 200 brackets open at once.';
const WIDE = 'The operation selects more than 10000 fields.';
const REPEATED = 'The operation selects the same fields too often.';

describe('bracket nesting', () => {
  it.each([
    ['{', '}'],
    ['[', ']'],
    ['(', ')'],
  ])('allows 200 open %s and refuses 201', (open, close) => {
    for (const text of [
      open.repeat(200),
      open.repeat(200) + close.repeat(200),
      `${open}${close}`.repeat(300),
      `${open.repeat(150)}${close.repeat(150)}`.repeat(3),
      // Brackets in strings and comments do not count.
      `"${open.repeat(500)}"`,
      `# ${open.repeat(500)}\n{`,
    ])
      expect(() => checkNesting(text), text).not.toThrow();
    for (const text of [
      open.repeat(201),
      `${open}${close}`.repeat(100) + open.repeat(201),
      `{ a ${open.repeat(200)}`,
      `{ a [ b ( ${open.repeat(198)}`,
    ])
      expect(() => checkNesting(text), text).toThrow(DEEP);
  });

  it('ignores brackets beyond the token limit', () => {
    const tokens = (count: number) => 'a '.repeat(count) + '{'.repeat(201);
    expect(() => checkNesting(tokens(1_800))).toThrow(DEEP);
    expect(() => checkNesting(tokens(1_801))).not.toThrow();
  });
});

const times = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join(' ');
const check = (text: string) => () => checkExpansion(parse(text));

describe('document expansion', () => {
  it('allows 10,000 fields and fragments and refuses more', () => {
    // Each of the 40 selections counts itself, a spread and 248 fields.
    const text = (more: string) =>
      `{ ${times(40, (i) => `p${i}: pet { ...F }`)} ${more} } fragment F on Pet { ${times(248, (i) => `a${i}: id`)} }`;
    expect(check(text(''))).not.toThrow();
    expect(check(text('x'))).toThrow(WIDE);
    expect(check(text('... { x }'))).toThrow(WIDE);
  });

  it('allows 50,000 pairs of fields with one response key and refuses more', () => {
    expect(check(`{ pet { ${'id '.repeat(223)} } }`)).not.toThrow();
    expect(check(`{ pet { ${'id '.repeat(224)} } }`)).toThrow(REPEATED);
    expect(check(`{ pet { ${'x: id '.repeat(112)} ${'x: name '.repeat(112)} } }`)).toThrow(REPEATED);
    expect(check(`{ pet { ${'x: id '.repeat(112)} ${'y: id '.repeat(112)} } }`)).not.toThrow();
    // Pairs add up over all keys and fragments, regardless of type conditions.
    expect(check(`{ ${times(5, (i) => `p${i}: pet { ${'id '.repeat(100)} }`)} }`)).not.toThrow();
    expect(check(`{ ${times(6, (i) => `p${i}: pet { ${'id '.repeat(100)} }`)} }`)).toThrow(REPEATED);
    expect(
      check(
        `{ pet { ${'id '.repeat(112)} ... on A { ${'id '.repeat(56)} } ...F } } fragment F on B { ${'id '.repeat(56)} }`,
      ),
    ).toThrow(REPEATED);
    // Below equal keys, all selections are compared with each other.
    expect(check(`{ ${'pet { id name } '.repeat(120)} }`)).not.toThrow();
    expect(check(`{ ${'pet { id name } '.repeat(130)} }`)).toThrow(REPEATED);
    expect(check(`query A { ${'a '.repeat(180)} } query B { ${'a '.repeat(180)} }`)).toThrow(REPEATED);
  });

  it('allows fewer pairs of fields with arguments, which take longer to compare', () => {
    const repeated = (count: number, args: string) => `{ ${`pet${args} { id } `.repeat(count)} }`;
    expect(check(repeated(40, '(id: 1)'))).not.toThrow();
    expect(check(repeated(50, '(id: 1)'))).toThrow(REPEATED);
    const filter = `(a: {list: [${'sold, '.repeat(100)}]})`;
    expect(check(repeated(6, filter))).not.toThrow();
    expect(check(repeated(10, filter))).toThrow(REPEATED);
  });

  it('counts a used fragment only where it is spread, and unused fragments too', () => {
    const many = 'id '.repeat(180);
    expect(check(`{ pet { ...F } } fragment F on Pet { ${many} }`)).not.toThrow();
    expect(check(`{ pet { ...F ... { ...F } } } fragment F on Pet { id }`)).not.toThrow();
    expect(check(`{ pet { id } } fragment F on Pet { ${'id '.repeat(224)} }`)).toThrow(REPEATED);
    expect(check(`{ pet { ${many} } } fragment F on Pet { ${many} }`)).toThrow(REPEATED);
    expect(check(`{ pet { ...G } } fragment G on Pet { ...F } fragment F on Pet { ${many} }`)).not.toThrow();
  });

  it('expands a fragment at every spread, but not within itself', () => {
    const many = 'id '.repeat(75);
    expect(check(`{ pet { ...F ...F } } fragment F on Pet { ${many} }`)).not.toThrow();
    expect(check(`{ pet { ...F ...F ...F } } fragment F on Pet { ${many} }`)).toThrow(REPEATED);
    for (const text of [
      '{ pet { ...F } } fragment F on Pet { id ...F }',
      '{ pet { ...F } } fragment F on Pet { id pet { ...F } }',
      '{ pet { ...F } } fragment F on Pet { ...G } fragment G on Pet { ...F ...Nowhere }',
    ])
      expect(check(text), text).not.toThrow();
  });
});
