import { connect, type Socket } from 'node:net';

/**
 * Reads many streams of events as cheaply as can be, in a process of its own: it finds the `id` lines in what comes and takes
 * down when they came, and parses nothing. Its parent tells it what to do by {@link Order}s, and gets one {@link Report} each.
 */
export type Order =
  | { do: 'open'; port: number; key: string; streams: number }
  | { do: 'count' }
  | { do: 'report' }
  | { do: 'close' };

export interface Report {
  /** Streams that are open. */
  open: number;
  /** Events that arrived, on all of them. */
  arrived: number;
  /** How many streams have each number of events: `{"1000": 998, "997": 2}`. */
  streamsByEvents?: Record<string, number>;
  /** When the events came on each stream, in milliseconds since 1970, the n-th event at index n. */
  arrivals?: Float64Array[];
}

const MARK = Buffer.from('\nid: ');
const MOST_EVENTS = 20_000;

/** The events of one stream by their times; what comes is looked at and forgotten. */
class Reader {
  readonly #socket: Socket;
  /** Resolves when the stream has begun. */
  readonly begun: Promise<void>;
  #times = new Float64Array(1_024);
  events = 0;
  isOpen = true;
  /** The end of the last bytes, in which a mark may have begun. */
  #tail = Buffer.alloc(0);

  constructor(port: number, key: string) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket = socket;
    socket.write(`GET /events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\n\r\n`);
    socket.on('close', () => {
      this.isOpen = false;
    });
    socket.on('error', () => {});
    this.begun = new Promise((resolve, reject) => {
      let head = '';
      const begin = (bytes: Buffer) => {
        head += bytes.toString('latin1');
        if (!head.includes('retry: ')) return;
        this.#tail = Buffer.from(head.slice(1 - MARK.length), 'latin1');
        socket.off('data', begin);
        socket.on('data', (more: Buffer) => this.#take(more));
        if (head.startsWith('HTTP/1.1 200 ')) resolve();
        else reject(new Error(head));
      };
      socket.on('data', begin);
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
    const most = MARK.length - 1;
    // A mark may begin in what came before and end in this.
    const seam = Buffer.concat([this.#tail, bytes.subarray(0, most)]);
    let found = seam.indexOf(MARK) < 0 ? 0 : 1;
    for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + MARK.length)) found++;
    this.#tail =
      bytes.length >= most ? Buffer.from(bytes.subarray(-most)) : Buffer.from(seam.subarray(-most));
    for (; found > 0 && this.events < MOST_EVENTS; found--) this.#add(now);
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

async function carryOut(order: Order): Promise<Report> {
  switch (order.do) {
    case 'open':
      for (let left = order.streams; left > 0; left -= 50) {
        const some = Array.from({ length: Math.min(50, left) }, () => new Reader(order.port, order.key));
        readers.push(...some);
        await Promise.all(some.map(({ begun }) => begun));
      }
      return figures();
    case 'count':
      return figures();
    case 'report': {
      const streamsByEvents: Record<string, number> = {};
      for (const { events } of readers) streamsByEvents[events] = (streamsByEvents[events] ?? 0) + 1;
      return { ...figures(), streamsByEvents, arrivals: readers.map(({ times }) => times) };
    }
    case 'close':
      for (const reader of readers) reader.close();
      readers = [];
      return figures();
  }
}

const figures = (): Report => ({
  open: readers.filter(({ isOpen }) => isOpen).length,
  arrived: readers.reduce((sum, { events }) => sum + events, 0),
});

process.on('message', (order: Order) => {
  carryOut(order).then(
    (report) => process.send!(report),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit());
