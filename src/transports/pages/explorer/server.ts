/** One window of a plan. */
export interface Window {
  limit: number;
  remaining: number;
  /** Milliseconds since 1970. */
  resetAt: number;
}

/** What is left of a key's budget. */
export interface Budget {
  /** Not known of a key that may not ask. */
  plan: string | undefined;
  minute: Window;
  day: Window;
}

/** A window as the server sends it. */
type SentWindow = Omit<Window, 'resetAt'> & { resetAt: string };

/** Parses the budget in a response of `/graphql/cost`. */
export const budgetOf = ({
  plan,
  minute,
  day,
}: {
  plan: string;
  minute: SentWindow;
  day: SentWindow;
}): Budget => ({
  plan,
  minute: windowOf(minute),
  day: windowOf(day),
});

const windowOf = (window: SentWindow): Window => ({ ...window, resetAt: Date.parse(window.resetAt) });

/**
 * Reads a budget from the headers of a response, which name both windows (RateLimit header fields for HTTP, draft 11).
 *
 * @param known the budget until now, if it is of the same key
 * @returns undefined if the headers have other windows, as without a valid key
 */
export function budgetIn(headers: Headers, known?: Budget): Budget | undefined {
  const limits = new Map(
    [...(headers.get('ratelimit-policy') ?? '').matchAll(/"(\w+)";q=(\d+)/g)].map(([, name, q]) => [
      name,
      Number(q),
    ]),
  );
  const windows = new Map(
    [...(headers.get('ratelimit') ?? '').matchAll(/"(\w+)";r=(\d+);t=(\d+)/g)].map(
      ([, name, remaining, seconds]) => [
        name,
        {
          limit: limits.get(name) ?? 0,
          remaining: Number(remaining),
          resetAt: Date.now() + Number(seconds) * 1000,
        },
      ],
    ),
  );
  const minute = windows.get('minute');
  const day = windows.get('day');
  if (!minute || !day) return undefined;
  if (!known) return { plan: undefined, minute, day };
  return { ...known, minute: latest(known.minute, minute), day: latest(known.day, day) };
}

/** How far apart two resets of one window may seem, in milliseconds: they are sent in whole seconds. */
const RESET_PRECISION = 2_000;

/** Responses may arrive in another order than they were charged in, but within a window `remaining` only falls. */
function latest(known: Window, sent: Window): Window {
  const isSame = Math.abs(sent.resetAt - known.resetAt) < RESET_PRECISION;
  return { ...sent, ...(isSame && { remaining: Math.min(known.remaining, sent.remaining) }) };
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
