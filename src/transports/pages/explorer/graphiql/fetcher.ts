import type { Fetcher, FetcherParams } from '@graphiql/toolkit';
import { parse } from 'lossless-json';
import { MOUNT, Observable } from '../browser.ts';
import { apiKey } from '../key.ts';
import { messageOf, messagesOf } from '../responses.ts';
import { counted, grouped } from '../../../../foundation/words.ts';

/**
 * Parses JSON into values that `JSON.stringify` writes with the original integers, as GraphiQL does. Those that a double
 * cannot hold are in the form of the "JSON.parse source text access" proposal, or strings in browsers without it.
 */
const parseExactly = (text: string): unknown =>
  parse(text, undefined, {
    parseNumber(literal) {
      if (!/^-?\d+$/.test(literal) || Number.isSafeInteger(Number(literal))) return Number(literal);
      return (JSON as { rawJSON?: (text: string) => unknown }).rawJSON?.(literal) ?? literal;
    },
  });

/**
 * The message about the last run, and the number of events that the running subscription has received, if there is
 * one.
 */
export const runs = new Observable<{ last?: string; events?: number }>({});

const failed = (message: string) => ({ errors: [{ message }] });

/** Shown if the stream ends without `complete`, because the server stopped or disconnected a slow reader. */
const ended = (shown: readonly unknown[]) => ({
  ...failed('The server ended the stream. Run it again to continue.'),
  ...(shown.length > 0 && { newestFirst: shown }),
});

/** The number of results of a subscription that are shown. */
const SHOWN_RESULTS = 100;

/**
 * GraphiQL's fetcher, which does not round integers. Failures are returned as results with a message, because GraphiQL
 * shows stack traces for thrown errors.
 */
export const fetcher: Fetcher = (request, options) => {
  const aborter = new AbortController();
  const results = resultsOf(request, options?.headers, aborter.signal);
  // Stop now rather than at the next event, which may never come.
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
  // The extension says what the run cost.
  const headers = { 'Content-Type': 'application/json', 'X-RateLimit-Extension': 'on', ...own };
  // GraphiQL updates its list of operations with a delay, so the name may be of one that no longer exists.
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

/** The shown part of an answer: without `extensions`, which hold only the cost. */
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
