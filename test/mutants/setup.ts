import fc from 'fast-check';
import { beforeEach } from 'vitest';
import { SLOW } from './parts.ts';

// The same cases for every mutant, and no time spent on the smallest one that fails.
fc.configureGlobal({ seed: 20_261_121, endOnFailure: true });

beforeEach(({ task, skip }) => {
  if (SLOW.has(task.name)) skip();
});
