import { type DocumentNode, type GraphQLSchema, Kind, type OperationDefinitionNode, validate } from 'graphql';
import { apiKey } from '../key.ts';
import { type Budget, budgetOf, describeFailure, errorMessage } from '../server.ts';
import { type ExpensiveField, expensiveFields } from './expensive.ts';
import { bodyOf, canonical, headersFor, operationAt, parsed, variablesOf } from './request.ts';

/** How long typing must pause before the cost is requested, in milliseconds. */
const DEBOUNCE_TIME = 400;

/** The cost of an operation. */
export type Quote =
  | { kind: 'none'; reason: string }
  | { kind: 'asking' }
  | { kind: 'known'; units: number }
  | { kind: 'refused'; message: string; expensive: readonly ExpensiveField[] };

export interface CostState {
  quote: Quote;
  budget: Budget | undefined;
  /** Units charged for the last run. */
  ran: number | undefined;
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
    let quote: Quote;
    let budget: Budget | undefined;
    let isFinal = true;
    try {
      const response = await fetch('/graphql/cost', {
        method: 'POST',
        headers: headersFor(),
        body: subject.body,
      });
      const text = await response.text();
      if (response.ok) {
        const body = JSON.parse(text);
        quote = { kind: 'known', units: body.cost };
        budget = budgetOf(body);
      } else {
        isFinal = response.status === 400;
        const isTooExpensive = response.status === 400 && text.includes('QUERY_TOO_COMPLEX');
        const expensive =
          isTooExpensive && schema
            ? expensiveFields(schema, subject.document, subject.operation, subject.variables)
            : [];
        quote = { kind: 'refused', message: errorMessage(text, response), expensive };
      }
    } catch (error) {
      isFinal = false;
      quote = { kind: 'refused', message: await describeFailure(error), expensive: [] };
    }
    // The text has changed, and a newer request is on its way.
    if (requestKey !== this.#asked) return;
    // The server was unavailable or limiting requests, so try again next time.
    if (!isFinal) this.#asked = undefined;
    this.#set(budget ? { quote, budget } : { quote });
  }

  /** Updates the state from the headers of a response. */
  onResponse(response: Response): void {
    if (response.status === 401) void apiKey.check();
    if (response.status !== 429) return;
    const { budget } = this.#state;
    const limit = Number(response.headers.get('x-ratelimit-limit'));
    if (!budget) return;
    const used = {
      limit,
      remaining: Number(response.headers.get('x-ratelimit-remaining')),
      resetAt: Number(response.headers.get('x-ratelimit-reset')) * 1000,
    };
    if (limit === budget.minute.limit) this.#set({ budget: { ...budget, minute: used } });
    else if (limit === budget.day.limit) this.#set({ budget: { ...budget, day: used } });
  }

  /** Records the cost reported in a result. @returns the result without the extension we requested */
  takeCost<T extends { extensions?: Record<string, unknown> }>(result: T): T {
    const { rateLimit, ...others } = (result.extensions ?? {}) as Record<string, never>;
    if (rateLimit === undefined) return result;
    this.#set({ ran: (rateLimit as { cost: number }).cost, budget: budgetOf(rateLimit) });
    const { extensions: _removed, ...shown } = result;
    return (Object.keys(others).length > 0 ? { ...shown, extensions: others } : shown) as T;
  }

  #set(change: Partial<CostState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

/** @returns why the operation cannot run, if it cannot */
function subjectOf(
  query: string,
  variablesText: string,
  offset: number,
  schema: GraphQLSchema | null | undefined,
): Subject | string {
  if (query.replaceAll(/#.*$/gm, '').trim() === '') return 'Write an operation to see its cost.';
  const document = parsed(query);
  if (!document) return 'The operation is incomplete.';
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

export const cost = new Cost();
