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
import { Observable } from '../browser.ts';
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

/** The last run. */
export interface Run {
  /** Units charged, if the server says so. */
  units?: number | undefined;
  status: number;
  /** Until the whole answer was here. */
  milliseconds: number;
  /** Characters of the answer. */
  size: number;
}

/** What is in the editors. */
interface Written {
  query: string;
  variables: string;
  /** The position of the cursor. */
  offset: number;
  schema: GraphQLSchema | null | undefined;
}

export interface CostState {
  quote: Quote;
  run: Run | undefined;
  /** Events received by the subscription that runs, if one does. */
  events: number | undefined;
  /** The body of a request with the operation under the cursor, if it can run. */
  body: string | undefined;
}

const none = (text: string): Quote => ({ kind: 'none', text });
const NO_KEY = none('Enter an API key to see costs.');

/** The cost of the operation under the cursor, and of the last run. */
class Cost extends Observable<CostState> {
  #requested: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super({ quote: NO_KEY, run: undefined, events: undefined, body: undefined });
  }

  /**
   * Requests the cost of the operation under the cursor once typing pauses. Never requests the same operation
   * twice in a row, nor one that cannot run.
   */
  update(written: Written): void {
    const { body, problem } = bodyOfOne(written);
    const { state } = apiKey;
    if (body === undefined || state.kind !== 'accepted') {
      clearTimeout(this.#timer);
      this.#requested = undefined;
      const reason = problem ?? (state.kind === 'refused' ? state.message : undefined);
      this.set({ quote: reason === undefined ? NO_KEY : none(reason), body });
      return;
    }
    const requested = `${apiKey.value} ${body}`;
    if (requested === this.#requested) return;
    this.#requested = requested;
    clearTimeout(this.#timer);
    this.set({ quote: { kind: 'asking', text: 'Requesting the cost …' }, body });
    this.#timer = setTimeout(() => void this.#ask(requested, body), DEBOUNCE_TIME);
  }

  async #ask(requested: string, body: string): Promise<void> {
    const { quote, retryAfter } = await quoteOf(body);
    // The text has changed, and a newer request is on its way.
    if (requested !== this.#requested) return;
    this.set({ quote });
    if (retryAfter !== undefined)
      this.#timer = setTimeout(() => void this.#ask(requested, body), retryAfter * 1_000);
  }

  set(change: Partial<CostState>): void {
    this.settle({ ...this.state, ...change });
  }
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

/** The body of a request with the operation under the cursor, or why it cannot run. */
function bodyOfOne({ query, variables, offset, schema }: Written): { body?: string; problem?: string } {
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

export const cost = new Cost();
