import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, vi } from 'vitest';
import { RequestContext } from '../../src/http/request-context.ts';
import type { HttpResponse } from '../../src/http/response.ts';

/** Expects that the body of a path is the same object for so many milliseconds, and a new one with the same bytes then. */
export async function expectKeptFor(
  milliseconds: number,
  path: string,
  handler: { handle(context: RequestContext): Promise<HttpResponse> },
): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    const request = { headers: {}, url: path } as IncomingMessage;
    const taken = async () =>
      (await handler.handle(new RequestContext(request, {} as ServerResponse, 'test', ''))).body;
    const first = await taken();
    vi.advanceTimersByTime(milliseconds - 1);
    expect(await taken()).toBe(first);
    vi.advanceTimersByTime(1);
    const second = await taken();
    // Not by the matchers, which compare large bodies byte by byte.
    expect(second === first).toBe(false);
    expect(String(second) === String(first)).toBe(true);
  } finally {
    vi.useRealTimers();
  }
}
