import { existsSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { api } from '../api.ts';
import { type Config, readConfig } from '../config.ts';
import { isUnavailable } from '../foundation/errors.ts';
import { parseInteger } from '../foundation/id.ts';
import { parseDuration } from '../foundation/instant.ts';
import { type Contents, hostsOf, missingFile, openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { printable } from './text-table.ts';

/** The output of a command: a value for programs (`--json`), and lines for people. */
export interface Report {
  value: object;
  lines: readonly string[];
}

/** Lets a command run this with its arguments and options, and print the report; with `--json` as JSON. */
export function reports(command: Command, run: (...args: never[]) => Promise<Report>): void {
  command.option('--json', 'print JSON').action(async (...args) => {
    const { value, lines } = await run(...(args as never[]));
    const json = () => JSON.stringify(value, null, Array.isArray(value) ? 2 : undefined);
    process.stdout.write(`${command.opts().json ? json() : printable(lines.join('\n'))}\n`);
  });
}

/**
 * The same for a command that works on the configured store, even while a server uses it. The store is its first
 * argument.
 *
 * @param createsStore not for a command that only reads: it must not create a store at a mistyped path
 */
export function reportsOnStore(
  command: Command,
  run: (store: Store, ...args: never[]) => Promise<Report>,
  {
    createsStore = false,
    contents = { records: [], objects: api.objects },
    role = 'tool',
  }: { createsStore?: boolean; contents?: Contents; role?: 'tool' | 'snapshot' } = {},
): void {
  reports(command, (...args) => {
    const config = readConfig(process.env);
    const { MONGODB_URI, DATA_FILE } = config;
    if (!createsStore && MONGODB_URI === undefined && !existsSync(DATA_FILE)) throw missingFile(DATA_FILE);
    const open = () => openStore(config, contents, role);
    return using(config, open, (store) => run(store, ...args));
  });
}

/** Makes a parser of a command's arguments from one that returns null for values that it rejects. */
export const parsing =
  <T>(parse: (text: string) => T | null, rule: string) =>
  (text: string): T => {
    const value = parse(text);
    if (value === null) throw new InvalidArgumentError(rule);
    return value;
  };

/** Parses an integer. */
export const integerFrom = (min: number, max: number) =>
  parsing((text) => parseInteger(text, min, max), `It must be an integer from ${min} to ${max}.`);

/** Parses a duration to milliseconds. */
export const durationFrom = parsing(parseDuration, 'It must be a duration such as 30m, 12h or 90d.');

/** Opens a store, and closes it after the work. Errors name the variable that leads to it. */
export async function using<S extends { close(): unknown }, T>(
  config: Pick<Config, 'MONGODB_URI'>,
  open: () => Promise<S>,
  work: (store: S) => Promise<T>,
): Promise<T> {
  let store: S | undefined;
  let result: T;
  try {
    store = await open();
    result = await work(store);
  } catch (error) {
    // The first error says more than those that follow from it.
    await Promise.resolve(store?.close()).catch(() => {});
    throw located(error, config, store !== undefined);
  }
  await store.close();
  return result;
}

/**
 * An error of the store with the variable that leads to it, and without the database's password.
 *
 * @param isOpen whether only errors of the database itself are about the variable
 */
function located(error: unknown, { MONGODB_URI }: Pick<Config, 'MONGODB_URI'>, isOpen: boolean): unknown {
  const isAway = isUnavailable(error);
  if (!(error instanceof Error) || (isOpen && !isAway)) return error;
  const cause = isAway && error.cause instanceof Error ? error.cause : error;
  const message =
    MONGODB_URI === undefined
      ? `${cause.message} (DATA_FILE)`
      : `The database at ${hostsOf(MONGODB_URI)} (MONGODB_URI) cannot be used: ${cause.message}`;
  return new Error(message, { cause });
}

/** The help text that all groups of commands share. */
export const GROUP_HELP = `
All of them work on the store of MONGODB_URI or DATA_FILE, also beside a running
server, and are in force within 5 seconds on every instance.`;
