import { isatty } from 'node:tty';
import { type DestinationStream, type Logger, pino } from 'pino';
import { masked } from '../foundation/masking.ts';

const STDOUT = 1;
/** The number of characters after which lines are written … */
const MIN_WRITE = 16_384;
/** … or the time, in milliseconds. */
const FLUSH_INTERVAL = 200;
/** The most bytes that wait for a destination that doesn't accept them. Further lines are dropped. */
const MAX_WAITING = 1_000_000;

/** The most characters of a path that logs and traces show. */
const MAX_PATH = 300;

/** Cuts and masks a path for logs and traces. */
export const shownPath = (path: string): string =>
  masked(path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path);

/** The log of a gateway. */
export interface GatewayLog extends Logger {
  /** Logs a request at the level `info`. JSON.stringify takes half as long for it as the log's own way, a fifteenth of a request. */
  request(fields: object): void;
}

/** Creates a log of JSON lines. Secrets are masked, wherever in a line they are. */
export function createLog(level: string, lines: DestinationStream): GatewayLog {
  const log = pino({ level, base: null, hooks: { streamWrite: masked } }, lines);
  return Object.assign(log, {
    request(fields: object): void {
      if (!log.isLevelEnabled('info')) return;
      const members = JSON.stringify(fields).slice(1, -1);
      lines.write(masked(`{"level":30,"time":${Date.now()},${members},"msg":"request"}\n`));
    },
  });
}

/** The log on standard output, and other text printed there. */
export interface Log {
  log: GatewayLog;
  /** The number of lines that could not be written. */
  dropped(): number;
  /** Writes text that is not a log line, keys included. */
  print(text: string): void;
  /** Writes the remaining lines, in at most this many milliseconds. */
  end(milliseconds: number): Promise<void>;
}

/**
 * Opens the log: JSON lines, or readable ones on a terminal. If a pipe has no reader or the disk is full, it neither blocks
 * nor ends the process: lines are dropped and counted.
 */
export async function openLog(level: string): Promise<Log> {
  // Makes a pipe non-blocking: a thread that is stuck on it would delay the exit of the process.
  process.stdout.on('error', () => {});
  const destination = pino.destination({
    dest: STDOUT,
    sync: false,
    maxLength: MAX_WAITING,
    // With 0, a flush would not wait for a write under way.
    minLength: 1,
  });
  let dropped = 0;
  /** Lines handed over that may not have been written yet. */
  let unwritten = 0;
  let isClosed = false;
  const drop = (lines: number) => {
    dropped += lines;
    unwritten -= lines;
  };
  destination.on('drop', (lines: string) => {
    drop(countLines(lines));
    // Once it is full, nothing else would make it try again.
    destination.flush();
  });
  destination.on('drain', () => {
    unwritten = 0;
  });
  destination.on('error', ({ code }: NodeJS.ErrnoException) => {
    // Any other error may be temporary; waiting lines are written again with the next one.
    if (code !== 'EPIPE') return;
    isClosed = true;
    drop(unwritten);
  });
  // Lines are handed over in bulk: counting the bytes of each takes longer than making it.
  let waiting = '';
  const handOver = () => {
    unwritten += countLines(waiting);
    if (isClosed) drop(unwritten);
    else if (waiting) destination.write(waiting);
    waiting = '';
  };
  setInterval(handOver, FLUSH_INTERVAL).unref();
  const output: DestinationStream = {
    write(line) {
      waiting += line;
      if (waiting.length >= MIN_WRITE) handOver();
    },
  };
  const stream = isatty(STDOUT) ? await readable(output) : output;
  return {
    log: createLog(level, stream),
    dropped: () => dropped,
    print(text) {
      output.write(text);
      handOver();
    },
    async end(milliseconds) {
      handOver();
      if (isClosed) return;
      const late = new Promise((resolve) => setTimeout(resolve, milliseconds));
      await Promise.race([new Promise((resolve) => destination.flush(resolve)), late]);
      // If anything is left, late or refused, pino would try again and again at the exit.
      destination.destroy();
    },
  };
}

const countLines = (text: string): number => text.split('\n').length - 1;

/** Formats lines for people. Loaded on a terminal only: a server behind a pipe never pays for it. */
async function readable(output: DestinationStream): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty');
  const format = pretty.prettyFactory({
    colorize: true,
    translateTime: 'HH:MM:ss',
    include: 'time,level,err,reason,host,signal,message',
    singleLine: true,
    messageFormat: (line, messageKey) =>
      line[messageKey] === 'request'
        ? `${line.method} ${line.path} ${line.status} ${line.codes ?? line.operation ?? ''} ${line.ms} ms`
        : String(line[messageKey]),
  });
  // Text from others must not reach the terminal as control sequences.
  const plain = (line: string) => line.replaceAll(/\\u00[01][\da-f]|[\x7f-\x9f]/g, '\ufffd');
  return { write: (line) => output.write(format(plain(line))) };
}
