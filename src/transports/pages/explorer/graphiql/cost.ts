import {
  type DocumentNode,
  GraphQLError,
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
class Cost extends Observable {
  #state: CostState = { quote: NO_KEY, run: undefined, events: undefined, body: undefined };
  #requested: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  get state(): CostState {
    return this.#state;
  }

  /**
   * Requests the cost of the operation under the cursor once typing pauses. Never requests the same operation
   * twice in a row, nor one that cannot run.
   *
   * @param offset the position of the cursor
   */
  update(
    query: string,
    variablesText: string,
    offset: number,
    schema: GraphQLSchema | null | undefined,
  ): void {
    const { body, problem } = bodyAt(query, variablesText, offset, schema);
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
    this.#state = { ...this.#state, ...change };
    this.changed();
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
    const text = await response.text();
    if (response.ok) {
      const { cost: units } = JSON.parse(text);
      return {
        quote: { kind: 'known', text: units === 0 ? 'Costs nothing' : `Costs ${counted(units, 'unit')}` },
      };
    }
    const said = messageOf(text, response);
    if (text.includes('"QUERY_TOO_COMPLEX"')) return { quote: { kind: 'refused', text: said } };
    const retryAfter = Number(response.headers.get('retry-after') ?? 0);
    return { quote: none(said), ...(response.status === 429 && { retryAfter }) };
  } catch (error) {
    return { quote: none((error as Error).message) };
  }
}

/** The body of a request with the operation at a position, or why it cannot run. */
function bodyAt(
  query: string,
  variablesText: string,
  offset: number,
  schema: GraphQLSchema | null | undefined,
): { body?: string; problem?: string } {
  if (query.replaceAll(/#.*$/gm, '').trim() === '') return { problem: 'Write an operation to see its cost.' };
  let document: DocumentNode;
  try {
    document = parse(query);
  } catch (error) {
    return { problem: syntaxProblem(error) };
  }
  const operation = operationAt(document, offset);
  if (!operation) return { problem: 'There are only fragments, no operation.' };
  const error = schema ? validate(schema, document)[0] : undefined;
  if (error) return { problem: error.message };
  const faults: unknown[] = [];
  const given = parseJsonc(variablesText, faults as never, {
    allowTrailingComma: true,
    allowEmptyContent: true,
  });
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

/** Tells text that ends too early from text that is wrong. */
function syntaxProblem(error: unknown): string {
  if (!(error instanceof GraphQLError)) return String(error);
  if (error.message.includes('<EOF>')) return 'The operation is incomplete.';
  const [place] = error.locations ?? [];
  return `${error.message.replace(/\.$/, '')}${place ? ` in line ${place.line}, column ${place.column}` : ''}.`;
}

export const cost = new Cost();
