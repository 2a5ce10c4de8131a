// Runs commands of the built tools one after the other in this process, as its parent sends them: starting a process
// takes far longer than most commands do. Each message `{tool, args, settings}` is answered with an exit code and output.
import { pathToFileURL } from 'node:url';

const { argv, channel, env } = process;
const send = process.send.bind(process);
let commands = 0;

process.on('message', ({ tool, args, settings }) => {
  const outcome = { code: 0, stdout: '', stderr: '' };
  process.argv = [argv[0], tool, ...args];
  process.env = { ...env, ...settings };
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
    // libsql keeps data files open until its statements are garbage collected.
    gc();
    setImmediate(() => send(outcome));
  });
  // Another address evaluates the tool again.
  import(`${pathToFileURL(tool).href}?${++commands}`);
});
