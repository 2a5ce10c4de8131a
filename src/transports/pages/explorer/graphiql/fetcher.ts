import type { Fetcher } from '@graphiql/toolkit';
import { getOperationAST } from 'graphql';
import { parse } from 'lossless-json';
import { Observable } from '../browser.ts';
import { apiKey } from '../key.ts';
import { messageOf, messagesOf } from '../server.ts';
import { bodyOf, headersFor, parsed } from './request.ts';

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

/** The last run. */
interface Run {
  /** Units charged, if the server says so. */
  units?: number | undefined;
  status: number;
  /** Until the whole answer was here. */
  milliseconds: number;
  /** Bytes of the answer. */
  size: number;
}

/** What runs and has run. `events`: received by the subscription that runs, if one does. */
export const runs = new Observable<{ run?: Run; events?: number }>({});

const failed = (message: string) => ({ errors: [{ message }] });

/** Shown if the stream ends without `complete`, because the server stopped or disconnected a slow reader. */
const ENDED = failed('The server ended the stream. Run it again to continue.');

/**
 * GraphiQL's fetcher. Failures are returned as results with a message, because GraphiQL shows stack traces for
 * thrown errors.
 */
export const fetcher: Fetcher = ({ query, variables, operationName: chosen }, options) => {
  const document = parsed(query);
  // GraphiQL updates its list of operations with a delay, so the name may be of one that no longer exists.
  const named = document && getOperationAST(document, chosen);
  const operation = named ?? (document && getOperationAST(document));
  const operationName = document && !operation ? chosen : operation?.name?.value;
  const headers = headersFor(options?.headers);
  const body = bodyOf(query, variables, operationName);
  return operation?.operation === 'subscription' ? subscribe(body, headers) : post(body, headers);
};

async function post(body: string, headers: Record<string, string>): Promise<never> {
  try {
    const began = performance.now();
    const response = await apiKey.fetch('/graphql', { method: 'POST', headers, body });
    const text = await response.text();
    const milliseconds = Math.round(performance.now() - began);
    const { result, units } = resultOf(text, response);
    runs.settle({ run: { units, status: response.status, milliseconds, size: new Blob([text]).size } });
    return result as never;
  } catch (error) {
    return failed((error as Error).message) as never;
  }
}

/** What is shown of an answer: without the extension that was asked for, which says what the run cost. */
function resultOf(text: string, response: Response): { result: object; units?: number } {
  try {
    const { extensions, ...result } = parseExactly(text) as { extensions?: { rateLimit?: { cost: number } } };
    const { rateLimit, ...others } = extensions ?? {};
    const hasOthers = Object.keys(others).length > 0;
    return {
      result: hasOthers ? { ...result, extensions: others } : result,
      ...(rateLimit && { units: rateLimit.cost }),
    };
  } catch {
    return { result: failed(messageOf(text, response)) };
  }
}

/** How many results of a subscription are shown. */
const SHOWN_RESULTS = 100;

function subscribe(body: string, headers: Record<string, string>): AsyncGenerator<never> {
  const aborter = new AbortController();
  const results = resultsOf(body, headers, aborter.signal);
  // Stop now rather than at the next event, which may never come.
  results.return = async () => {
    aborter.abort();
    return { done: true, value: undefined };
  };
  return results as AsyncGenerator<never>;
}

/**
 * Yields all results of a subscription so far, newest first (GraphQL over SSE, distinct connections mode). Does
 * not use `graphql-sse`, whose client rounds integers beyond 2^53.
 */
async function* resultsOf(
  body: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): AsyncGenerator<unknown, void> {
  let received = 0;
  const shown: unknown[] = [];
  runs.settle({ events: 0 });
  let isOpen = false;
  try {
    const accept = { ...headers, Accept: 'text/event-stream' };
    const response = await apiKey.fetch('/graphql', { method: 'POST', headers: accept, body, signal });
    if (!response.ok) return yield failed(messageOf(await response.text(), response));
    isOpen = true;
    for await (const { event, data } of messagesOf(response)) {
      if (event === 'complete') return;
      if (event !== 'next') continue;
      runs.settle({ events: ++received });
      shown.unshift(parseExactly(data));
      shown.length = Math.min(shown.length, SHOWN_RESULTS);
      yield shown.length === 1 ? shown[0] : { newestFirst: shown };
    }
    yield ENDED;
  } catch (error) {
    // Stopping is not an error.
    if (!signal.aborted) yield isOpen ? ENDED : failed((error as Error).message);
  } finally {
    runs.settle({});
  }
}
