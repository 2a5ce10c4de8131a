import { init, runBaseTests, setupEnvironment } from 'vitest/worker';

// Kept here because tests may replace them.
const send = process.send.bind(process);
const exit = process.exit.bind(process);
process.once('disconnect', () => exit());

/** Whether the previous run loaded modules with an active mutant. */
let isDirty = false;

init({
  post: send,
  on: (listener) => process.on('message', listener),
  off: (listener) => process.off('message', listener),
  setup: setupEnvironment,
  runTests(state, traces) {
    const { globalNamespace, mutantActivation } = state.ctx.providedContext;
    // Modules loaded before the first test must not see the mutant of the previous run.
    const stryker = globalThis[globalNamespace];
    if (stryker) stryker.activeMutant = undefined;
    // A mutant in code that runs on load requires the sources to be reloaded, for this run and the next.
    const isStatic = mutantActivation === 'static';
    if (isStatic || isDirty) state.ctx.config.isolate = true;
    isDirty = isStatic;
    return runBaseTests('run', state, traces);
  },
});
