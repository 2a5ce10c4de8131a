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

/** Makes a command call `run` with its arguments and options, and print the report; as JSON with `--json`. */
export function reports(command: Command, run: (...args: never[]) => Promise<Report>): void {
  command.option('--json', 'print JSON').action(async (...args) => {
    const { value, lines } = await run(...(args as never[]));
    const json = () => JSON.stringify(value, null, Array.isArray(value) ? 2 : undefined);
    process.stdout.write(`${command.opts().json ? json() : printable(lines.join('\n'))}\n`);
  });
}

/**
 * Like {@link reports}, for a command on the configured store, even while a server uses it. The store is the first
 * argument.
 *
 * @param createsStore false for a command that only reads, which must not create a store at a mistyped path
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

/** Converts a parser that returns null for invalid values to one for a command's arguments. */
export const parsing =
  <T>(parse: (text: string) => T | null, rule: string) =>
  (text: string): T => {
    const value = parse(text);
    if (value === null) throw new InvalidArgumentError(rule);
    return value;
  };

export const integerFrom = (min: number, max: number) =>
  parsing((text) => parseInteger(text, min, max), `It must be an integer from ${min} to ${max}.`);

export const durationFrom = parsing(parseDuration, 'It must be a duration such as 30m, 12h or 90d.');

/** Opens a store, and closes it after the work. Errors name the variable with its location. */
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
    // The first error says more than any that follow from it.
    await Promise.resolve(store?.close()).catch(() => {});
    throw located(error, config, store !== undefined);
  }
  await store.close();
  return result;
}

/**
 * Adds to an error of the store the variable with its location, and removes the database's password.
 *
 * @param isOpen true if the store is open, so that only an unreachable database concerns the variable
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

/** The help text common to all groups of commands. */
export const GROUP_HELP = `
All of them work on the store of MONGODB_URI or DATA_FILE, even while a server
is running, and take effect within 5 seconds on every instance.`;
