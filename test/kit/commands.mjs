// Runs commands of a built tool one after the other in this process, and prints their exit codes and output as JSON.
// Arguments: the path of the tool, and its arguments for each command as JSON. Starting a process takes far longer.
import { pathToFileURL } from 'node:url';

const [node, , tool, table] = process.argv;
const print = process.stdout.write.bind(process.stdout);
const results = [];

for (const args of JSON.parse(table)) {
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
  // Another address evaluates the tool again. It is done when nothing is left to do.
  await import(`${pathToFileURL(tool).href}?${results.length}`);
  await new Promise((resolve) => process.once('beforeExit', resolve));
}
print(JSON.stringify(results));
