import fc from 'fast-check';

/** Number of cases a property test tries: few by default, many at length (`AT_LENGTH=1`, as .ci/run sets it). */
export const cases = (usual: number, atLength: number): number =>
  process.env.AT_LENGTH === '1' ? atLength : usual;

/** Any character. fast-check's own unit of all characters maps each of them back first, which takes half a second. */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10f7ff })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800));
