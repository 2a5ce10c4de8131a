import { asAppError } from '../foundation/errors.ts';

/** The media type of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export const STREAM_TYPE = 'text/event-stream';

/**
 * The line before the error that ends a stream: how long clients wait before they reconnect. Empty if waiting doesn't
 * help.
 */
export function retryLine(failure: unknown): string {
  const { retryAfter } = asAppError(failure);
  return retryAfter === undefined ? '' : `retry: ${retryAfter * 1_000}\n`;
}
