import { randomUUID } from 'node:crypto';
import { AppError } from '../foundation/errors.ts';
import type { EngineTransaction } from './engine.ts';
import type { ObjectKind, ObjectReads } from './objects.ts';

/** How far a file is loaded. */
export interface LoadPosition {
  /** The next line to load, for people. */
  line: number;
  /** How many of its rows are loaded or left out. */
  rows: number;
}

/** One loading of one file, and the process that does it. It is committed with what was loaded. */
export interface Load extends LoadPosition {
  id: string;
  /** The kind of its records and the digest of the file. */
  source: string;
  owner: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

export const LOADS: ObjectKind<Load> = {
  name: 'loads',
  keyOf: ({ id }) => id,
  termsOf: ({ source }) => [source],
  expiresAt: ({ expiresAt }) => expiresAt,
};

const NEVER = Date.UTC(9999, 0);
/** How long it is remembered how far a file was loaded, in milliseconds. */
const KEEP_FOR = 24 * 3_600_000;

/**
 * Finds how far a file was loaded by a process that was killed after it had told that this line is next: it may have
 * committed more.
 */
export async function interruptedLoad(
  loads: Pick<ObjectReads<Load>, 'find'>,
  source: string,
  line: number,
  now: number,
): Promise<Load | undefined> {
  const earlier = (await loads.find(source)).filter((load) => load.line >= line && load.expiresAt > now);
  return earlier.sort((a, b) => a.line - b.line)[0];
}

/** Begins to load a file, or takes over from another process. @returns how far it is loaded */
export async function beginLoad(
  { objects }: EngineTransaction,
  load: Omit<Load, 'expiresAt'>,
  now: number,
): Promise<Load> {
  const loads = objects(LOADS);
  const [kept] = await loads.get([load.id]);
  const begun = { ...(kept ?? load), owner: load.owner, expiresAt: now + KEEP_FOR };
  await loads.put([begun]);
  return begun;
}

/** Notes how far a file is loaded with what a transaction writes. @throws CONFLICT if another process goes on with it */
export async function continueLoad({ objects }: EngineTransaction, load: Load): Promise<void> {
  const loads = objects(LOADS);
  const [kept] = await loads.get([load.id]);
  if (kept?.owner !== load.owner)
    throw new AppError('CONFLICT', 'Another process goes on with loading this file.');
  await loads.put([load]);
}

/** Of transactions that do this, none sees less than what all that are committed before it have written. */
export const excludeOthers = ({ objects }: EngineTransaction): Promise<void> =>
  // Another owner each time, since a database may leave out a write that changes nothing.
  objects(LOADS).put([{ id: 'alone', source: '', owner: randomUUID(), line: 0, rows: 0, expiresAt: NEVER }]);
