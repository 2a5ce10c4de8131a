import type { WriteStream } from 'node:tty';

/** Milliseconds between two drawings. */
const INTERVAL = 100;

/** Shows on a terminal how far a long command is. On anything else, nothing. */
export class Progress {
  readonly #out: WriteStream;
  readonly #started = performance.now();
  #drawnAt = 0;

  /** @param out `process.stderr` */
  constructor(out: WriteStream) {
    this.#out = out;
  }

  readonly show = (label: string, done: number): void => {
    const now = performance.now();
    if (!this.#out.isTTY || now - this.#drawnAt < INTERVAL) return;
    this.#drawnAt = now;
    const seconds = Math.round((now - this.#started) / 1000);
    this.#out.write(`\r\u001b[K${label} ${done.toLocaleString('en-US')}, ${seconds} s`);
  };

  /** Shows how far a command is that may be killed: on a terminal instead of the line before, else as a line of its own. */
  readonly report = (text: string): void => {
    this.#out.write(this.#out.isTTY ? `\r\u001b[K${text}` : `${text}\n`);
  };

  /** Removes the line. */
  readonly clear = (): void => {
    if (this.#out.isTTY) this.#out.write('\r\u001b[K');
  };
}
