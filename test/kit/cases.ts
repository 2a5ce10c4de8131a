/** How many cases a test tries: enough to notice what breaks, or as many as CI takes the time for (`AT_LENGTH=1`). */
export const cases = (usual: number, atLength: number): number =>
  process.env.AT_LENGTH === '1' ? atLength : usual;
