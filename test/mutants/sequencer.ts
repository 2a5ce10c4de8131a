import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The quick files first: the first test that fails ends the run. */
export class QuickFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return Promise.resolve(files.toSorted((one, other) => this.#durationOf(one) - this.#durationOf(other)));
  }

  #durationOf({ project, moduleId }: TestSpecification): number {
    const { vitest } = project;
    const key = `${project.name}:${moduleId.slice(vitest.config.root.length + 1)}`;
    return vitest.cache.getFileTestResults(key)?.duration ?? 0;
  }
}
