/**
 * Gathers what is asked for in one turn of the event loop and asks for it together: many connections are read in one turn,
 * and most of what a command costs is the command itself.
 *
 * @param run answers all of them, in their order
 * @param most how many go together
 */
export function together<A, R>(
  run: (all: readonly A[]) => Promise<readonly R[]>,
  most = 1_000,
): (one: A) => Promise<R> {
  let gathered: { one: A; resolve(result: R): void; reject(fault: unknown): void }[] = [];

  async function send(): Promise<void> {
    const batch = gathered;
    gathered = [];
    try {
      const results = await run(batch.map(({ one }) => one));
      for (const [i, { resolve }] of batch.entries()) resolve(results[i]!);
    } catch (fault) {
      for (const { reject } of batch) reject(fault);
    }
  }

  return (one) =>
    new Promise((resolve, reject) => {
      if (gathered.length === most) void send();
      if (gathered.length === 0) setImmediate(() => gathered.length > 0 && void send());
      gathered.push({ one, resolve, reject });
    });
}

/** Lets all who ask for the same while it is under way have the one answer. */
export function shared<R>(): (name: string, ask: () => Promise<R>) => Promise<R> {
  const underWay = new Map<string, Promise<R>>();
  return (name, ask) => {
    const known = underWay.get(name);
    if (known) return known;
    const asked = ask().finally(() => underWay.delete(name));
    underWay.set(name, asked);
    return asked;
  };
}
