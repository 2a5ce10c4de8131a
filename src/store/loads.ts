import { DAY } from '../foundation/instant.ts';
import { randomUUID } from 'node:crypto';
import { AppError } from '../foundation/errors.ts';
import type { EngineTransaction } from './engine.ts';
import type { ObjectKind, ObjectReads } from './objects.ts';

/** The progress of a load. */
export interface LoadPosition {
  /** The number of the next line to load, from 1. */
  line: number;
  /** The number of rows loaded or skipped. */
  rows: number;
}

/** A load of one file by one process, committed together with the loaded records. */
export interface Load extends LoadPosition {
  id: string;
  /** The kind of record and the digest of the file. */
  source: string;
  process: string;
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
/** How long the progress of a load is kept, in milliseconds. */
const KEEP_FOR = DAY;

/** The load of a killed process that had reported this line as the next. It may have committed more. */
export async function interruptedLoad(
  loads: Pick<ObjectReads<Load>, 'find'>,
  source: string,
  line: number,
  now: number,
): Promise<Load | undefined> {
  const earlier = (await loads.find(source)).filter((load) => load.line >= line && load.expiresAt > now);
  return earlier.sort((a, b) => a.line - b.line)[0];
}

/** Begins a load, or takes it over from another process. @returns the load with its progress so far */
export async function beginLoad(
  { objects }: EngineTransaction,
  load: Omit<Load, 'expiresAt'>,
  now: number,
): Promise<Load> {
  const loads = objects(LOADS);
  const [kept] = await loads.get([load.id]);
  const begun = { ...(kept ?? load), owner: load.process, expiresAt: now + KEEP_FOR };
  await loads.put([begun]);
  return begun;
}

/** Runs work of a load and stores its progress. @throws CONFLICT if another process has taken the load over */
export async function continueLoad<T extends LoadPosition>(
  { objects }: EngineTransaction,
  load: Load,
  work: () => Promise<T>,
): Promise<T> {
  const loads = objects(LOADS);
  const [kept] = await loads.get([load.id]);
  if (kept?.process !== load.process)
    throw new AppError('CONFLICT', 'Another process has taken over the load of this file.');
  const progress = await work();
  await loads.put([{ ...load, line: progress.line, rows: progress.rows }]);
  return progress;
}

/** Serialises transactions that call this: each sees everything that the earlier ones committed. */
export const excludeOthers = ({ objects }: EngineTransaction): Promise<void> =>
  // A new owner each time, since a database may skip a write that changes nothing.
  objects(LOADS).put([
    { id: 'alone', source: '', process: randomUUID(), line: 0, rows: 0, expiresAt: NEVER },
  ]);
