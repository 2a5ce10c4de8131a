/** Work that waits for its turn, over all requests. */
const waiting: (() => void)[] = [];

/**
 * Runs work in a turn of the event loop that it shares with no other, so that requests, timers and
 * disconnects come in between. Node runs everything that is passed to `setImmediate` in one turn.
 */
export function inOwnTurn(work: () => void): void {
  waiting.push(work);
  if (waiting.length === 1) setImmediate(next);
}

/** Resolves in a turn of its own. */
export const ownTurn = (): Promise<void> => new Promise(inOwnTurn);

function next(): void {
  try {
    waiting[0]!();
  } finally {
    waiting.shift();
    if (waiting.length > 0) setImmediate(next);
  }
}
