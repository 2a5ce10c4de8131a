import { connect, type Socket } from 'node:net';

/**
 * A process that reads many event streams as cheaply as possible: it finds the `id` lines in the bytes received and records
 * their times of arrival, but parses nothing. Its parent sends {@link Command}s and receives one {@link Report} for each.
 */
export type Command =
  | { do: 'open'; port: number; key: string; streams: number }
  | { do: 'count' }
  | { do: 'report' }
  | { do: 'close' };

export interface Report {
  /** Number of open streams. */
  open: number;
  /** Number of events that arrived on all streams. */
  arrived: number;
  /** How many streams received each number of events, for example `{"1000": 998, "997": 2}`. */
  streamsByEvents?: Record<string, number>;
  /** Times of arrival per stream in milliseconds since 1970, with the n-th event at index n. */
  arrivals?: Float64Array[];
}

const MARK = Buffer.from('\nid: ');
const MAX_EVENTS = 20_000;

/** Records when the events of one stream arrive, and discards their content. */
class Reader {
  readonly #socket: Socket;
  /** Resolves when the stream has started. */
  readonly started: Promise<void>;
  #times = new Float64Array(1_024);
  events = 0;
  isOpen = true;
  /** The last bytes received, in which a mark may have begun. */
  #tail = Buffer.alloc(0);

  constructor(port: number, key: string) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket = socket;
    socket.write(`GET /events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\n\r\n`);
    socket.on('close', () => {
      this.isOpen = false;
    });
    socket.on('error', () => {});
    this.started = new Promise((resolve, reject) => {
      let head = '';
      const onHead = (bytes: Buffer) => {
        head += bytes.toString('latin1');
        if (!head.includes('retry: ')) return;
        this.#tail = Buffer.from(head.slice(1 - MARK.length), 'latin1');
        socket.off('data', onHead);
        socket.on('data', (more: Buffer) => this.#take(more));
        if (head.startsWith('HTTP/1.1 200 ')) resolve();
        else reject(new Error(head));
      };
      socket.on('data', onHead);
      socket.once('close', () => reject(new Error(head || 'The connection was closed.')));
    });
  }

  get times(): Float64Array {
    return this.#times.subarray(0, this.events);
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    const now = performance.timeOrigin + performance.now();
    const maxTail = MARK.length - 1;
    // A mark may begin in the previous chunk and end in this one.
    const seam = Buffer.concat([this.#tail, bytes.subarray(0, maxTail)]);
    let found = seam.indexOf(MARK) < 0 ? 0 : 1;
    for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + MARK.length)) found++;
    this.#tail =
      bytes.length >= maxTail ? Buffer.from(bytes.subarray(-maxTail)) : Buffer.from(seam.subarray(-maxTail));
    for (; found > 0 && this.events < MAX_EVENTS; found--) this.#add(now);
  }

  #add(time: number): void {
    if (this.events === this.#times.length) {
      const longer = new Float64Array(2 * this.#times.length);
      longer.set(this.#times);
      this.#times = longer;
    }
    this.#times[this.events++] = time;
  }
}

let readers: Reader[] = [];

async function execute(command: Command): Promise<Report> {
  switch (command.do) {
    case 'open':
      for (let left = command.streams; left > 0; left -= 50) {
        const opened = Array.from(
          { length: Math.min(50, left) },
          () => new Reader(command.port, command.key),
        );
        readers.push(...opened);
        await Promise.all(opened.map(({ started }) => started));
      }
      return counts();
    case 'count':
      return counts();
    case 'report': {
      const streamsByEvents: Record<string, number> = {};
      for (const { events } of readers) streamsByEvents[events] = (streamsByEvents[events] ?? 0) + 1;
      return { ...counts(), streamsByEvents, arrivals: readers.map(({ times }) => times) };
    }
    case 'close':
      for (const reader of readers) reader.close();
      readers = [];
      return counts();
  }
}

const counts = (): Report => ({
  open: readers.filter(({ isOpen }) => isOpen).length,
  arrived: readers.reduce((sum, { events }) => sum + events, 0),
});

process.on('message', (command: Command) => {
  execute(command).then(
    (report) => process.send!(report),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit());
