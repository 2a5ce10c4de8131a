/** Two clocks: one for the time of day, one for durations. */
export interface Clock {
  /** Milliseconds since 1970, which clients see and instances share. May be set back. */
  now: () => number;
  /** Milliseconds since an arbitrary moment, never going back. Use it for anything that must end on time. */
  monotonic: () => number;
}

export const systemClock: Clock = { now: Date.now, monotonic: () => performance.now() };
