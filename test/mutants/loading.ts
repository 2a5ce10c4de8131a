import type { RunnerTestCase, RunnerTestFile } from 'vitest';
import type { Reporter, TestModule } from 'vitest/node';

/** The task of a test file, which Vitest's types omit. */
type Internal = TestModule & { task: RunnerTestFile };

/**
 * Reports a failed test for a file that does not load. Such a file has no tests, so Stryker would otherwise count a
 * mutant that breaks loading as survived.
 */
export const loading: Reporter = {
  onTestModuleEnd(module) {
    const { task: file } = module as Internal;
    const { result, tasks } = file;
    if (result?.state !== 'fail' || tasks.length > 0) return;
    const task = { id: `${file.id}_loads`, type: 'test', name: 'loads', fullName: `${file.name} > loads` };
    const rest = {
      mode: 'run',
      meta: {},
      annotations: [],
      artifacts: [],
      timeout: 0,
      suite: file,
      file,
      result,
    };
    tasks.push({ ...task, ...rest } as unknown as RunnerTestCase);
  },
};
