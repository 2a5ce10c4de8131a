import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../foundation/errors.ts';
import { type EventStore, NOW } from '../store/events.ts';
import { EventReader, type Selection } from './reader.ts';
import { Tail } from './tail.ts';

/** Delay between attempts to follow the log further, in milliseconds. */
const FIRST_PAUSE = 100;
const MAX_PAUSE = 1_000;

/**
 * The event log for the readers of this process. The store is followed once, however many readers there
 * are. The latest events are kept for those who keep up; whoever is further back reads pages from the store
 * until it has caught up, so that memory is bounded and nobody is cut off.
 */
export class EventFeed {
  readonly #store: EventStore;
  readonly #readers = new Set<EventReader>();
  readonly #tail = new Tail();
  #following: Promise<void> | undefined;
  #answeredAt = 0;
  #delay = 0;

  constructor(store: EventStore) {
    this.#store = store;
  }

  /** How many milliseconds readers may be behind the latest commit; 0 without readers. */
  get lag(): number {
    return this.#following ? this.#delay + performance.now() - this.#answeredAt : 0;
  }

  /**
   * Opens a reader of the events after `after`, or of those committed from now on without it or with {@link NOW}.
   *
   * @param ending ends it
   * @throws VALIDATION_FAILED, GONE, UNAVAILABLE as {@link EventStore} does
   */
  async open({ after, types }: Selection, ending = new AbortController()): Promise<EventReader> {
    const reader = new EventReader(this.#store, this.#tail, types, ending, () => this.#leave(reader));
    this.#readers.add(reader);
    this.#tail.readers = this.#readers.size;
    try {
      this.#following ??= this.#follow();
      await this.#following;
      await reader.start(after ?? NOW);
      return reader;
    } catch (error) {
      reader.close();
      throw error;
    }
  }

  #follow(): Promise<void> {
    this.#answeredAt = performance.now();
    const following: Promise<void> = this.#store
      .eventPage({ after: NOW, limit: 1 })
      .then(({ next }) => void this.#run(following, next));
    return following;
  }

  /** Follows the log from a position on, across failovers, until it is followed no longer. */
  async #run(following: Promise<void>, after: string): Promise<void> {
    const isOver = () => this.#following !== following;
    let position = after;
    for (let pause = FIRST_PAUSE; !isOver(); pause = Math.min(MAX_PAUSE, pause * 2)) {
      try {
        for await (const page of this.#store.followEvents(position)) {
          if (isOver()) return;
          const last = page.events.at(-1);
          this.#answeredAt = performance.now();
          this.#delay = last ? Math.max(0, Date.now() - last.time) : 0;
          this.#tail.add(page);
          position = page.next;
          pause = FIRST_PAUSE;
        }
      } catch (error) {
        if (isOver()) return;
        if (!(error instanceof AppError && error.code === 'UNAVAILABLE')) return this.#end(error);
      }
      await sleep(pause);
    }
  }

  #end(error: unknown): void {
    // Some readers take time to close. New ones must not get events from the ended stream.
    this.#unfollow();
    for (const reader of this.#readers) reader.ending.abort(error);
  }

  #leave(reader: EventReader): void {
    this.#readers.delete(reader);
    this.#tail.readers = this.#readers.size;
    if (this.#readers.size === 0) this.#unfollow();
  }

  #unfollow(): void {
    this.#following = undefined;
    this.#tail.clear();
  }
}
