import { isatty } from 'node:tty';
import { type DestinationStream, type Logger, pino } from 'pino';
import { digitsOf } from '../foundation/id.ts';
import { masked } from '../foundation/masking.ts';
import type { RequestContext } from '../http/request-context.ts';
import { jsonOf, objectOf, writeAny, writeInteger, writeString } from '../schema/json-writer.ts';

const STDOUT = 1;
/** The number of waiting bytes at which lines are written, or somewhat fewer … */
const MIN_WRITE = 65_536;
/** … or the time, in milliseconds. */
const FLUSH_INTERVAL = 200;
/** The maximum number of bytes that wait for the destination; further lines are dropped. */
const MAX_WAITING = 1_000_000;

/** The maximum length of a path in logs and traces, in characters. */
const MAX_PATH = 300;

/** Shortens and masks a path for logs and traces. */
export const shownPath = (path: string): string =>
  masked(path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path);

/** The log of a gateway. */
export interface GatewayLog extends Logger {
  /** Logs a request that has its response, at the level `info`. Generated code takes a third of the time of the log's own way. */
  request(context: RequestContext): void;
}

/** Creates a log of JSON lines. Secrets anywhere in a line are masked. */
export function createLog(level: string, lines: DestinationStream): GatewayLog {
  const log = pino({ level, base: null, hooks: { streamWrite: masked } }, lines);
  return Object.assign(log, {
    request(context: RequestContext): void {
      if (!log.isLevelEnabled('info')) return;
      const { session, errorCodes } = context;
      const json = jsonOf(writeRequest, {
        level: 30,
        time: digitsOf(Date.now()),
        requestId: context.requestId,
        method: context.method,
        path: shownPath(context.path),
        transport: context.transport!.name,
        operation: context.operationName ?? context.operation,
        status: context.status,
        codes: errorCodes.length > 0 ? errorCodes : undefined,
        units: session?.units ?? 0,
        apiKey: session?.principal.id,
        client: context.address,
        ms: digitsOf(Math.round(context.milliseconds * 1000), '.'),
        traceId: context.span?.spanContext().traceId,
        aborted: context.isSent ? undefined : true,
        msg: 'request',
      });
      lines.write(`${masked(json)}\n`);
    },
  });
}

/** Writes the members of a request's line, in this order. */
const writeRequest = objectOf(
  Object.entries({
    level: writeInteger,
    time: writeInteger,
    requestId: writeString,
    method: writeString,
    path: writeString,
    transport: writeString,
    operation: writeString,
    status: writeInteger,
    codes: writeAny,
    units: writeInteger,
    apiKey: writeString,
    client: writeString,
    ms: writeInteger,
    traceId: writeString,
    aborted: writeAny,
    msg: writeString,
  }).map(([name, write]) => ({ name, write, optional: true })),
);

/** The log on standard output, and other text for it. */
export interface Log {
  log: GatewayLog;
  /** The number of lines that could not be written. */
  dropped(): number;
  /** Writes text that is not a log line, without masking. */
  print(text: string): void;
  /** Writes the remaining lines, within this many milliseconds. */
  end(milliseconds: number): Promise<void>;
}

/**
 * Opens the log: JSON lines, or readable ones on a terminal. If a pipe has no reader or the disk is full, lines are
 * dropped and counted; the process neither blocks nor ends.
 */
export async function openLog(level: string): Promise<Log> {
  // Accessing stdout makes a pipe non-blocking: a thread stuck on it would delay the exit of the process.
  process.stdout.on('error', () => {});
  const destination = pino.destination({
    dest: STDOUT,
    sync: false,
    maxLength: MAX_WAITING,
    // With 0, a flush would not wait for a running write.
    minLength: 1,
  });
  let dropped = 0;
  /** The number of lines passed on that may not have been written yet. */
  let unwritten = 0;
  let isClosed = false;
  const drop = (lines: number) => {
    dropped += lines;
    unwritten -= lines;
  };
  destination.on('drop', (lines: string) => {
    drop(countLines(lines));
    // Nothing else makes a full destination retry.
    destination.flush();
  });
  destination.on('drain', () => {
    unwritten = 0;
  });
  destination.on('error', ({ code }: NodeJS.ErrnoException) => {
    // Other errors may be temporary; waiting lines are retried with the next one.
    if (code !== 'EPIPE') return;
    isClosed = true;
    drop(unwritten);
  });
  // Lines are passed on in bulk: counting the bytes of each takes longer than creating it. They wait outside of the heap.
  const waiting = Buffer.allocUnsafeSlow(MIN_WRITE);
  let length = 0;
  let waitingLines = 0;
  const handOver = (more = '') => {
    unwritten += waitingLines;
    const text = waiting.toString('utf8', 0, length) + more;
    [length, waitingLines] = [0, 0];
    if (isClosed) drop(unwritten);
    else if (text) destination.write(text);
  };
  setInterval(() => handOver(), FLUSH_INTERVAL).unref();
  const output: DestinationStream = {
    write(line) {
      waitingLines++;
      // A character takes up to three bytes.
      if (3 * line.length > waiting.length - length) handOver(line);
      else length += waiting.write(line, length);
    },
  };
  const stream = isatty(STDOUT) ? await readable(output) : output;
  return {
    log: createLog(level, stream),
    dropped: () => dropped,
    print(text) {
      output.write(text);
      waitingLines += countLines(text) - 1;
      handOver();
    },
    async end(milliseconds) {
      handOver();
      if (isClosed) return;
      const late = new Promise((resolve) => setTimeout(resolve, milliseconds));
      await Promise.race([new Promise((resolve) => destination.flush(resolve)), late]);
      // Otherwise, pino would retry leftover lines again and again at the exit.
      destination.destroy();
    },
  };
}

const countLines = (text: string): number => text.split('\n').length - 1;

/** Formats lines for people. Loaded only on a terminal. */
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
  // Text from clients must not reach the terminal as control sequences.
  const plain = (line: string) => line.replaceAll(/\\u00[01][\da-f]|[\x7f-\x9f]/g, '\ufffd');
  return { write: (line) => output.write(format(plain(line))) };
}
