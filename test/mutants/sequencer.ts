import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { PARTS } from './parts.ts';

const FIRST = PARTS[process.env.MUTANTS_OF!]?.first ?? [];

/** Runs the files that detect the most mutants first, then the quickest. The first failing test ends the run. */
export class QuickFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return Promise.resolve(files.toSorted((a, b) => orderOf(a) - orderOf(b)));
  }
}

/** Negative for a file to be run first, otherwise its last duration in milliseconds. */
function orderOf({ project, moduleId }: TestSpecification): number {
  const { vitest } = project;
  const path = moduleId.slice(vitest.config.root.length + 1);
  const index = FIRST.indexOf(path);
  if (index !== -1) return index - FIRST.length;
  return vitest.cache.getFileTestResults(`${project.name}:${path}`)?.duration ?? 0;
}
