import type { Fetcher, FetcherParams } from '@graphiql/toolkit';
import { parse } from 'lossless-json';
import { MOUNT, Observable } from '../browser.ts';
import { apiKey } from '../key.ts';
import { messageOf, messagesOf } from '../responses.ts';
import { counted, grouped } from '../../../../foundation/words.ts';

/**
 * Parses JSON such that `JSON.stringify`, which GraphiQL uses, writes the original integers. Those that a double cannot
 * hold become `JSON.rawJSON` of the "JSON.parse source text access" proposal, or strings in browsers without it.
 */
const parseExactly = (text: string): unknown =>
  parse(text, undefined, {
    parseNumber(literal) {
      if (!/^-?\d+$/.test(literal) || Number.isSafeInteger(Number(literal))) return Number(literal);
      return (JSON as { rawJSON?: (text: string) => unknown }).rawJSON?.(literal) ?? literal;
    },
  });

/** A message about the last run, and the number of events received by the running subscription, if any. */
export const runs = new Observable<{ last?: string; events?: number }>({});

const failed = (message: string) => ({ errors: [{ message }] });

/** The result for a stream that ends without `complete`, because the server stopped or disconnected a slow reader. */
const ended = (shown: readonly unknown[]) => ({
  ...failed('The server ended the stream. Run it again to continue.'),
  ...(shown.length > 0 && { newestFirst: shown }),
});

/** The maximum number of results shown for a subscription. */
const SHOWN_RESULTS = 100;

/**
 * A fetcher for GraphiQL that doesn't round integers. Failures become results with a message, because GraphiQL shows
 * stack traces for thrown errors.
 */
export const fetcher: Fetcher = (request, options) => {
  const aborter = new AbortController();
  const results = resultsOf(request, options?.headers, aborter.signal);
  // Stops now rather than at the next event, which may never come.
  results.return = async () => {
    aborter.abort();
    return { done: true, value: undefined };
  };
  return results as AsyncGenerator<never>;
};

/** Yields the answer, or all results of a subscription so far, newest first (GraphQL over SSE, distinct connections mode). */
async function* resultsOf(
  { query, variables, operationName: chosen }: FetcherParams,
  own: Record<string, string> | undefined,
  signal: AbortSignal,
): AsyncGenerator<unknown, void> {
  // Asks for the cost of the run.
  const headers = { 'Content-Type': 'application/json', 'X-RateLimit-Extension': 'on', ...own };
  // GraphiQL updates its list of operations with a delay, so the named one may be gone.
  const operationName = new RegExp(`\\b${chosen}\\b`).test(query) ? chosen : undefined;
  const body = JSON.stringify({ query, variables, operationName });
  let isStream = false;
  const shown: unknown[] = [];
  try {
    const began = performance.now();
    const response = await apiKey.fetch(`${MOUNT}/graphql`, { method: 'POST', headers, body, signal });
    isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    if (!isStream) {
      const text = await response.text();
      const time = `${grouped(Math.round(performance.now() - began))} ms`;
      const size = `${(new Blob([text]).size / 1_000).toFixed(1)} kB`;
      const { result, cost } = resultOf(text, response);
      runs.settle({ last: `${cost}${response.status}, ${time}, ${size}` });
      return yield result;
    }
    let received = 0;
    runs.settle({ events: 0 });
    for await (const { event, data } of messagesOf(response)) {
      if (event === 'complete') return;
      if (event !== 'next') continue;
      runs.settle({ events: ++received });
      shown.unshift(parseExactly(data));
      shown.length = Math.min(shown.length, SHOWN_RESULTS);
      yield { newestFirst: shown };
    }
    yield ended(shown);
  } catch (error) {
    // Stopping is not an error.
    if (!signal.aborted) yield isStream ? ended(shown) : failed((error as Error).message);
  } finally {
    if (isStream) runs.settle({});
  }
}

/** Splits an answer into the shown part and the cost, which is all that `extensions` has. */
function resultOf(text: string, response: Response): { result: object; cost: string } {
  try {
    const { extensions, ...result } = parseExactly(text) as { extensions?: { rateLimit: { cost: number } } };
    return {
      result,
      cost: extensions ? `The last run cost ${counted(extensions.rateLimit.cost, 'unit')}. ` : '',
    };
  } catch {
    return { result: failed(messageOf(text, response)), cost: '' };
  }
}
