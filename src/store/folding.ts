import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../foundation/errors.ts';
import type { Id } from '../foundation/id.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { AnyRecord } from '../foundation/record.ts';

/** Records taken over in one step, which takes a few milliseconds. */
export const STEP = 200;
/** Milliseconds between two steps, in which others are served. */
const PAUSE = 10;
/** Milliseconds before another attempt if the database is away or the file cannot be written. */
const RETRY = 1_000;

/** How an engine folds the names that it has stored. */
export interface FoldedNames {
  /** Folds those of the next {@link STEP} records. @returns the id of the last one; undefined at the end */
  fold(record: AnyRecord, after: Id): MaybePromise<Id | undefined>;
  /** Notes that all of them are folded. */
  finish(record: AnyRecord): MaybePromise<unknown>;
}

/**
 * Folds the names of records that an earlier version stored, or one with an earlier version of Unicode, in steps
 * between which requests are served. Instances do it side by side without harm.
 */
export class Folding {
  readonly #names: FoldedNames;
  readonly #outdated: AnyRecord[] = [];
  /** Records whose lists cannot be ordered by name yet. */
  readonly #unready = new Set<AnyRecord>();
  #isStopped = false;

  constructor(names: FoldedNames) {
    this.#names = names;
  }

  /** @param isReady whether lists can be ordered meanwhile, by an earlier version of Unicode */
  begin(record: AnyRecord, isReady: boolean): void {
    if (!isReady) this.#unready.add(record);
    if (this.#outdated.includes(record)) return;
    if (this.#outdated.push(record) === 1) void this.#run();
  }

  /** @throws UNAVAILABLE while the names of these records are not all folded */
  require(record: AnyRecord): void {
    if (!this.#unready.has(record)) return;
    const message = 'Names are being prepared for ordering and finding. Please try again.';
    throw new AppError('UNAVAILABLE', message, { retryAfter: 5 });
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #run(): Promise<void> {
    for (let record = this.#outdated[0]; record; record = this.#outdated[0]) {
      let after: Id | undefined = '0';
      let pause = PAUSE;
      while (after !== undefined) {
        await sleep(pause, undefined, { ref: false });
        if (this.#isStopped) return;
        try {
          const last: Id | undefined = await this.#names.fold(record, after);
          if (last === undefined) await this.#names.finish(record);
          after = last;
          pause = PAUSE;
        } catch {
          pause = RETRY;
        }
      }
      this.#unready.delete(record);
      this.#outdated.shift();
    }
  }
}
