import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { type Config, readConfig } from '../config.ts';
import { AppError } from '../foundation/errors.ts';
import type { AnyRecord } from '../foundation/record.ts';
import { hostsOf, openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';

/** The values of the options given, by name in camel case. */
export type Options = Readonly<Record<string, string | undefined>>;

/** What a command prints: a value for programs (`--json`), and lines for people. */
export interface Report {
  value: object;
  lines: readonly string[];
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

/** A command that is well-formed but cannot be carried out. */
export const refused = (message: string): UsageError => new UsageError(message, 1);

/** @param faults sentences @throws UsageError if there are any */
export function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new UsageError(faults.join(' '));
}

/** Lets a command run this and print its report, with `--json` as JSON. */
export function reports(
  command: Command,
  run: (args: readonly string[], options: Options) => Promise<Report>,
): void {
  command.option('--json', 'print JSON').action(async () => {
    const { json, ...options } = command.opts();
    const { value, lines } = await run(command.args, options);
    print(json ? JSON.stringify(value, null, Array.isArray(value) ? 2 : undefined) : lines.join('\n'));
  });
}

/** An option that may be given several times, or once with values separated by commas. */
export const several = (value: string, before?: string): string =>
  before === undefined ? value : `${before},${value}`;

/** Opens a store, and closes it after the work. Errors name the variable that leads to it. */
export async function using<S extends { close(): unknown }, T>(
  config: Pick<Config, 'MONGODB_URI'>,
  open: () => Promise<S>,
  work: (store: S) => Promise<T>,
): Promise<T> {
  let store: S | undefined;
  try {
    store = await open();
    return await work(store);
  } catch (error) {
    throw located(error, config, store !== undefined);
  } finally {
    await store?.close();
  }
}

/** Works on the configured store, also beside its server. */
export async function withStore<T>(
  work: (store: Store) => Promise<T>,
  { createsStore = false, records = [] as readonly AnyRecord[] } = {},
): Promise<T> {
  const config = readConfig(process.env);
  const { MONGODB_URI, DATA_FILE } = config;
  // A command that only reads must not create a store at a mistyped path.
  if (!createsStore && MONGODB_URI === undefined && !existsSync(DATA_FILE))
    throw new UsageError(`The data file ${DATA_FILE} does not exist. Is DATA_FILE set as for the server?`);
  return await using(config, () => openStore(config, records, 'tool'), work);
}

/**
 * An error of the store with the variable that leads to it, and without the database's password.
 *
 * @param isOpen whether only errors of the database itself are about the variable
 */
export function located(
  error: unknown,
  { MONGODB_URI }: Pick<Config, 'MONGODB_URI'>,
  isOpen: boolean,
): unknown {
  const isAway = error instanceof AppError && error.code === 'UNAVAILABLE';
  if (error instanceof UsageError || !(error instanceof Error) || (isOpen && !isAway)) return error;
  const cause = isAway && error.cause instanceof Error ? error.cause : error;
  const message =
    MONGODB_URI === undefined
      ? `${cause.message} (DATA_FILE)`
      : `The database at ${hostsOf(MONGODB_URI)} (MONGODB_URI) cannot be used: ${cause.message}`;
  return new Error(message, { cause });
}

/** What is printed of an error: the reason rather than the message for clients. */
export function explained(error: unknown): string {
  const reason = error instanceof AppError ? (error.cause ?? error) : error;
  return reason instanceof Error ? reason.message : String(reason);
}

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** RFC 3339, to the second. */
export const isoTime = (time: number): string => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');
