import { fstatSync, write as writeFile, writeSync } from 'node:fs';

const STDOUT = 1;
/** Lines are written together as soon as there are this many characters … */
const FLUSH_SIZE = 4_096;
/** … or after so many milliseconds. */
const FLUSH_INTERVAL = 500;
/** How many characters may wait for a destination that doesn't take them; lines beyond are dropped. */
const MAX_BUFFERED = 4_194_304;
/** What a pipe takes in one piece, however many processes write to it (PIPE_BUF of pipe(7)). */
const PIPE_BUF = 4_096;
/** How long a destination that has failed is left alone, in milliseconds. */
const RETRY_DELAY = 1_000;
/** The same for one that has no room at the moment. */
const EAGAIN_DELAY = 50;
const NEWLINE = 0x0a;

export interface LogOutputOptions {
  /** Whether other processes write to the same destination, so that lines must arrive in one piece each. */
  isShared?: boolean;
  /** Told, once lines are taken again, how many were dropped. */
  onGap?: (lines: number) => void;
}

/** Writes bytes, and says how many of them were taken. Never stops the process, however long it takes. */
type Sink = (bytes: Buffer, done: (error: Error | null | undefined, written: number) => void) => void;

/**
 * The standard output, for the log and the greeting. It never stops or ends the process: a pipe that nobody reads, a full
 * disk or a reader that is gone costs lines, which are dropped and counted. Pipes and sockets are written by the event loop
 * without blocking, everything else by a thread: a thread that waits for a pipe would hold up the end of the process.
 */
export class LogOutput {
  readonly #isPipe = isPipe();
  readonly #chunked: boolean;
  readonly #sink: Sink;
  readonly #onGap: (lines: number) => void;
  #buffer = '';
  #isBusy = false;
  #isThreadBusy = false;
  #isMidLine = false;
  #dropped = 0;
  #reported = 0;
  #onIdle: (() => void) | undefined;

  constructor({ isShared = false, onGap = () => {} }: LogOutputOptions = {}) {
    this.#onGap = onGap;
    this.#chunked = isShared && this.#isPipe;
    // Node's own stream for it never closes the descriptor, which the next file to be opened would get.
    this.#sink = this.#isPipe
      ? (bytes, done) => process.stdout.write(bytes, (error) => done(error, bytes.length))
      : (bytes, done) => writeFile(STDOUT, bytes, done);
    // Whoever writes hears of the error; without a listener it would end the process.
    process.stdout.on('error', () => {});
    setInterval(() => this.flush(), FLUSH_INTERVAL).unref();
    process.on('exit', () => this.#flushAtExit());
  }

  /** How many lines were dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Takes whole lines; they are written soon, or dropped if too many wait already. */
  write(lines: string): void {
    if (this.#buffer.length + lines.length > MAX_BUFFERED) {
      this.#dropped += linesIn(Buffer.from(lines));
      return;
    }
    this.#buffer += lines;
    if (this.#buffer.length >= FLUSH_SIZE) this.flush();
  }

  /**
   * Writes what waits.
   *
   * @returns false if not all of it was taken within `milliseconds`
   */
  async end(milliseconds: number): Promise<boolean> {
    const idle = new Promise<true>((resolve) => {
      this.#onIdle = () => resolve(true);
    });
    this.flush();
    if (!this.#isBusy) return true;
    const late = new Promise<false>((resolve) => setTimeout(resolve, milliseconds, false).unref());
    return Promise.race([idle, late]);
  }

  /** Whether a thread waits for the destination, which holds up the end of the process. */
  get isStuck(): boolean {
    return this.#isThreadBusy;
  }

  /** Writes what waits now, as far as nothing is being written. */
  flush(): void {
    if (this.#isBusy || this.#buffer === '') return;
    const text = this.#isMidLine ? `\n${this.#buffer}` : this.#buffer;
    this.#buffer = '';
    this.#isBusy = true;
    this.#put(Buffer.from(text));
  }

  #put(bytes: Buffer): void {
    this.#isThreadBusy = !this.#isPipe;
    this.#sink(this.#chunked ? firstChunk(bytes) : bytes, (error, written) => {
      this.#isThreadBusy = false;
      if (error) {
        this.#fail(bytes, error);
        return;
      }
      this.#isMidLine = bytes[written - 1] !== NEWLINE;
      if (written < bytes.length) this.#put(bytes.subarray(written));
      else this.#succeed();
    });
  }

  #succeed(): void {
    this.#isBusy = false;
    const gap = this.#dropped - this.#reported;
    if (gap > 0) {
      this.#reported = this.#dropped;
      this.#onGap(gap);
    }
    if (this.#onIdle || this.#buffer.length >= FLUSH_SIZE) this.flush();
    if (!this.#isBusy) this.#onIdle?.();
  }

  /** What waits meanwhile is kept as far as there is room; what was to be written now may stand in the way, and is not. */
  #fail(bytes: Buffer, error: NodeJS.ErrnoException): void {
    // A terminal that was made non-blocking by somebody else.
    if (error.code === 'EAGAIN') {
      setTimeout(() => this.#put(bytes), EAGAIN_DELAY).unref();
      return;
    }
    this.#dropped += linesIn(bytes);
    setTimeout(() => {
      this.#isBusy = false;
      this.flush();
      if (!this.#isBusy) this.#onIdle?.();
    }, RETRY_DELAY).unref();
  }

  /** The last lines of a process that ends at once. A pipe doesn't block: it takes them or it doesn't. */
  #flushAtExit(): void {
    if (this.#isBusy || this.#buffer === '') return;
    try {
      writeSync(STDOUT, this.#buffer);
    } catch {
      // There is nobody left to tell.
    }
  }
}

function isPipe(): boolean {
  const stats = fstatSync(STDOUT);
  return stats.isFIFO() || stats.isSocket();
}

function linesIn(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) lines++;
  return lines;
}

/** As many whole lines as fit into a piece, or one that is longer. */
function firstChunk(bytes: Buffer): Buffer {
  if (bytes.length <= PIPE_BUF) return bytes;
  const end = bytes.lastIndexOf(NEWLINE, PIPE_BUF - 1);
  return bytes.subarray(0, (end >= 0 ? end : bytes.indexOf(NEWLINE)) + 1);
}
