/** How long an estimate is used before the server is asked again, in milliseconds. */
const ESTIMATE_TTL = 10_000;
/** The server tells whole milliseconds. */
const RESOLUTION = 1;

/**
 * The clock of the database as one process sees it. Instances whose own clocks differ agree on times that are kept in
 * the database by this one.
 */
export class ServerClock {
  readonly #ask: () => Promise<Date | undefined>;
  readonly #now: () => number;
  #offset = 0;
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
  offset(): number {
    if (performance.now() - this.#askedAt > ESTIMATE_TTL) void this.measure().catch(() => {});
    return this.#offset;
  }

  /** Milliseconds since 1970 by the server's clock. */
  now(): number {
    return this.#now() + this.offset();
  }

  /** Looks what time it is at the server. */
  async measure(): Promise<void> {
    this.#askedAt = performance.now();
    const sentAt = this.#now();
    const told = (await this.#ask())?.getTime();
    const receivedAt = this.#now();
    if (told === undefined) return;
    // The server read its clock somewhere between. An estimate that may still be right stays, so that times don't waver.
    const [min, max] = [told - receivedAt - RESOLUTION, told - sentAt + RESOLUTION];
    if (min <= 0 && max >= 0) this.#offset = 0;
    else if (this.#offset < min || this.#offset > max) this.#offset = Math.round((min + max) / 2);
  }
}
