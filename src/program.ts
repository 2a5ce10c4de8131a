import { Command, CommanderError } from 'commander';
import { keepHeapSmall } from './cli/heap.ts';
import { printable } from './cli/text-table.ts';
import { VERSION } from './config.ts';
import { explained } from './foundation/errors.ts';

/** The exit code for a malformed command; 1 is for one that fails. */
const MALFORMED = 2;

/**
 * The command `petstore`. Its subcommands are loaded when called: creating a key needs no schema, and the server no
 * commands.
 */
async function programFor(args: readonly string[]): Promise<Command> {
  const program = new Command('petstore')
    .description('The Petstore gateway: one API over REST, GraphQL and MCP.')
    .version(VERSION)
    .configureHelp({ helpWidth: 80, showGlobalOptions: false })
    .exitOverride()
    .showHelpAfterError('Try: petstore --help');
  const groups: Record<string, [string, () => Promise<{ define(command: Command): void }>]> = {
    serve: ['Start the server.', () => import('./serve.ts')],
    keys: ['Manage API keys.', () => import('./cli/key-commands.ts')],
    documents: ['Manage lists of trusted GraphQL documents.', () => import('./cli/document-commands.ts')],
    data: ['Load records from a file, or move a store.', loadDataCommands],
  };
  for (const [group, [description, load]] of Object.entries(groups)) {
    const command = program.command(group).description(description);
    command.showHelpAfterError(`Try: petstore ${group} --help`);
    if (args.includes(group)) (await load()).define(command);
  }
  return program;
}

function loadDataCommands() {
  keepHeapSmall();
  return import('./cli/data-commands.ts');
}

/**
 * Runs a command. Sets the exit code of the process: 2 if the command is malformed, 1 if it fails.
 *
 * @param args the arguments after `petstore`
 */
export async function run(...args: string[]): Promise<void> {
  if (process.stderr.listenerCount('error') === 0) {
    if (args[0] !== 'serve') process.stdout.on('error', endUnwritten);
    // Unread progress output must not stop a command.
    process.stderr.on('error', () => {});
  }
  const program = await programFor(args.slice(0, 2));
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed the message or the requested help.
      process.exitCode = error.exitCode === 0 ? 0 : MALFORMED;
      return;
    }
    process.stderr.write(`${printable(explained(error))}\n`);
    process.exit(1);
  }
}

/** Ends a command whose output can't be written: silently if the reader is gone, as in `petstore keys list | head`. */
function endUnwritten({ code, message }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit();
  process.stderr.write(`The command succeeded, but its output cannot be written: ${message}\n`);
  process.exit(1);
}
