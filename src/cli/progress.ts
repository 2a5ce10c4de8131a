import type { WriteStream } from 'node:tty';

/** Milliseconds between two drawings. */
const INTERVAL = 100;
const WIDTH = 24;

/** Shows on a terminal how far a long command is. On anything else, nothing. */
export class Progress {
  readonly #out: WriteStream;
  readonly #started = performance.now();
  #drawnAt = 0;

  /** @param out `process.stderr` */
  constructor(out: WriteStream) {
    this.#out = out;
  }

  /** @param total if it is known */
  show(label: string, done: number, total?: number): void {
    const now = performance.now();
    if (!this.#out.isTTY || (now - this.#drawnAt < INTERVAL && done !== total)) return;
    this.#drawnAt = now;
    const count = done.toLocaleString('en-US');
    const seconds = Math.round((now - this.#started) / 1000);
    const bar = total === undefined ? '' : `${barOf(total === 0 ? 1 : done / total)} `;
    const of = total === undefined ? '' : ` of ${total.toLocaleString('en-US')}`;
    this.#out.write(`\r\u001b[K${bar}${label} ${count}${of}, ${seconds} s`);
  }

  /** Removes the line. */
  clear(): void {
    if (this.#out.isTTY) this.#out.write('\r\u001b[K');
  }
}

function barOf(share: number): string {
  const full = Math.round(Math.min(1, share) * WIDTH);
  return `[${'#'.repeat(full)}${'-'.repeat(WIDTH - full)}]`;
}
