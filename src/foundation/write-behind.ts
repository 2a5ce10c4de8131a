/** Data that is collected in memory and written at intervals, so that a killed process loses at most one interval. */
export abstract class WriteBehind {
  readonly #interval: number;
  readonly #report: (error: unknown) => void;
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param interval in milliseconds
   * @param report receives errors of background writes, which are retried
   */
  constructor(interval: number, report: (error: unknown) => void) {
    this.#interval = interval;
    this.#report = report;
  }

  /** Writes the collected data, and keeps what could not be written. @throws UNAVAILABLE */
  protected abstract write(): Promise<void>;

  /** Must be called when data was collected. */
  protected writeLater(): void {
    this.#timer ??= setInterval(() => void this.flush().catch(this.#report), this.#interval).unref();
  }

  /** Runs work after any write in progress. */
  protected inTurn(work: () => Promise<void>): Promise<void> {
    this.#running = this.#running.catch(() => {}).then(work);
    return this.#running;
  }

  /** Writes everything collected so far. @throws UNAVAILABLE, and retries later */
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
