import { tryParseJSONC } from '@graphiql/react';
import { GraphQLError, type GraphQLSchema, Kind, parse, print, separateOperations, validate } from 'graphql';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { MOUNT } from '../browser.ts';
import { apiKey } from '../key.ts';
import { messageOf } from '../responses.ts';
import { counted } from '../../../../foundation/words.ts';

/** The pause in typing before the cost is requested, in milliseconds. */
const DEBOUNCE_TIME = 400;

/** The cost of an operation. */
interface Quote {
  /** `refused` if it is too expensive. */
  kind: 'none' | 'known' | 'refused';
  /** A line of text, also for screen readers. */
  text: string;
}

const none = (text: string): Quote => ({ kind: 'none', text });

/**
 * The cost of an operation for the page's key, requested when typing pauses, and once per change of the operation.
 *
 * @param priced the result of {@link bodyOfOne}
 */
export function useQuote({ body, problem }: ReturnType<typeof bodyOfOne>): Quote {
  const key = useSyncExternalStore(apiKey.subscribe, () => apiKey.state);
  const [quote, setQuote] = useState(none(''));
  const ofKey = key.kind === 'refused' ? key.message : 'Enter an API key to see costs.';
  const reason = problem ?? (key.kind === 'accepted' ? undefined : ofKey);
  useEffect(() => {
    if (reason !== undefined) return setQuote(none(reason));
    let isLatest = true;
    setQuote(none('Requesting the cost …'));
    const timer = setTimeout(async () => {
      const asked = await quoteOf(body!);
      if (isLatest) setQuote(asked);
    }, DEBOUNCE_TIME);
    return () => {
      isLatest = false;
      clearTimeout(timer);
    };
    // oxlint-disable-next-line react/exhaustive-deps -- another key may have to be asked for anew
  }, [body, reason, apiKey.value]);
  return quote;
}

/** Requests the cost of an operation. */
async function quoteOf(body: string): Promise<Quote> {
  try {
    const headers = { 'Content-Type': 'application/json' };
    const response = await apiKey.fetch(`${MOUNT}/graphql/cost`, { method: 'POST', headers, body });
    const answer = await response.text();
    if (!response.ok) {
      const kind = answer.includes('"QUERY_TOO_COMPLEX"') ? 'refused' : 'none';
      return { kind, text: messageOf(answer, response) };
    }
    const { cost } = JSON.parse(answer);
    return { kind: 'known', text: cost === 0 ? 'Costs nothing' : `Costs ${counted(cost, 'unit')}` };
  } catch (error) {
    return none((error as Error).message);
  }
}

/**
 * The body of a request with the operation at the cursor (the last that starts before it, else the first), or the
 * reason why it cannot run.
 */
export function bodyOfOne(
  query: string,
  variables: string,
  cursor: number,
  schema: GraphQLSchema | null | undefined,
): { body?: string; problem?: string } {
  try {
    const document = parse(query);
    const operations = document.definitions.filter(
      (definition) => definition.kind === Kind.OPERATION_DEFINITION,
    );
    const operation = operations.findLast(({ loc }) => loc!.start <= cursor) ?? operations[0];
    if (!operation) return { problem: 'There are only fragments, no operation.' };
    const [error] = schema ? validate(schema, document) : [];
    if (error) return { problem: error.message };
    const operationName = operation.name?.value;
    const own = print(separateOperations(document)[operationName ?? '']!);
    return { body: JSON.stringify({ query: own, operationName, variables: tryParseJSONC(variables) }) };
  } catch (error) {
    const { message } = error as Error;
    if (message.includes('<EOF>')) return { problem: 'The operation is incomplete.' };
    if (!(error instanceof GraphQLError)) return { problem: `Variables ${message}` };
    const [{ line, column }] = error.locations as [{ line: number; column: number }];
    return { problem: `${message.replace(/\.$/, '')} in line ${line}, column ${column}.` };
  }
}
