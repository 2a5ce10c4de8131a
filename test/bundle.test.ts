import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it('runs libraries in production mode, whatever NODE_ENV is', () => {
  const dist = new URL('../dist/', import.meta.url);
  const programs = readdirSync(dist).filter((name) => name.endsWith('.js'));
  expect(programs).toContain('main.js');
  for (const name of programs)
    expect(readFileSync(new URL(name, dist), 'utf8'), name).not.toContain('process.env.NODE_ENV');
});
