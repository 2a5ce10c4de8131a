import {
  type DocumentNode,
  type GraphQLError,
  type GraphQLSchema,
  Kind,
  parse,
  print,
  separateOperations,
  validate,
} from 'graphql';
import { parse as parseJsonc } from 'jsonc-parser';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { apiKey } from '../key.ts';
import { messageOf } from '../server.ts';
import { counted } from '../words.ts';
import { bodyOf, headersFor, operationAt } from './request.ts';

/** How long typing must pause before the cost is requested, in milliseconds. */
const DEBOUNCE_TIME = 400;

/** The cost of an operation. */
export interface Quote {
  /** `refused` if it is too expensive. */
  kind: 'none' | 'asking' | 'known' | 'refused';
  /** As one line, also for screen readers. */
  text: string;
}

const none = (text: string): Quote => ({ kind: 'none', text });

/**
 * The cost of an operation with the page's key, requested once typing pauses, and never for the same operation twice in a
 * row.
 *
 * @param priced from {@link bodyOfOne}
 */
export function useQuote({ body, problem }: ReturnType<typeof bodyOfOne>): Quote {
  const key = useSyncExternalStore(apiKey.subscribe, () => apiKey.state);
  const [quote, setQuote] = useState(none(''));
  const ofKey = key.kind === 'refused' ? key.message : 'Enter an API key to see costs.';
  const reason = problem ?? (key.kind === 'accepted' ? undefined : ofKey);
  useEffect(() => {
    if (reason !== undefined) return setQuote(none(reason));
    let isLatest = true;
    const ask = async () => {
      const { quote, retryAfter } = await quoteOf(body!);
      // The text has changed, and a newer request is on its way.
      if (!isLatest) return;
      setQuote(quote);
      if (retryAfter !== undefined) timer = setTimeout(ask, retryAfter * 1_000);
    };
    setQuote({ kind: 'asking', text: 'Requesting the cost …' });
    let timer = setTimeout(ask, DEBOUNCE_TIME);
    return () => {
      isLatest = false;
      clearTimeout(timer);
    };
    // oxlint-disable-next-line react/exhaustive-deps -- another key may have to be asked for anew
  }, [body, reason, apiKey.value]);
  return quote;
}

/**
 * Asks the server for the cost of an operation.
 *
 * @returns also the seconds after which to ask again, if it cannot say now
 */
async function quoteOf(body: string): Promise<{ quote: Quote; retryAfter?: number }> {
  try {
    const response = await apiKey.fetch('/graphql/cost', { method: 'POST', headers: headersFor(), body });
    const answer = await response.text();
    if (response.ok) {
      const { cost: units } = JSON.parse(answer);
      const text = units === 0 ? 'Costs nothing' : `Costs ${counted(units, 'unit')}`;
      return { quote: { kind: 'known', text } };
    }
    const said = messageOf(answer, response);
    if (answer.includes('"QUERY_TOO_COMPLEX"')) return { quote: { kind: 'refused', text: said } };
    const retryAfter = Number(response.headers.get('retry-after') ?? 0);
    return { quote: none(said), ...(response.status === 429 && { retryAfter }) };
  } catch (error) {
    return { quote: none((error as Error).message) };
  }
}

/**
 * The body of a request with the operation under the cursor, or why it cannot run.
 *
 * @param written what is in the editors, and the position of the cursor
 */
export function bodyOfOne(
  { query, variables, offset }: { query: string; variables: string; offset: number },
  schema: GraphQLSchema | null | undefined,
): { body?: string; problem?: string } {
  if (query.replaceAll(/#.*$/gm, '').trim() === '') return { problem: 'Write an operation to see its cost.' };
  let document: DocumentNode;
  try {
    document = parse(query);
  } catch (error) {
    const { message, locations: [place] = [] } = error as GraphQLError;
    if (message.includes('<EOF>')) return { problem: 'The operation is incomplete.' };
    const where = place && ` in line ${place.line}, column ${place.column}`;
    return { problem: `${message.replace(/\.$/, '')}${where ?? ''}.` };
  }
  const operation = operationAt(document, offset);
  if (!operation) return { problem: 'There are only fragments, no operation.' };
  const error = schema ? validate(schema, document)[0] : undefined;
  if (error) return { problem: error.message };
  const faults: unknown[] = [];
  const options = { allowTrailingComma: true, allowEmptyContent: true };
  const given = parseJsonc(variables, faults as never, options);
  if (faults.length > 0) return { problem: 'The variables are not valid JSON.' };
  const absent = operation.variableDefinitions?.find(
    ({ variable, type, defaultValue }) =>
      type.kind === Kind.NON_NULL_TYPE && !defaultValue && (given?.[variable.name.value] ?? null) === null,
  );
  if (absent) return { problem: `The variable $${absent.variable.name.value} has no value yet.` };
  const name = operation.name?.value;
  const own = separateOperations(document)[name ?? '']!;
  return { body: bodyOf(print(own), given, name) };
}
