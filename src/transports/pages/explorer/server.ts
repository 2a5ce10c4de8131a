/** One window of a plan. */
export interface Window {
  limit: number;
  remaining: number;
  /** Milliseconds since 1970. */
  resetAt: number;
}

/** What is left of a key's budget. */
export interface Budget {
  plan: string;
  minute: Window;
  day: Window;
  /** How many more refusals while Retry-After runs ban the key. Only the field tells. */
  refusalsUntilBan?: number | undefined;
}

/** A window as the server sends it. */
type SentWindow = Omit<Window, 'resetAt'> & { resetAt: string };

/** Parses a budget as found in a field, an extension or a cost response. */
export const budgetOf = ({
  minute,
  day,
  ...others
}: Omit<Budget, 'minute' | 'day'> & { minute: SentWindow; day: SentWindow }): Budget => ({
  ...others,
  minute: windowOf(minute),
  day: windowOf(day),
});

const windowOf = (window: SentWindow): Window => ({ ...window, resetAt: Date.parse(window.resetAt) });

/**
 * Reads what is left of a budget from the `RateLimit` header of a response, which names both windows.
 *
 * @param budget the plan and the limits
 * @returns undefined if the header has other windows, as without a valid key
 */
export function budgetIn(headers: Headers, budget: Budget): Budget | undefined {
  const windows = new Map(
    [...(headers.get('ratelimit') ?? '').matchAll(/"(\w+)";r=(\d+);t=(\d+)/g)].map(
      ([, name, remaining, seconds]) =>
        [name, { remaining: Number(remaining), resetAt: Date.now() + Number(seconds) * 1000 }] as const,
    ),
  );
  const minute = windows.get('minute');
  const day = windows.get('day');
  return minute && day
    ? { ...budget, minute: latest(budget.minute, minute), day: latest(budget.day, day) }
    : undefined;
}

/** How far apart two resets of one window may seem, in milliseconds: they are sent in whole seconds. */
const RESET_PRECISION = 2_000;

/** Responses may arrive in another order than they were charged in, but within a window `remaining` only falls. */
function latest(known: Window, sent: Omit<Window, 'limit'>): Window {
  const isSame = Math.abs(sent.resetAt - known.resetAt) < RESET_PRECISION;
  return { ...known, ...sent, ...(isSame && { remaining: Math.min(known.remaining, sent.remaining) }) };
}

/** The window at a moment; full again after its reset. */
export const windowAt = (window: Window, now: number): Window =>
  now < window.resetAt ? window : { ...window, remaining: window.limit };

/** Seconds until a budget has something left in both windows; 0 if it has now. */
export function secondsUntilLeft({ minute, day }: Budget, now: number): number {
  const empty = [minute, day].filter((window) => windowAt(window, now).remaining === 0);
  return Math.ceil(Math.max(0, ...empty.map(({ resetAt }) => resetAt - now)) / 1000);
}

export const UNREACHABLE =
  'The server cannot be reached. Check that it is running and that you are online, then try again.';

/**
 * Describes a failure for users.
 *
 * @param failure an unsuccessful response, or what `fetch` threw
 */
export async function describeFailure(failure: unknown): Promise<string> {
  if (!(failure instanceof Response)) return UNREACHABLE;
  return errorMessage(await failure.text(), failure);
}

/** Extracts the message from a body in either error format. */
export function errorMessage(text: string, { status, statusText }: Response): string {
  try {
    const body = JSON.parse(text);
    const said = body.message ?? body.errors?.[0]?.message;
    if (typeof said === 'string' && said !== '') return said;
  } catch {
    // A proxy's error page; fall back to the status line.
  }
  return `The server responded with ${`${status} ${statusText}`.trim()} and no explanation.`;
}
