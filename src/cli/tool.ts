import { existsSync } from 'node:fs';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { type Config, readConfig } from '../config.ts';
import { AppError } from '../foundation/errors.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';

/** The values of the options given, by name. */
export type Options = Readonly<Record<string, string | boolean | undefined>>;

/** A command of a tool: `keys create`, which works on a store. */
export interface Command<S = Store> {
  /** The arguments after the command name. */
  usage: string;
  help: string;
  /** In addition to --json and --help, which every command accepts. */
  options: readonly string[];
  /** What its first argument is: `the ID of a key`. */
  argument?: string;
  isArgumentOptional?: true;
  /** Whether more arguments may follow. */
  takesMore?: true;
  /** Whether the command may create the store. */
  createsStore?: true;
  /**
   * Validates the options.
   *
   * @throws Faults
   * @returns the work to do once the store is open
   */
  prepare(options: Options, args: readonly string[]): (store: S) => Promise<Report>;
}

/** What a command prints: a value for programs (`--json`), and lines for people. */
export interface Report {
  value: object;
  lines: readonly string[];
}

export interface Tool<S> {
  /** As in `npm run --silent NAME -- COMMAND`. */
  name: string;
  commands: Readonly<Record<string, Command<S>>>;
  options: NonNullable<ParseArgsConfig['options']>;
  /** What to know about all commands. */
  help: string;
  /** Opens what a command works on. */
  open(config: Config, command: Command<S>, name: string): Promise<S>;
}

/** What a tool closes when its command is done. */
interface Closable {
  close(): unknown;
}

/** A mistake of the user: the message is printed without a stack. */
export class UsageError extends Error {
  readonly exitCode: number;

  /** @param exitCode 2 for a malformed command, 1 for one that cannot be carried out */
  constructor(message: string, exitCode = 2) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Everything wrong with the options of a command. */
export class Faults {
  readonly #messages: string[] = [];

  /** @param message a sentence */
  add(message: string): void {
    this.#messages.push(message);
  }

  /** @throws UsageError if there are any */
  check(): void {
    if (this.#messages.length > 0) throw new UsageError(this.#messages.join(' '));
  }
}

/** Runs a tool of the command line and sets the exit code of the process. */
export function runTool<S extends Closable>(tool: Tool<S>): void {
  main(tool).catch((error: unknown) => {
    // The message of an unavailable store is meant for clients; why it is so is in the cause.
    const reason = error instanceof AppError ? (error.cause ?? error) : error;
    process.stderr.write(`${reason instanceof Error ? reason.message : String(reason)}\n`);
    process.exit(error instanceof UsageError ? error.exitCode : 1);
  });
}

async function main<S extends Closable>(tool: Tool<S>): Promise<void> {
  const run = `npm run --silent ${tool.name} --`;
  const hint = (message: string, command?: string) =>
    new UsageError(`${message} Try: ${run} ${command ? `${command} ` : ''}--help`);
  const { options, positionals } = parse(tool, hint);
  const [name, ...args] = positionals;
  if (name === undefined) {
    const [unexpected] = Object.keys(options).filter((option) => option !== 'help');
    if (unexpected !== undefined) throw hint(`--${unexpected} needs a command.`);
    const commands = Object.entries(tool.commands).map(([each, { usage }]) => `  ${each} ${usage}`);
    return print(`Usage: ${run} COMMAND\n\n${commands.join('\n')}\n\n${tool.help}`);
  }
  const command = Object.hasOwn(tool.commands, name) ? tool.commands[name]! : undefined;
  if (!command) throw hint(`Unknown command ${name}.`);
  if (options.help) return print(`Usage: ${run} ${name} ${command.usage}\n\n${command.help}`);

  const known: readonly string[] = ['json', 'help', ...command.options];
  const unsupported = Object.keys(options).find((option) => !known.includes(option));
  if (unsupported !== undefined) throw hint(`${name} does not accept --${unsupported}.`, name);
  const surplus = command.takesMore ? undefined : args[command.argument === undefined ? 0 : 1];
  if (surplus !== undefined) throw hint(`${name} does not accept the argument ${surplus}.`, name);
  if (command.argument !== undefined && !command.isArgumentOptional && args.length === 0)
    throw hint(`${name} needs ${command.argument}.`, name);

  let work: (store: S) => Promise<Report>;
  try {
    work = command.prepare(options, args);
  } catch (error) {
    throw error instanceof UsageError && error.exitCode === 2 ? hint(error.message, name) : error;
  }
  const store = await tool.open(readConfig(process.env), command, name);
  try {
    const { value, lines } = await work(store);
    print(
      options.json ? JSON.stringify(value, null, Array.isArray(value) ? 2 : undefined) : lines.join('\n'),
    );
  } finally {
    await store.close();
  }
}

function parse<S>(tool: Tool<S>, hint: (message: string) => UsageError) {
  try {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: tool.options });
    return { options: values as Options, positionals };
  } catch (error) {
    // Node appends advice about positional arguments that start with a dash; keep only the first sentence.
    const [sentence] = (error as Error).message.split('. ');
    throw hint(`${sentence!.replace(/\.$/, '')}.`);
  }
}

/** Opens the store beside its server. A command that only reads must not create one at a mistyped path. */
export async function openBesideServer(config: Config, { createsStore }: Command): Promise<Store> {
  const { MONGODB_URI, DATA_FILE } = config;
  if (!createsStore && MONGODB_URI === undefined && !existsSync(DATA_FILE))
    throw new UsageError(`The data file ${DATA_FILE} does not exist. Is DATA_FILE set as for the server?`);
  return await openStore(config, [], 'tool');
}

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** RFC 3339, to the second. */
export const isoTime = (time: number): string => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');
