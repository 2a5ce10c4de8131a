import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { Operations } from '../../src/graphql/operations.ts';
import { schema } from '../../src/graphql/schema.ts';
import { cases } from '../kit/cases.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const heap = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1e6;
};

/** Some 60 fields under names of their own, with fragments and a switch, so that each has several plans to keep. */
const document = (n: number): string => `query Q($deep: Boolean = true) {
  pets(first: 5) { nodes { ...Names${n} category @include(if: $deep) { ...Category${n} } } }
}
fragment Names${n} on Pet { ${Array.from({ length: 40 }, (_, i) => `p${n}_${i}: id`).join(' ')} }
fragment Category${n} on Category { ${Array.from({ length: 20 }, (_, i) => `c${n}_${i}: id`).join(' ')} }`;

it('thousands of different documents leave little behind, whatever is kept of each', () => {
  const operations = new Operations(schema, () => {});
  const prepare = (n: number) => {
    for (const deep of [true, false, true, true])
      operations.prepare({ query: document(n), variables: { deep } });
  };
  for (let n = 0; n < 200; n++) prepare(n);
  const before = heap();
  for (let n = 200; n < cases(3_000, 10_000); n++) prepare(n);
  expect(heap() - before).toBeLessThan(60);
}, 120_000);

it('documents that come once are not kept', () => {
  const operations = new Operations(schema, () => {});
  for (let n = 0; n < 200; n++) operations.prepare({ query: document(n) });
  const before = heap();
  // As trees they would take more than the room that there is for all of them.
  for (let n = 200; n < 1_000; n++) operations.prepare({ query: document(n) });
  expect(heap() - before).toBeLessThan(6);
});
