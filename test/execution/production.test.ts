import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

/**
 * In development mode, graphql-js throws if an object tagged as a schema was not created by this copy of
 * graphql-js.
 */
const PROGRAM = `
  await import('./dist/execution/production.js');
  const { isSchema } = await import('graphql');
  const found = (() => {
    try { return isSchema({ get [Symbol.toStringTag]() { return 'GraphQLSchema' } }) } catch { return 'twice' }
  })();
  console.log(JSON.stringify([found, process.env.NODE_ENV ?? null]));
`;

const run = (NODE_ENV: string | undefined) => {
  const { NODE_ENV: _ours, ...env } = process.env;
  const args = ['--input-type=module', '--eval', PROGRAM];
  const output = execFileSync(process.execPath, args, { env: { ...env, ...(NODE_ENV && { NODE_ENV }) } });
  return JSON.parse(output.toString());
};

it.each([undefined, 'development', 'production'])(
  'runs graphql-js in production mode with NODE_ENV %s',
  (mode) => {
    expect(run(mode)).toEqual([false, mode ?? null]);
  },
);
