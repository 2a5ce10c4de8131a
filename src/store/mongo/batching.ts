/**
 * Gathers what is asked for in one turn of the event loop and asks for it together: many connections are read in one turn,
 * and most of what a command costs is the command itself.
 *
 * @param run answers all of them, in their order
 * @param max how many go together
 */
export function batch<A, R>(
  run: (all: readonly A[]) => Promise<readonly R[]>,
  max = 1_000,
): (one: A) => Promise<R> {
  let gathered: { one: A; resolve(result: R): void; reject(error: unknown): void }[] = [];

  async function send(): Promise<void> {
    const batch = gathered;
    gathered = [];
    try {
      const results = await run(batch.map(({ one }) => one));
      for (const [i, { resolve }] of batch.entries()) resolve(results[i]!);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return (one) =>
    new Promise((resolve, reject) => {
      if (gathered.length === max) void send();
      if (gathered.length === 0) setImmediate(() => gathered.length > 0 && void send());
      gathered.push({ one, resolve, reject });
    });
}

/** Lets all who ask for the same in one turn of the event loop have one answer. It must not be changed. */
export function dedupe<R>(): (name: string, read: () => Promise<R>) => Promise<R> {
  let gathered = new Map<string, Promise<R>>();
  return (name, ask) => {
    const known = gathered.get(name);
    if (known) return known;
    if (gathered.size === 0)
      setImmediate(() => {
        gathered = new Map();
      });
    const asked = new Promise<R>((resolve, reject) => {
      setImmediate(() => ask().then(resolve, reject));
    });
    gathered.set(name, asked);
    return asked;
  };
}

/**
 * Asks for the same thing only once at a time. Who comes while that is under way waits for the next answer, with all others
 * who came: the one under way may not know what was written before they asked.
 */
export function singleFlight<R>(): (name: string, ask: () => Promise<R>) => Promise<R> {
  const underWay = new Map<string, { now: Promise<R>; next: Promise<R> | undefined }>();

  function start(name: string, ask: () => Promise<R>): Promise<R> {
    const asked = ask();
    const entry = { now: asked, next: undefined };
    underWay.set(name, entry);
    const end = () => {
      if (underWay.get(name) === entry && !entry.next) underWay.delete(name);
    };
    asked.then(end, end);
    return asked;
  }

  return (name, ask) => {
    const current = underWay.get(name);
    if (!current) return start(name, ask);
    const next = () => start(name, ask);
    current.next ??= current.now.then(next, next);
    return current.next;
  };
}

/** Lets so many at most be under way; the others wait for their turn, in their order. */
export function limitConcurrency<R>(most: number): (ask: () => Promise<R>) => Promise<R> {
  const waiting: (() => void)[] = [];
  let underWay = 0;

  return async (ask) => {
    if (underWay === most) await new Promise<void>((resolve) => waiting.push(resolve));
    else underWay++;
    try {
      return await ask();
    } finally {
      // Who waits longest takes the place.
      const next = waiting.shift();
      if (next) next();
      else underWay--;
    }
  };
}
