import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { PARTS } from './parts.ts';

const FIRST = PARTS[process.env.MUTANTS_OF!]?.first ?? [];

/** The files that notice most, then the quick ones: the first test that fails ends the run. */
export class QuickFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return Promise.resolve(files.toSorted((one, other) => orderOf(one) - orderOf(other)));
  }
}

/** A negative number for a file that is to be first, else the milliseconds that it took the last time. */
function orderOf({ project, moduleId }: TestSpecification): number {
  const { vitest } = project;
  const path = moduleId.slice(vitest.config.root.length + 1);
  const index = FIRST.indexOf(path);
  if (index !== -1) return index - FIRST.length;
  return vitest.cache.getFileTestResults(`${project.name}:${path}`)?.duration ?? 0;
}
