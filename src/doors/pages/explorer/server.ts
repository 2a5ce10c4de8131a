/** One window of a plan. */
export interface Window {
  limit: number;
  remaining: number;
  /** Milliseconds since 1970. */
  resetAt: number;
}

/** What a key may still use. */
export interface Budget {
  plan: string;
  minute: Window;
  day: Window;
}

interface WireWindow {
  limit: number;
  remaining: number;
  /** RFC 3339. */
  resetAt: string;
}

/** A budget as the server writes it, be it a field, an extension or a cost. */
export const budgetOf = ({
  plan,
  minute,
  day,
}: {
  plan: string;
  minute: WireWindow;
  day: WireWindow;
}): Budget => ({ plan, minute: windowOf(minute), day: windowOf(day) });

const windowOf = ({ limit, remaining, resetAt }: WireWindow): Window => ({
  limit,
  remaining,
  resetAt: Date.parse(resetAt),
});

/** A window as it is at a moment: one that has ended is full. */
export const windowAt = (window: Window, now: number): Window =>
  now < window.resetAt ? window : { ...window, remaining: window.limit };

export const UNREACHABLE =
  'The server cannot be reached. Check that it is running and that you are online; then try again.';

/**
 * What a refusal or a failure means, in words for people.
 *
 * @param failure a response that is no success, or what `fetch` threw
 */
export async function describeFailure(failure: unknown): Promise<string> {
  if (!(failure instanceof Response)) return UNREACHABLE;
  return errorMessage(await failure.text(), failure);
}

/** The words in a body of either error format. */
export function errorMessage(text: string, { status, statusText }: Response): string {
  try {
    const body = JSON.parse(text);
    const said = body.message ?? body.errors?.[0]?.message;
    if (typeof said === 'string' && said !== '') return said;
  } catch {
    // A proxy's own page: the status line says all there is to say.
  }
  return `The server answered ${`${status} ${statusText}`.trim()}, without saying why.`;
}
