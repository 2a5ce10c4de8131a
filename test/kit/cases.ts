/** Number of cases a property test tries: few by default, many at length (`AT_LENGTH=1`, as .ci/run sets it). */
export const cases = (usual: number, atLength: number): number =>
  process.env.AT_LENGTH === '1' ? atLength : usual;
