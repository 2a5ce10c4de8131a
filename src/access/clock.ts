/** The time, told in two ways. */
export interface Clock {
  /** Milliseconds since 1970: what clients are told, and what instances agree on. It can be set back. */
  now: () => number;
  /** Milliseconds since some moment, which only pass: for what must end in time whatever is done to the clock. */
  monotonic: () => number;
}

export const systemClock: Clock = { now: Date.now, monotonic: () => performance.now() };
