import { DAY } from '../foundation/instant.ts';
import { randomUUID } from 'node:crypto';
import { AppError } from '../foundation/errors.ts';
import type { EngineTransaction } from './engine.ts';
import type { ObjectKind, ObjectReads } from './objects.ts';

/** The progress of loading a file. */
export interface LoadPosition {
  /** The next line to load, as people count them. */
  line: number;
  /** The number of its rows that are loaded or left out. */
  rows: number;
}

/** One load of one file, and the process that does it. It is committed together with the loaded records. */
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
/** The time for which the progress of a load is remembered, in milliseconds. */
const KEEP_FOR = DAY;

/**
 * Finds the load of a process that was killed after it had reported this line as the next: it may have committed more.
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

/** Begins to load a file, or takes over from another process. @returns the load with its progress so far */
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

/** Records the progress of a load in a transaction. @throws CONFLICT if another process has taken the load over */
export async function continueLoad({ objects }: EngineTransaction, load: Load): Promise<void> {
  const loads = objects(LOADS);
  const [kept] = await loads.get([load.id]);
  if (kept?.owner !== load.owner)
    throw new AppError('CONFLICT', 'Another process goes on with loading this file.');
  await loads.put([load]);
}

/** Makes a transaction see everything written by transactions that called this and were committed before it. */
export const excludeOthers = ({ objects }: EngineTransaction): Promise<void> =>
  // A new owner each time, since a database may skip a write that changes nothing.
  objects(LOADS).put([{ id: 'alone', source: '', owner: randomUUID(), line: 0, rows: 0, expiresAt: NEVER }]);
