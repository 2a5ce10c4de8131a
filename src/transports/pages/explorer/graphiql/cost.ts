import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  validate,
} from 'graphql';
import { MAX_COST } from '../../../../foundation/pricing.ts';
import { apiKey } from '../key.ts';
import { Observable } from '../observable.ts';
import { errorMessage, windowAt } from '../server.ts';
import { counted } from '../words.ts';
import { tryParseJSONC } from './jsonc.ts';
import { listsIn, type PagedList, resized } from './lists.ts';
import { bodyOf, headersFor, operationAt, withFragments } from './request.ts';

/** How long typing must pause before the cost is requested, in milliseconds. */
const DEBOUNCE_TIME = 400;
/** The part of the limit that a suggestion should use: exact ones would take more requests than the server answers in a second. */
const CLOSE_ENOUGH = 0.9;

/** The cost of an operation. */
export interface Quote {
  kind: 'none' | 'asking' | 'known' | 'refused';
  /** As one line, also for screen readers. */
  text: string;
  /** If it is known. */
  units?: number;
  reasons?: Reasons;
}

/** Why an operation costs what it costs. */
export interface Reasons {
  /** Largest first. */
  lists: readonly PagedList[];
  /** A smaller page of one list with which the operation fits the maximum and what is left this minute. */
  suggestion?: Suggestion | undefined;
}

interface Suggestion {
  path: string;
  size: number;
  units: number;
}

export interface CostState {
  quote: Quote;
  /** Units charged for the last run. */
  ran: number | undefined;
  /** Events received by the subscription that runs, if one does. */
  events: number | undefined;
  /** The operation that the quote applies to. */
  subject: Subject | undefined;
}

/** An operation in the editor, with its variables. */
export interface Subject {
  operation: OperationDefinitionNode;
  /** With its fragments, and nothing else. */
  document: DocumentNode;
  variables: Record<string, unknown>;
  body: string;
}

const none = (text: string): Quote => ({ kind: 'none', text });
const NO_KEY = none('Enter an API key to see costs.');

