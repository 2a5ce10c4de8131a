/** For GraphQL Code Generator. */
export const config = {
  scalars: { ID: { input: 'string | number', output: 'string' }, DateTime: 'string', JSON: 'unknown' },
};
