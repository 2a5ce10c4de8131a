import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream';

/** One window of a plan. */
export interface Window {
  limit: number;
  remaining: number;
  /** Milliseconds since 1970. */
  resetAt: number;
}

/** The remainder of a key's budget. */
export interface Budget {
  /** Undefined for a key that may not request it. */
  plan: string | undefined;
  minute: Window;
  day: Window;
}

/**
 * Reads a budget from the headers of a response (RateLimit header fields for HTTP, draft 11).
 *
 * @param plan the plan of the key, if known
 * @returns undefined if the headers are for another window, as without a valid key
 */
export function budgetIn(headers: Headers, plan?: string): Budget | undefined {
  const text = `${headers.get('ratelimit-policy')} ${headers.get('ratelimit')}`;
  const windowOf = (name: 'minute' | 'day'): Window | undefined => {
    const match = new RegExp(`"${name}";q=(\\d+).*"${name}";r=(\\d+);t=(\\d+)`).exec(text);
    if (!match) return undefined;
    const [limit, remaining, seconds] = match.slice(1).map(Number) as [number, number, number];
    return { limit, remaining, resetAt: Date.now() + seconds * 1_000 };
  };
  const minute = windowOf('minute');
  const day = windowOf('day');
  return minute && day && { plan, minute, day };
}

/** Seconds until both windows have something left; 0 if they have now. */
export function secondsUntilLeft({ minute, day }: Budget): number {
  const empty = [minute, day].filter(({ remaining }) => remaining === 0);
  return Math.ceil(Math.max(0, ...empty.map(({ resetAt }) => resetAt - Date.now())) / 1000);
}

export const UNREACHABLE =
  'The server cannot be reached. Check that it is running and that you are online, then try again.';

/** The message for users in an unsuccessful response, in either error format. @param text the body */
export function messageOf(text: string, { status, statusText }: Response): string {
  try {
    const body = JSON.parse(text);
    const message = body.message ?? body.errors?.[0]?.message;
    if (typeof message === 'string' && message !== '') return message;
  } catch {
    // A proxy's error page: falls back to the status line.
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

/** Formats a duration: `42 s`, `3 min 5 s`, `23 h 59 min`. @param time in seconds */
export function duration(time: number): string {
  const seconds = Math.max(0, Math.ceil(time));
  if (seconds <= 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}