/** The cost of the operation under the cursor, and of the last run. */
class Cost extends Observable {
  #state: CostState = { quote: NO_KEY, ran: undefined, events: undefined, subject: undefined };
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
    const subject = subjectOf(query, variablesText, offset, schema);
    if (typeof subject === 'string') {
      this.#forget();
      this.#set({ quote: none(subject), subject: undefined });
      return;
    }
    if (apiKey.state.kind !== 'accepted') {
      this.#forget();
      const quote = apiKey.state.kind === 'refused' ? none(apiKey.state.message) : NO_KEY;
      this.#set({ quote, subject, ...(apiKey.state.kind !== 'checking' && { ran: undefined }) });
      return;
    }
    const requestKey = `${apiKey.value} ${subject.body}`;
    if (requestKey === this.#requested) return;
    this.#requested = requestKey;
    clearTimeout(this.#timer);
    this.#set({ quote: { kind: 'asking', text: 'Requesting the cost …' }, subject });
    this.#timer = setTimeout(() => void this.#ask(requestKey, subject, schema), DEBOUNCE_TIME);
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#requested = undefined;
  }

  async #ask(requestKey: string, subject: Subject, schema: GraphQLSchema | null | undefined): Promise<void> {
    const { quote, isFinal, isPriced } = await quoteOf(subject.body);
    // The text has changed, and a newer request is on its way.
    if (requestKey !== this.#requested) return;
    // The server was unavailable or limiting requests, so try again next time.
    if (!isFinal) this.#requested = undefined;
    this.#set({ quote });
    if (!schema || !isPriced) return;
    const reasons = await reasonsFor(subject, schema, quote);
    if (requestKey === this.#requested) this.#set({ quote: { ...quote, reasons } });
  }

  /** Shows how many events a subscription has received; undefined when it has ended. */
  onEvents(events: number | undefined): void {
    this.#set({ events });
  }

  /** Records the cost reported in a result. @returns the result without the extension we requested */
  takeCost<T extends { extensions?: Record<string, unknown> }>(result: T): T {
    const { rateLimit, ...others } = (result.extensions ?? {}) as Record<string, never>;
    if (rateLimit === undefined) return result;
    this.#set({ ran: (rateLimit as { cost: number }).cost });
    const { extensions: _removed, ...shown } = result;
    return (Object.keys(others).length > 0 ? { ...shown, extensions: others } : shown) as T;
  }

  #set(change: Partial<CostState>): void {
    this.#state = { ...this.#state, ...change };
    this.changed();
  }
}

interface Answer {
  quote: Quote;
  /** Whether asking again would give the same answer. */
  isFinal: boolean;
  /** Whether the operation has a price, if only one that is too high. */
  isPriced: boolean;
}

/** Asks the server for the cost of an operation. */
async function quoteOf(body: string): Promise<Answer> {
  try {
    const response = await apiKey.fetch('/graphql/cost', { method: 'POST', headers: headersFor(), body });
    const text = await response.text();
    if (response.ok) {
      const { cost: units } = JSON.parse(text);
      const said = units === 0 ? 'Costs nothing' : `Costs ${counted(units, 'unit')}`;
      return { quote: { kind: 'known', text: said, units }, isFinal: true, isPriced: true };
    }
    return {
      quote: { kind: 'refused', text: errorMessage(text, response) },
      isFinal: response.status === 400,
      isPriced: text.includes('QUERY_TOO_COMPLEX'),
    };
  } catch (error) {
    const text = (error as Error).message;
    return { quote: { kind: 'refused', text }, isFinal: false, isPriced: false };
  }
}

/** Explains a quote by the lists of the operation. */
async function reasonsFor(subject: Subject, schema: GraphQLSchema, { units }: Quote): Promise<Reasons> {
  const { lists, document } = listsIn(schema, subject.document, subject.variables);
  const { state } = apiKey;
  const left = state.kind === 'accepted' ? windowAt(state.budget.minute, Date.now()).remaining : MAX_COST;
  const limit = Math.min(MAX_COST, Math.max(1, left));
  const fits = units !== undefined && units <= limit;
  return { lists, suggestion: fits ? undefined : await smallerPage(subject, document, lists, limit) };
}

/** Looks for a page with which the operation costs nearly as much as it may. The server has confirmed it. */
async function smallerPage(
  { variables, operation: { name } }: Subject,
  document: DocumentNode,
  lists: readonly PagedList[],
  limit: number,
): Promise<Suggestion | undefined> {
  for (const list of lists) {
    let suggestion: Suggestion | undefined;
    let low = 0;
    let high = list.size;
    let size = 1;
    while (high - low > 1 && (suggestion?.units ?? 0) < limit * CLOSE_ENOUGH) {
      const query = print(resized(document, list, size));
      const { units = Infinity } = (await quoteOf(bodyOf(query, variables, name?.value))).quote;
      if (units <= limit) {
        suggestion = { path: list.path, size, units };
        low = size;
      } else high = size;
      size = Math.floor((low + high) / 2);
    }
    if (suggestion) return suggestion;
  }
  return undefined;
}

/** @returns why the operation cannot run, if it cannot */
function subjectOf(
  query: string,
  variablesText: string,
  offset: number,
  schema: GraphQLSchema | null | undefined,
): Subject | string {
  if (query.replaceAll(/#.*$/gm, '').trim() === '') return 'Write an operation to see its cost.';
  let document: DocumentNode;
  try {
    document = parse(query);
  } catch (error) {
    return syntaxProblem(error);
  }
  const operation = operationAt(document, offset);
  if (!operation) return 'There are only fragments, no operation.';
  const error = schema ? validate(schema, document)[0] : undefined;
  if (error) return error.message;
  try {
    const given = tryParseJSONC(variablesText);
    const variables = given ?? {};
    const absent = operation.variableDefinitions?.find(
      ({ variable, type, defaultValue }) =>
        type.kind === Kind.NON_NULL_TYPE &&
        !defaultValue &&
        (variables[variable.name.value] ?? null) === null,
    );
    if (absent) return `The variable $${absent.variable.name.value} has no value yet.`;
    const own = withFragments(document, operation);
    const body = bodyOf(print(own), given, operation.name?.value);
    return { operation, document: own, variables, body };
  } catch {
    return 'The variables are not valid JSON.';
  }
}

/** Tells text that ends too early from text that is wrong. */
function syntaxProblem(error: unknown): string {
  if (!(error instanceof GraphQLError)) return String(error);
  if (error.message.includes('<EOF>')) return 'The operation is incomplete.';
  const [place] = error.locations ?? [];
  return `${error.message.replace(/\.$/, '')}${place ? ` in line ${place.line}, column ${place.column}` : ''}.`;
}

export const cost = new Cost();
