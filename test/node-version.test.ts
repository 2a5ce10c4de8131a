import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { nodeVersionError } from '../src/node-version.ts';

it.each(['20.19.0', '20.20.2', '22.0.0', '100.1.0'])('accepts Node.js %s', (version) => {
  expect(nodeVersionError(version)).toBeUndefined();
});

it.each(['18.20.8', '20.18.3', '9.0.0'])(
  'says in one line what is needed instead of Node.js %s',
  (version) => {
    expect(nodeVersionError(version)).toBe(`Node.js 20.19 or newer is needed; this is ${version}.`);
  },
);

it('needs the version that package.json names', () => {
  const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  expect(nodeVersionError('0.0.0')).toContain(`Node.js ${engines.node.slice(2)} or newer`);
});
