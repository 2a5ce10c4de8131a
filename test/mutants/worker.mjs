import { init, runBaseTests, setupEnvironment } from 'vitest/worker';

// Tests may replace these.
const send = process.send.bind(process);
const exit = process.exit.bind(process);
process.once('disconnect', () => exit());

/** Whether the modules of the run before were loaded with a mutant in them. */
let isDirty = false;

init({
  post: send,
  on: (listener) => process.on('message', listener),
  off: (listener) => process.off('message', listener),
  setup: setupEnvironment,
  runTests(state, traces) {
    const { globalNamespace, mutantActivation } = state.ctx.providedContext;
    // What loads before the first test must not see the mutant of the run before.
    const stryker = globalThis[globalNamespace];
    if (stryker) stryker.activeMutant = undefined;
    // A mutant of what runs at loading time needs the sources to be loaded anew, and so does the run after it.
    const isStatic = mutantActivation === 'static';
    if (isStatic || isDirty) state.ctx.config.isolate = true;
    isDirty = isStatic;
    return runBaseTests('run', state, traces);
  },
});
