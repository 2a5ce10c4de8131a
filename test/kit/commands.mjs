// Runs commands of the built program one after the other in this process, as its parent sends them: starting a process
// takes far longer than most commands do. Each message `{args, settings}` is answered with an exit code and output.
import { run } from '../../dist/program.js';

const { channel, env } = process;
const send = process.send.bind(process);

process.on('message', ({ args, settings }) => {
  const outcome = { code: 0, stdout: '', stderr: '' };
  process.env = { ...env, ...settings };
  process.exitCode = 0;
  for (const name of ['stdout', 'stderr']) {
    process[name].write = (text) => {
      outcome[name] += text;
      return true;
    };
  }
  process.exit = (code) => {
    outcome.code = code;
  };
  // A command is done when it has left nothing to do, so that the process of its own would end.
  channel.unref();
  process.once('beforeExit', () => {
    channel.ref();
    outcome.code ||= process.exitCode;
    // libsql keeps data files open until its statements are garbage collected.
    gc();
    setImmediate(() => send(outcome));
  });
  void run(...args);
});
