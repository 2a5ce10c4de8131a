import type { Fetcher } from '@graphiql/toolkit';
import { getOperationAST } from 'graphql';
import { parseExactly } from '../exact-json.ts';
import { apiKey } from '../key.ts';
import { describeFailure, errorMessage, UNREACHABLE } from '../server.ts';
import { cost } from './cost.ts';
import { bodyOf, headersFor, parsed } from './request.ts';
import { resultsOf } from './subscription.ts';

type Result = { errors?: { message: string }[]; extensions?: Record<string, unknown> };

const failed = (message: string): Result => ({ errors: [{ message }] });

/**
 * Creates GraphiQL's fetcher. Failures are returned as results with a message, because GraphiQL shows stack
 * traces for thrown errors.
 *
 * @param variablesText the variables as typed, before any integer is rounded
 */
export const createFetcher =
  (variablesText: () => string): Fetcher =>
  ({ query, operationName: chosen }, { headers } = {}) => {
    const document = parsed(query);
    // GraphiQL updates its list of operations with a delay, so the name may be of one that no longer exists.
    const named = document && getOperationAST(document, chosen);
    const operation = named ?? (document && getOperationAST(document));
    const operationName = document && !operation ? chosen : operation?.name?.value;
    return operation?.operation === 'subscription'
      ? subscribe(query, variablesText(), operationName, headersFor(headers))
      : (post(query, variablesText(), operationName, headersFor(headers)) as never);
  };

async function post(
  query: string,
  variablesText: string,
  operationName: string | null | undefined,
  headers: Record<string, string>,
): Promise<Result> {
  let response: Response;
  let text: string;
  try {
    const body = bodyOf(query, variablesText, operationName);
    response = await fetch('/graphql', { method: 'POST', headers, body });
    text = await response.text();
  } catch (error) {
    return failed(error instanceof SyntaxError ? invalidVariables(error) : UNREACHABLE);
  }
  apiKey.observe(response);
  let result: Result;
  try {
    result = parseExactly(text) as Result;
  } catch {
    return failed(errorMessage(text, response));
  }
  return cost.takeCost(result);
}

/** How many results of a subscription are shown. */
const SHOWN_RESULTS = 100;

/** How often the budget is checked while a subscription runs, in milliseconds. Checking is free. */
const BUDGET_INTERVAL = 3_000;

/** Yields all results of a subscription so far, newest first, until it is stopped. */
function subscribe(
  query: string,
  variablesText: string,
  operationName: string | null | undefined,
  headers: Record<string, string>,
): AsyncIterableIterator<never> {
  const aborter = new AbortController();
  let results: AsyncGenerator<unknown, void> | undefined;
  let isOver = false;
  let received = 0;
  const shown: unknown[] = [];
  const timer = setInterval(() => void apiKey.check(), BUDGET_INTERVAL);
  const finish = () => {
    isOver = true;
    clearInterval(timer);
    cost.onEvents(undefined);
    void apiKey.check();
    return { done: true, value: undefined } as const;
  };
  const iterator = {
    next: async (): Promise<IteratorResult<never>> => {
      if (isOver) return { done: true, value: undefined };
      try {
        if (!results) {
          cost.onEvents(0);
          results = resultsOf(bodyOf(query, variablesText, operationName), headers, aborter.signal);
        }
        const { done, value } = await results.next();
        if (isOver) return { done: true, value: undefined };
        if (done) return finish();
        cost.onEvents(++received);
        shown.unshift(value);
        shown.length = Math.min(shown.length, SHOWN_RESULTS);
        return { done: false, value: (shown.length === 1 ? value : { newestFirst: shown }) as never };
      } catch (error) {
        // Stopping is not an error.
        if (isOver) return { done: true, value: undefined };
        finish();
        const words = error instanceof SyntaxError ? invalidVariables(error) : await describeFailure(error);
        return { done: false, value: failed(words) as never };
      }
    },
    // Stop now rather than at the next event, which may never come.
    return: async () => {
      aborter.abort();
      return finish();
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

const invalidVariables = ({ message }: SyntaxError): string => `The variables are not valid JSON: ${message}`;
