// Runs commands of a built tool one after the other in this process, and prints their exit codes and output as JSON.
// Arguments: the path of the tool, and its arguments for each command as JSON. Starting a process takes far longer.
import { pathToFileURL } from 'node:url';

const [node, , tool, table] = process.argv;
const commands = JSON.parse(table);
const print = process.stdout.write.bind(process.stdout);
const results = [];

function runNext() {
  const args = commands[results.length];
  if (!args) {
    print(JSON.stringify(results));
    return;
  }
  const result = { code: 0, stdout: '', stderr: '' };
  results.push(result);
  process.argv = [node, tool, ...args];
  for (const name of ['stdout', 'stderr']) {
    process[name].write = (text) => {
      result[name] += text;
      return true;
    };
  }
  process.exit = (code) => {
    result.code = code;
  };
  // A command is done when nothing is left to do. Not awaited: Node.js ends with an error if a module still waits then.
  // The event is emitted again only after the event loop had something to do.
  process.once('beforeExit', () => setImmediate(runNext));
  // Another address evaluates the tool again.
  import(`${pathToFileURL(tool).href}?${results.length}`);
}

runNext();
