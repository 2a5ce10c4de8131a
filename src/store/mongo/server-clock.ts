/** How long an estimate is used, in milliseconds. */
const ESTIMATE_TTL = 10_000;
/** The server's clock has a resolution of milliseconds. */
const RESOLUTION = 1;

/** Estimates the database's clock. Instances whose own clocks differ use it to agree on stored times. */
export class ServerClock {
  readonly #ask: () => Promise<Date | undefined>;
  readonly #now: () => number;
  #offset = 0;
  #askedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param ask reads the server's time; undefined if it does not report one
   * @param now milliseconds since 1970 on this process's clock
   */
  constructor(ask: () => Promise<Date | undefined>, now: () => number) {
    this.#ask = ask;
    this.#now = now;
  }

  /**
   * How many milliseconds the server is ahead of this process; 0 unless they certainly differ. Refreshes the
   * estimate in the background.
   */
  offset(): number {
    if (performance.now() - this.#askedAt > ESTIMATE_TTL) void this.measure().catch(() => {});
    return this.#offset;
  }

  /** Milliseconds since 1970 on the server's clock. */
  now(): number {
    return this.#now() + this.offset();
  }

  /** Refreshes the estimate. */
  async measure(): Promise<void> {
    this.#askedAt = performance.now();
    const sentAt = this.#now();
    const serverTime = (await this.#ask())?.getTime();
    const receivedAt = this.#now();
    if (serverTime === undefined) return;
    // The server read its clock somewhere in between. Keep an estimate that may still be right, so that times
    // do not jitter.
    const [min, max] = [serverTime - receivedAt - RESOLUTION, serverTime - sentAt + RESOLUTION];
    if (min <= 0 && max >= 0) this.#offset = 0;
    else if (this.#offset < min || this.#offset > max) this.#offset = Math.round((min + max) / 2);
  }
}
