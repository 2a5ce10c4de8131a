/**
 * Data that is gathered in memory and written together at intervals, so that a kill loses at most one interval of it.
 */
export abstract class WriteBehind {
  readonly #interval: number;
  readonly #report: (error: unknown) => void;
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param interval in milliseconds
   * @param report receives errors of writing in the background, which is tried again
   */
  constructor(interval: number, report: (error: unknown) => void) {
    this.#interval = interval;
    this.#report = report;
  }

  /** Writes what was gathered, and keeps what could not be written. @throws UNAVAILABLE */
  protected abstract write(): Promise<void>;

  /** To be called when something was gathered. */
  protected writeLater(): void {
    this.#timer ??= setInterval(() => void this.flush().catch(this.#report), this.#interval).unref();
  }

  /** Runs work after any write under way. */
  protected inTurn(work: () => Promise<void>): Promise<void> {
    this.#running = this.#running.catch(() => {}).then(work);
    return this.#running;
  }

  /** Writes everything gathered so far. @throws UNAVAILABLE, after which it is tried again */
  flush(): Promise<void> {
    return this.inTurn(() => this.write());
  }

  /** Writes everything one last time. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.flush();
  }
}
