import type { RunnerTestCase, RunnerTestFile } from 'vitest';
import type { Reporter, TestModule } from 'vitest/node';

/** What Vitest keeps of a file, which its types leave out. */
type Internal = TestModule & { task: RunnerTestFile };

/**
 * A file that doesn't load has no tests, so Stryker would take a mutant that breaks loading for one that no test
 * noticed: it is shown a test that failed.
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
