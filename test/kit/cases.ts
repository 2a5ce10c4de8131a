import fc from 'fast-check';

/** Number of cases a property test tries: few by default, many at length (`AT_LENGTH=1`). */
export const cases = (usual: number, atLength: number): number =>
  process.env.AT_LENGTH === '1' ? atLength : usual;

/** Any character. fast-check's own unit of all characters maps each of them back first, which takes half a second. */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10f7ff })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800));

/** The pairs of a table in which one line of each stands indented below the other. */
export const pairsOf = (table: string): [above: string, below: string][] =>
  table
    .trim()
    .split(/\n(?! )/)
    .map((pair) => pair.split('\n  ') as [string, string]);
