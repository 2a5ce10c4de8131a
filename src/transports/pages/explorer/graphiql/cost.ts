import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
  validate,
} from 'graphql';
import { apiKey } from '../key.ts';
import { type Budget, budgetOf, describeFailure, errorMessage, windowAt } from '../server.ts';
import { estimate, type PricedList, pricing, smaller } from './pricing.ts';
import { bodyOf, canonical, headersFor, operationAt, variablesOf } from './request.ts';

/** How long typing must pause before the cost is requested, in milliseconds. */
const DEBOUNCE_TIME = 400;

/** The cost of an operation. */
export type Quote =
  | { kind: 'none'; reason: string }
  | { kind: 'asking' }
  | { kind: 'known'; units: number; reasons?: Reasons | undefined }
  | { kind: 'refused'; message: string; isTooComplex: boolean; reasons?: Reasons | undefined };

/** Why an operation costs what it costs. */
export interface Reasons {
  /** Most expensive first. */
  lists: readonly PricedList[];
  maxCost: number;
  entriesPerUnit: number;
  weightPerUnit: number;
  /** Units, also above the maximum. */
  units: number;
  /** A smaller page of one list with which the operation fits the maximum and what is left this minute. */
  suggestion?: { path: string; first: number; units: number } | undefined;
}

export interface CostState {
  quote: Quote;
  budget: Budget | undefined;
  /** Units charged for the last run. */
  ran: number | undefined;
  /** Events received by the subscription that runs, if one does. */
  events: number | undefined;
  /** The operation that the quote applies to. */
  subject: Subject | undefined;
}

/** An operation in the editor, with its variables. */
export interface Subject {
  document: DocumentNode;
  operation: OperationDefinitionNode;
  variables: Record<string, unknown>;
  body: string;
}

const NO_KEY = 'Enter an API key to see costs.';

/** The cost of the operation under the cursor, the remaining budget, and the cost of the last run. */
class Cost {
  #state: CostState = {
    quote: { kind: 'none', reason: NO_KEY },
    budget: undefined,
    ran: undefined,
    events: undefined,
    subject: undefined,
  };
  #asked: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #listeners = new Set<() => void>();

  constructor() {
    apiKey.subscribe(() => {
      const { state } = apiKey;
      if (state.kind === 'accepted') this.#set({ budget: state.budget });
      else if (state.kind !== 'checking') this.#set({ budget: undefined, ran: undefined });
    });
  }

  get state(): CostState {
    return this.#state;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

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
      this.#set({ quote: { kind: 'none', reason: subject }, subject: undefined });
      return;
    }
    if (apiKey.state.kind !== 'accepted') {
      this.#forget();
      const reason = apiKey.state.kind === 'refused' ? apiKey.state.message : NO_KEY;
      this.#set({ quote: { kind: 'none', reason }, subject });
      return;
    }
    const requestKey = `${apiKey.value} ${subject.body}`;
    if (requestKey === this.#asked) return;
    this.#asked = requestKey;
    clearTimeout(this.#timer);
    this.#set({ quote: { kind: 'asking' }, subject });
    this.#timer = setTimeout(() => void this.#ask(requestKey, subject, schema), DEBOUNCE_TIME);
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#asked = undefined;
  }

  async #ask(requestKey: string, subject: Subject, schema: GraphQLSchema | null | undefined): Promise<void> {
    const { quote, budget, isFinal } = await quoteOf(subject.body);
    // The text has changed, and a newer request is on its way.
    if (requestKey !== this.#asked) return;
    // The server was unavailable or limiting requests, so try again next time.
    if (!isFinal) this.#asked = undefined;
    this.#set(budget ? { quote, budget } : { quote });
    if (!schema || (quote.kind !== 'known' && !quote.isTooComplex)) return;
    const reasons = await reasonsFor(subject, schema, quote, this.#state.budget);
    if (requestKey === this.#asked) this.#set({ quote: { ...quote, reasons } });
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
    for (const listener of this.#listeners) listener();
  }
}

interface Answer {
  quote: Extract<Quote, { kind: 'known' | 'refused' }>;
  budget?: Budget;
  /** Whether asking again would give the same answer. */
  isFinal: boolean;
}

/** Asks the server for the cost of an operation. */
async function quoteOf(body: string): Promise<Answer> {
  try {
    const response = await fetch('/graphql/cost', { method: 'POST', headers: headersFor(), body });
    const text = await response.text();
    if (response.ok) {
      const known = JSON.parse(text);
      return { quote: { kind: 'known', units: known.cost }, budget: budgetOf(known), isFinal: true };
    }
    const isFinal = response.status === 400;
    const isTooComplex = isFinal && text.includes('QUERY_TOO_COMPLEX');
    return { quote: { kind: 'refused', message: errorMessage(text, response), isTooComplex }, isFinal };
  } catch (error) {
    const message = await describeFailure(error);
    return { quote: { kind: 'refused', message, isTooComplex: false }, isFinal: false };
  }
}

/** Explains a quote by the server's prices. A suggestion is shown only if the server confirms it. */
async function reasonsFor(
  { document, operation, variables }: Subject,
  schema: GraphQLSchema,
  quote: Answer['quote'],
  budget: Budget | undefined,
): Promise<Reasons | undefined> {
  const prices = await pricing();
  if (!prices) return undefined;
  const { lists, units: estimated } = estimate(prices, schema, document, operation, variables);
  const units = quote.kind === 'known' ? quote.units : estimated;
  const { maxCost, entriesPerUnit, weightPerUnit } = prices;
  const reasons: Reasons = { lists, maxCost, entriesPerUnit, weightPerUnit, units };
  const left = budget ? windowAt(budget.minute, Date.now()).remaining : maxCost;
  const limit = Math.min(maxCost, Math.max(1, left));
  if (units <= limit) return reasons;
  const made = smaller(
    limit,
    lists,
    document,
    operation,
    (changed, changedOperation) => estimate(prices, schema, changed, changedOperation, variables).units,
  );
  if (!made) return reasons;
  const text = JSON.stringify(variables, (_name, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  const name = made.operation.name?.value;
  const { quote: confirmed } = await quoteOf(bodyOf(canonical(made.document, made.operation), text, name));
  return confirmed.kind === 'known' && confirmed.units <= limit
    ? { ...reasons, suggestion: { path: made.list.path, first: made.first, units: confirmed.units } }
    : reasons;
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
    const variables = variablesOf(variablesText);
    const absent = operation.variableDefinitions?.find(
      ({ variable, type, defaultValue }) =>
        type.kind === Kind.NON_NULL_TYPE &&
        !defaultValue &&
        (variables[variable.name.value] ?? null) === null,
    );
    if (absent) return `The variable $${absent.variable.name.value} has no value yet.`;
    const body = bodyOf(canonical(document, operation), variablesText, operation.name?.value);
    return { document, operation, variables, body };
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
