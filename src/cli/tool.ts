import { existsSync } from 'node:fs';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { type Config, readConfig } from '../config.ts';
import { AppError } from '../foundation/errors.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';

/** The values of the options given, by name; those of an option with a list are joined by commas. */
export type Options = Readonly<Record<string, string | undefined>>;

/** A call of a command. */
export interface Call<S = Store> {
  options: Options;
  args: readonly string[];
  /** Opens what the command works on, once its options and arguments have been checked. */
  open(): Promise<S>;
}

/** A command of a tool: `keys create`, which works on a store. */
export interface Command<S = Store> {
  /**
   * Its arguments and options, from which follows what it accepts: `ID [--days 30] [--json]`. Arguments come first and
   * may be optional (`[NAME]`) or several (`FILE…`). An option with several values ends with `,…`.
   */
  usage: string;
  help: string;
  /** Whether the command may create the store. */
  createsStore?: true;
  /** @throws UsageError */
  run(call: Call<S>): Promise<Report>;
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
  /** What to know about all commands. */
  help: string;
  /** Opens what a command works on. */
  open(config: Config, command: Command<S>, name: string): Promise<S>;
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

/** @param faults sentences @throws UsageError if there are any */
export function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new UsageError(faults.join(' '));
}

/** Runs a tool of the command line and sets the exit code of the process. */
export function runTool<S extends { close(): unknown }>(tool: Tool<S>): void {
  main(tool).catch((error: unknown) => {
    // The message of an unavailable store is meant for clients; why it is so is in the cause.
    const reason = error instanceof AppError ? (error.cause ?? error) : error;
    process.stderr.write(`${reason instanceof Error ? reason.message : String(reason)}\n`);
    process.exit(error instanceof UsageError ? error.exitCode : 1);
  });
}

async function main<S extends { close(): unknown }>(tool: Tool<S>): Promise<void> {
  const run = `npm run --silent ${tool.name} --`;
  const hint = (message: string, command?: string) =>
    new UsageError(`${message} Try: ${run} ${command ? `${command} ` : ''}--help`);
  const { options, positionals } = parse(tool, hint);
  const { help, json, ...others } = options;
  const [name, ...args] = positionals;
  if (name === undefined) {
    const [unexpected] = Object.keys(options).filter((option) => option !== 'help');
    if (unexpected !== undefined) throw hint(`--${unexpected} needs a command.`);
    const commands = Object.entries(tool.commands).map(([each, { usage }]) => `  ${each} ${usage}`);
    return print(`Usage: ${run} COMMAND\n\n${commands.join('\n')}\n\n${tool.help}`);
  }
  const command = Object.hasOwn(tool.commands, name) ? tool.commands[name]! : undefined;
  if (!command) throw hint(`Unknown command ${name}.`);
  if (help) return print(`Usage: ${run} ${name} ${command.usage}\n\n${command.help}`);

  const known = optionsIn(command.usage);
  const unsupported = Object.keys(others).find((option) => !Object.hasOwn(known, option));
  if (unsupported !== undefined) throw hint(`${name} does not accept --${unsupported}.`, name);
  const wanted = command.usage
    .split(/ ?[[(]?--/)[0]!
    .split(' ')
    .filter(Boolean);
  const surplus = wanted.at(-1)?.endsWith('…') ? undefined : args[wanted.length];
  if (surplus !== undefined) throw hint(`${name} does not accept the argument ${surplus}.`, name);
  const missing = wanted[args.length];
  if (missing !== undefined && !missing.startsWith('['))
    throw hint(`${name} needs ${missing.replace('…', '')}.`, name);

  let opening: Promise<S> | undefined;
  const open = () => {
    opening = tool.open(readConfig(process.env), command, name);
    return opening;
  };
  try {
    const { value, lines } = await command.run({ options, args, open });
    print(json ? JSON.stringify(value, null, Array.isArray(value) ? 2 : undefined) : lines.join('\n'));
  } catch (error) {
    throw opening || !(error instanceof UsageError) ? error : hint(error.message, name);
  } finally {
    await (await opening?.catch(() => undefined))?.close();
  }
}

/** The options in a usage, as Node parses them. */
const optionsIn = (usage: string): NonNullable<ParseArgsConfig['options']> =>
  Object.fromEntries(
    [...usage.matchAll(/--([\w-]+)( [^\s\])]+)?/g)].map(([, name, value]) => [
      name,
      { type: value === undefined ? 'boolean' : 'string', multiple: value?.endsWith(',…') ?? false },
    ]),
  );

function parse<S>({ commands }: Tool<S>, hint: (message: string) => UsageError) {
  const usages = Object.values(commands).map(({ usage }) => usage);
  const options = { ...optionsIn(usages.join(' ')), help: { type: 'boolean', short: 'h' } } as const;
  try {
    const { values, positionals } = parseArgs({ allowPositionals: true, options });
    const given = Object.entries(values).map(([name, value]) => [
      name,
      value === true ? 'yes' : String(value),
    ]);
    return { options: Object.fromEntries(given) as Options, positionals };
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
