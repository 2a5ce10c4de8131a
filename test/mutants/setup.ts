import fc from 'fast-check';
import { beforeEach } from 'vitest';
import { SLOW } from './parts.ts';

// Use the same cases for every mutant, and do not shrink failing ones.
fc.configureGlobal({ seed: 20_261_121, endOnFailure: true });

beforeEach(({ task, skip }) => {
  if (SLOW.has(task.name)) skip();
});
