/**
 * Lets the operations of one process that write the same document take turns. The database alone would keep them
 * correct, but a transaction that meets another one fails and starts again: of a hundred at once on one category only
 * a few would get through in time. Between processes there are few enough for that.
 */
export function createTurns() {
  const queues = new Map<string, Promise<void>>();

  /** Waits until it is this operation's turn. @returns ends the turn */
  async function take(name: string): Promise<() => void> {
    const before = queues.get(name);
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const last = before ? before.then(() => ended) : ended;
    queues.set(name, last);
    await before;
    return () => {
      end();
      if (queues.get(name) === last) queues.delete(name);
    };
  }

  return {
    /** The turns of one operation. `end` must be called when it is over. */
    start() {
      const taken = new Map<string, () => void>();
      return {
        async take(name: string): Promise<void> {
          // An operation that waits while it has a turn could wait for one that waits for it. It goes on instead, and
          // perhaps starts again.
          if (taken.has(name) || (taken.size > 0 && queues.has(name))) return;
          taken.set(name, await take(name));
        },
        end(): void {
          for (const end of taken.values()) end();
        },
      };
    },
  };
}
