import type { Fetcher } from '@graphiql/toolkit';
import { getOperationAST } from 'graphql';
import { createClient, NetworkError } from 'graphql-sse';
import { parseExactly } from '../exact-json.ts';
import { saidBy, UNREACHABLE, wordsOf } from '../server.ts';
import { cost } from './cost.ts';
import { bodyOf, headersFor, parsed } from './request.ts';

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
    return failed(
      error instanceof SyntaxError ? `The variables are not valid JSON: ${error.message}` : UNREACHABLE,
    );
  }
  cost.answered(response);
  let result: Result;
  try {
    result = parseExactly(text) as Result;
  } catch {
    return failed(saidBy(text, response));
  }
  return cost.ran(result);
}

/** GraphQL over SSE, in the mode of distinct connections. */
function subscribe(
  query: string,
  variablesText: string,
  operationName: string | null | undefined,
  headers: Record<string, string>,
): AsyncIterableIterator<never> {
  const { variables } = JSON.parse(bodyOf(query, variablesText));
  // The client names the type of the body itself; twice is a type of its own.
  const { 'Content-Type': _type, ...others } = headers;
  const client = createClient({ url: '/graphql', headers: others, retryAttempts: 0 });
  const results = client.iterate({ query, variables, ...(operationName && { operationName }) });
  let isOver = false;
  const end = { done: true, value: undefined } as const;
  const iterator = {
    next: async (): Promise<IteratorResult<never>> => {
      if (isOver) return end;
      try {
        return (await results.next()) as IteratorResult<never>;
      } catch (error) {
        // Whoever stops it needs no error.
        if (isOver) return end;
        isOver = true;
        return { done: false, value: failed(await wordsOfStream(error)) as never };
      }
    },
    // At once, not when the next event comes: that may be never.
    return: async () => {
      isOver = true;
      client.dispose();
      return end;
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

const wordsOfStream = (error: unknown): Promise<string> =>
  wordsOf(error instanceof NetworkError && error.response instanceof Response ? error.response : error);
