import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

/** Keeps 30 MB, produces 160 MB of garbage that outlives its youth, and prints the largest size of the old space in MB. */
const PROGRAM = `
  import './src/heap.ts';
  import { getHeapSpaceStatistics } from 'node:v8';
  const rows = (count) => Array.from({ length: count }, (_, i) => ({ id: String(i), name: 'Pet ' + i }));
  const kept = rows(250_000);
  let largest = 0;
  for (let round = 0, recent = []; round < 80; round++) {
    recent = [...recent.slice(-5), rows(20_000)];
    const old = getHeapSpaceStatistics().find((space) => space.space_name === 'old_space');
    largest = Math.max(largest, old.physical_space_size);
  }
  console.log(Math.round(largest / 1e6), kept.length);
`;

it('keeps the heap near what is in use while much is allocated', () => {
  const output = execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', PROGRAM], {
    encoding: 'utf8',
  });
  expect(Number.parseInt(output, 10)).toBeLessThan(110);
});
