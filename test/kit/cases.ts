/** Number of cases a property test tries: few by default, many in CI (`AT_LENGTH=1`). */
export const cases = (usual: number, atLength: number): number =>
  process.env.AT_LENGTH === '1' ? atLength : usual;
