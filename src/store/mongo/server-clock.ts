/** How long an estimate is used before the server is asked again, in milliseconds. */
const LIFE = 10_000;
/** The server tells whole milliseconds. */
const GRAIN = 1;

/**
 * The clock of the database as one process sees it. Instances whose own clocks differ agree on times that are kept in
 * the database by this one.
 */
export class ServerClock {
  readonly #ask: () => Promise<Date | undefined>;
  readonly #now: () => number;
  #ahead = 0;
  #askedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param ask what time it is at the server; undefined if it doesn't tell
   * @param now milliseconds since 1970 by the clock of this process
   */
  constructor(ask: () => Promise<Date | undefined>, now: () => number) {
    this.#ask = ask;
    this.#now = now;
  }

  /** By how many milliseconds the server is ahead of this process; 0 unless they certainly differ. Looks again now and then, in the background. */
  ahead(): number {
    if (performance.now() - this.#askedAt > LIFE) void this.measure().catch(() => {});
    return this.#ahead;
  }

  /** Milliseconds since 1970 by the server's clock. */
  now(): number {
    return this.#now() + this.ahead();
  }

  /** Looks what time it is at the server. */
  async measure(): Promise<void> {
    this.#askedAt = performance.now();
    const sentAt = this.#now();
    const told = (await this.#ask())?.getTime();
    const receivedAt = this.#now();
    if (told === undefined) return;
    // The server read its clock somewhere between. An estimate that may still be right stays, so that times don't waver.
    const [min, max] = [told - receivedAt - GRAIN, told - sentAt + GRAIN];
    if (min <= 0 && max >= 0) this.#ahead = 0;
    else if (this.#ahead < min || this.#ahead > max) this.#ahead = Math.round((min + max) / 2);
  }
}
