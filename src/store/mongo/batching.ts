/** A call that waits for its result. */
interface Call<A, R> {
  one: A;
  resolve(result: R): void;
  reject(error: unknown): void;
}

/**
 * Collects calls made within one turn of the event loop into one command. Many connections are read per turn,
 * and most of a command's cost is fixed.
 *
 * @param run handles a batch and returns the results in order
 * @param max maximum batch size
 */
export function batch<A, R>(
  run: (all: readonly A[]) => Promise<readonly R[]>,
  max = 1_000,
): (one: A) => Promise<R> {
  let gathered: Call<A, R>[] = [];

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

/**
 * Runs at most one command per name at a time. Calls that arrive meanwhile are gathered for the next one, as are
 * those of one turn of the event loop.
 *
 * @param run handles the calls of a name and returns the results in order
 */
export function gather<A, R>(
  run: (name: string, all: readonly A[]) => Promise<readonly R[]>,
): (name: string, one: A) => Promise<R> {
  const waiting = new Map<string, Call<A, R>[]>();

  async function serve(name: string, calls: Call<A, R>[]): Promise<void> {
    while (calls.length > 0) {
      const served = calls.splice(0);
      try {
        const results = await run(
          name,
          served.map(({ one }) => one),
        );
        for (const [i, { resolve }] of served.entries()) resolve(results[i]!);
      } catch (error) {
        // Calls that arrived since would wait for the same unavailable database and be carried out after they
        // have timed out.
        for (const { reject } of [...served, ...calls.splice(0)]) reject(error);
      }
    }
    waiting.delete(name);
  }

  return (name, one) =>
    new Promise((resolve, reject) => {
      const call = { one, resolve, reject };
      const known = waiting.get(name);
      if (known) {
        known.push(call);
        return;
      }
      const calls = [call];
      waiting.set(name, calls);
      setImmediate(() => void serve(name, calls));
    });
}

/** Shares one result between equal reads made within one turn of the event loop. Callers must not modify it. */
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
 * Runs at most one read per name at a time. Callers that arrive while one is running share the next one,
 * because the running one may miss what was written before they called.
 */
export function singleFlight<R>(): (name: string, ask: () => Promise<R>) => Promise<R> {
  const inFlight = new Map<string, { now: Promise<R>; next: Promise<R> | undefined }>();

  function start(name: string, ask: () => Promise<R>): Promise<R> {
    const asked = ask();
    const entry = { now: asked, next: undefined };
    inFlight.set(name, entry);
    const end = () => {
      if (inFlight.get(name) === entry && !entry.next) inFlight.delete(name);
    };
    asked.then(end, end);
    return asked;
  }

  return (name, ask) => {
    const current = inFlight.get(name);
    if (!current) return start(name, ask);
    const next = () => start(name, ask);
    current.next ??= current.now.then(next, next);
    return current.next;
  };
}

/** Limits how many reads run at the same time. The others wait in order. */
export function limitConcurrency<R>(most: number): (ask: () => Promise<R>) => Promise<R> {
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (ask) => {
    if (running === most) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await ask();
    } finally {
      // Hand the slot to the caller that has waited longest.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
