import type { Fetcher } from '@graphiql/toolkit';
import { getOperationAST } from 'graphql';
import { parseExactly } from '../exact-json.ts';
import { describeFailure, errorMessage, UNREACHABLE } from '../server.ts';
import { cost } from './cost.ts';
import { bodyOf, headersFor, parsed } from './request.ts';
import { resultsOf } from './subscription.ts';

type Result = { errors?: { message: string }[]; extensions?: Record<string, unknown> };

const failed = (message: string): Result => ({ errors: [{ message }] });

/**
 * Sends what GraphiQL runs. Whatever goes wrong comes back as an answer with words in it, since GraphiQL shows stack
 * traces for what is thrown.
 *
 * @param variablesText the variables as they stand in the editor, where no integer is rounded yet
 */
export const createFetcher =
  (variablesText: () => string): Fetcher =>
  ({ query, operationName: chosen }, { headers } = {}) => {
    const document = parsed(query);
    // GraphiQL learns a moment late which operations a new text has: the name may be of one that is gone.
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
  cost.onResponse(response);
  let result: Result;
  try {
    result = parseExactly(text) as Result;
  } catch {
    return failed(errorMessage(text, response));
  }
  return cost.takeCost(result);
}

/** The results of a subscription until it is stopped. */
function subscribe(
  query: string,
  variablesText: string,
  operationName: string | null | undefined,
  headers: Record<string, string>,
): AsyncIterableIterator<never> {
  const aborter = new AbortController();
  let results: AsyncGenerator<unknown, void> | undefined;
  let isOver = false;
  const end = { done: true, value: undefined } as const;
  const iterator = {
    next: async (): Promise<IteratorResult<never>> => {
      if (isOver) return end;
      try {
        results ??= resultsOf(bodyOf(query, variablesText, operationName), headers, aborter.signal);
        const result = (await results.next()) as IteratorResult<never>;
        return isOver ? end : result;
      } catch (error) {
        // Whoever stops it needs no error.
        if (isOver) return end;
        isOver = true;
        const words = error instanceof SyntaxError ? invalidVariables(error) : await describeFailure(error);
        return { done: false, value: failed(words) as never };
      }
    },
    // At once, not when the next event comes: that may be never.
    return: async () => {
      isOver = true;
      aborter.abort();
      return end;
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

const invalidVariables = ({ message }: SyntaxError): string => `The variables are not valid JSON: ${message}`;
