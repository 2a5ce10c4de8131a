import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream';

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

/**
 * Reads a budget from the headers of a response (RateLimit header fields for HTTP, draft 11).
 *
 * @param plan of the key, if it is known
 * @returns undefined if the headers have other windows, as without a valid key
 */
export function budgetIn(headers: Headers, plan?: string): Budget | undefined {
  const windowOf = (name: 'minute' | 'day'): Window | undefined => {
    const numbers = (header: string, pattern: string) =>
      new RegExp(`"${name}";${pattern}`)
        .exec(headers.get(header) ?? '')
        ?.slice(1)
        .map(Number) ?? [];
    const [limit = 0] = numbers('ratelimit-policy', 'q=(\\d+)');
    const [remaining, seconds = 0] = numbers('ratelimit', 'r=(\\d+);t=(\\d+)');
    if (remaining === undefined) return undefined;
    return { limit, remaining, resetAt: Date.now() + seconds * 1_000 };
  };
  const [minute, day] = [windowOf('minute'), windowOf('day')];
  return minute && day && { plan, minute, day };
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

/** What an unsuccessful response says for users, in either error format. @param text its body */
export function messageOf(text: string, { status, statusText }: Response): string {
  try {
    const body = JSON.parse(text);
    const said = body.message ?? body.errors?.[0]?.message;
    if (typeof said === 'string' && said !== '') return said;
  } catch {
    // A proxy's error page; fall back to the status line.
  }
  return `The server responded with ${`${status} ${statusText}`.trim()} and no explanation.`;
}

/** The server-sent events of a response, until it ends. @throws TypeError if the connection is lost */
export async function* messagesOf({ body }: Response): AsyncGenerator<EventSourceMessage, void> {
  const messages = body!
    .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  for (;;) {
    const { value, done } = await messages.read();
    if (done) return;
    yield value;
  }
}
