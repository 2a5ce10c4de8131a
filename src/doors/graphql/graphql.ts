import { isUtf8 } from 'node:buffer';
import type { Plugin, YogaServerInstance } from 'graphql-yoga';
import { type Expected, PRICE_OF_FAILURE, type Session } from '../../access/session.ts';
import { AppError } from '../../errors.ts';
import { type Admission, type Admitted, admit } from '../../graphql/admission.ts';
import { shownBudget } from '../../graphql/budget.ts';
import { newContext } from '../../graphql/context.ts';
import type { PublicResult } from '../../graphql/execute.ts';
import type { Operations } from '../../graphql/operations.ts';
import { OperationRefused, publicError } from '../../graphql/refusal.ts';
import { schema } from '../../graphql/schema.ts';
import { type Answer, errorHeaders } from '../../http/answer.ts';
import { checkLength, readBody } from '../../http/body.ts';
import type { Exchange } from '../../http/exchange.ts';
import { checkIdempotencyKey, idempotencyOf } from '../../http/idempotency-key.ts';
import { parseJson } from '../../http/json.ts';
import { accepts, isReadable } from '../../http/media-type.ts';

export const GRAPHQL_PATH = '/graphql';
/** Answers what a request would cost. */
export const COST_PATH = '/graphql/cost';
const METHODS = 'GET, HEAD, POST, OPTIONS';
const COST_METHODS = 'POST, OPTIONS';
const JSON_TYPES = ['application/json', 'application/graphql+json'];
const BODY_TYPES = [...JSON_TYPES, 'application/graphql', 'application/x-www-form-urlencoded'];
const RESPONSE_TYPES = ['application/json', 'application/graphql-response+json'];
const ALL_RESPONSE_TYPES = [...RESPONSE_TYPES, 'multipart/mixed', 'text/event-stream'];

/** What travels through Yoga with one request. */
interface YogaSession {
  exchange: Exchange;
  session: Session;
  /** Read here, without loss: Yoga's own parsers round long numbers. */
  parameters: unknown;
  mutations: boolean;
  admission?: Admission;
  results: Map<unknown, Promise<PublicResult>>;
  failure?: unknown;
}

/** Yoga copies its server context, so what is written to must hang one level deeper. */
interface YogaContext {
  carried: YogaSession;
}

/**
 * The GraphQL door. Yoga is the reference for GraphQL over HTTP and serves whatever is unusual; the common case, JSON in
 * a POST and JSON out, is served here without it. Both admit, charge and execute the same way, and a test holds the one
 * against the other.
 */
export class GraphQLDoor {
  readonly #operations: Operations;
  #yoga: Promise<YogaServerInstance<YogaContext, object>> | undefined;
  readonly #alwaysYoga: boolean;

  /** @param options `alwaysYoga` sends the common case through Yoga too: the reference of the tests */
  constructor(operations: Operations, { alwaysYoga = false } = {}) {
    this.#operations = operations;
    this.#alwaysYoga = alwaysYoga;
  }

  expect(exchange: Exchange): Expected {
    return exchange.path === COST_PATH ? 'free' : 'perhaps free';
  }

  /** @throws AppError for what fails before anything is executed; it may not be charged yet */
  async answer(exchange: Exchange, session: Session): Promise<Answer> {
    if (exchange.path === COST_PATH) return this.#cost(exchange, session);
    const { headers, method } = exchange;
    exchange.allow = METHODS;
    if (method === 'OPTIONS') {
      await session.charge(PRICE_OF_FAILURE);
      return { status: 204, headers: ['Allow', METHODS], body: '' };
    }
    if (method !== 'POST' && method !== 'GET' && method !== 'HEAD') {
      throw new AppError('METHOD_NOT_ALLOWED', `${exchange.path} answers ${METHODS}, not ${method}.`);
    }
    if (!accepts(headers.accept, ALL_RESPONSE_TYPES)) {
      throw new AppError('NOT_ACCEPTABLE', `GraphQL answers with ${RESPONSE_TYPES.join(' or ')}.`);
    }
    if (method !== 'POST') return this.#throughYoga(exchange, session, undefined);
    checkIdempotencyKey(headers['idempotency-key']);
    const body = await this.#body(exchange, BODY_TYPES);
    const isCommon =
      isReadable(headers['content-type'], JSON_TYPES) && responseType(headers.accept) !== undefined;
    if (!isCommon || this.#alwaysYoga) {
      return this.#throughYoga(exchange, session, body);
    }
    const admission = admit(this.#operations, parseJson(body), true);
    exchange.operation = nameOf(admission);
    await session.admit(admission.cost, admission.mutations);
    return this.#execute(exchange, session, admission);
  }

  /** What a request would cost and what is left to pay it with. Nothing of it runs. */
  async #cost(exchange: Exchange, session: Session): Promise<Answer> {
    const { headers, method } = exchange;
    exchange.allow = COST_METHODS;
    await session.admitFree();
    if (method === 'OPTIONS') return { status: 204, headers: ['Allow', COST_METHODS], body: '' };
    if (method !== 'POST') {
      throw new AppError('METHOD_NOT_ALLOWED', `${exchange.path} answers ${COST_METHODS}, not ${method}.`);
    }
    if (!accepts(headers.accept, RESPONSE_TYPES)) {
      throw new AppError('NOT_ACCEPTABLE', 'The cost is told in application/json.');
    }
    const admission = admit(this.#operations, parseJson(await this.#body(exchange, JSON_TYPES)), true);
    exchange.operation = nameOf(admission);
    const { batch, cost, operations } = admission;
    const [operation] = operations;
    if (!batch && operation instanceof OperationRefused) {
      return {
        status: 400,
        headers: [],
        body: JSON.stringify({ errors: operation.errors }),
        contentType: `${responseType(headers.accept) ?? RESPONSE_TYPES[0]}; charset=utf-8`,
      };
    }
    return { status: 200, headers: [], body: JSON.stringify(shownBudget(session.budget(cost))) };
  }

  /** @throws PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, BAD_REQUEST */
  async #body(exchange: Exchange, types: readonly string[]): Promise<Buffer> {
    const { request, headers } = exchange;
    checkLength(request);
    if (
      !isReadable(headers['content-type'], types) ||
      (headers['content-encoding'] ?? 'identity') !== 'identity'
    ) {
      throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'GraphQL reads application/json in UTF-8.');
    }
    return readBody(exchange);
  }

  async #execute(exchange: Exchange, session: Session, admission: Admission): Promise<Answer> {
    const contentType = `${responseType(exchange.headers.accept)}; charset=utf-8`;
    if (admission.batch) {
      const results = await Promise.all(
        admission.operations.map((operation, index) => run(exchange, session, operation, index)),
      );
      return {
        status: 200,
        headers: [],
        body: `[${results.map((result, i) => stringify(admission.operations[i]!, result)).join(',')}]`,
        contentType,
      };
    }
    const [operation] = admission.operations as [Admitted];
    const result = await run(exchange, session, operation, 0);
    return { status: statusOf(result), headers: [], body: stringify(operation, result), contentType };
  }

  async #throughYoga(exchange: Exchange, session: Session, body: Buffer | undefined): Promise<Answer> {
    const parameters =
      body === undefined ? readForm(exchange.query) : readParameters(exchange.headers['content-type'], body);
    const yogaSession: YogaSession = {
      exchange,
      session,
      parameters,
      mutations: body !== undefined,
      results: new Map(),
    };
    await this.load();
    const response = await (await this.#yoga!).fetch(
      `http://localhost${GRAPHQL_PATH}`,
      {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          accept: exchange.headers.accept ?? '*/*',
          ...(body !== undefined && { 'content-type': exchange.headers['content-type'] ?? JSON_TYPES[0]! }),
        },
        ...(body !== undefined && { body: body.toString('utf8') }),
      },
      { carried: yogaSession },
    );
    if (yogaSession.failure) throw yogaSession.failure;
    const { admission } = yogaSession;
    if (!admission)
      throw new AppError('BAD_REQUEST', 'A GraphQL request must have a query, which is a string.');
    exchange.operation = nameOf(admission);
    return {
      status: admission.batch ? 200 : statusOf(await yogaSession.results.values().next().value!),
      headers: [],
      body: await response.text(),
      contentType: response.headers.get('content-type') ?? 'application/json; charset=utf-8',
    };
  }

  /** Loads Yoga, which takes a good part of the start's time and most requests don't need. */
  async load(): Promise<void> {
    this.#yoga ??= this.#loadYoga();
    await this.#yoga;
  }

  async #loadYoga(): Promise<YogaServerInstance<YogaContext, object>> {
    const { createYoga } = await import('graphql-yoga');
    return createYoga<YogaContext>({
      schema,
      graphqlEndpoint: GRAPHQL_PATH,
      graphiql: false,
      landingPage: false,
      multipart: false,
      cors: false,
      logging: false,
      batching: true,
      plugins: [this.#yogaPlugin()],
    });
  }

  /** Yoga reads the request and writes the response; admission and execution are the gateway's own. */
  #yogaPlugin(): Plugin<object, YogaContext> {
    return {
      onRequestParse: ({ setRequestParser, serverContext }) => {
        const { carried } = serverContext;
        const { parameters } = carried;
        setRequestParser(() => parameters as never);
        return {
          onRequestParseDone: async ({ requestParserResult }) => {
            try {
              await this.#admitForYoga(carried, requestParserResult);
            } catch (error) {
              carried.failure = error;
              throw error;
            }
          },
        };
      },
      onParams: async ({ params, context, setResult }) => {
        const result = await (context as unknown as YogaContext).carried.results.get(params);
        if (result) setResult(result as never);
      },
    };
  }

  async #admitForYoga(yogaSession: YogaSession, parameters: unknown): Promise<void> {
    const { exchange, session } = yogaSession;
    const admission = admit(this.#operations, parameters, yogaSession.mutations);
    await session.admit(admission.cost, admission.mutations);
    yogaSession.admission = admission;
    const requests = admission.batch ? (parameters as unknown[]) : [parameters];
    admission.operations.forEach((operation, index) => {
      yogaSession.results.set(requests[index], run(exchange, session, operation, index, true));
    });
  }
}

/**
 * Runs the nth operation of a request, or says why it can't run.
 *
 * @param reference whether with the interpreter of graphql-js
 */
async function run(
  exchange: Exchange,
  session: Session,
  operation: Admitted,
  index: number,
  reference = false,
): Promise<PublicResult> {
  const extensions = extensionsOf(exchange, session);
  const more = extensions && { extensions };
  if (operation instanceof OperationRefused) return { errors: [...operation.errors], ...more };
  const context = newContext(session, {
    cost: operation.price,
    idempotency: idempotencyOf(exchange, index),
  });
  try {
    const { errors, data } = await (reference ? operation.interpret(context) : operation.execute(context));
    return errors ? { errors, data: data ?? null, ...more } : { data: data ?? null, ...more };
  } catch (error) {
    if (error instanceof OperationRefused) return { errors: [...error.errors], ...more };
    throw error;
  }
}

const stringify = (operation: Admitted, result: PublicResult): string =>
  operation instanceof OperationRefused ? JSON.stringify(result) : operation.stringify(result);

/** What the request cost and what is left, for clients that ask for it. */
function extensionsOf(exchange: Exchange, session: Session): Record<string, unknown> | undefined {
  if (exchange.headers['x-ratelimit-extension'] !== 'on') return undefined;
  return { rateLimit: shownBudget(session.budget(session.units)) };
}

/** 200 once the operation ran; the errors of one that can't are all of one status. */
const statusOf = (result: PublicResult): number => ('data' in result ? 200 : 400);

function nameOf({ operations }: Admission): string | undefined {
  const names = operations
    .map((one) => (one instanceof OperationRefused ? '' : one.operation.name?.value))
    .filter(Boolean);
  return names.length > 0 ? names.join(',') : undefined;
}

/** The type that Yoga would answer an Accept header with: the first one listed; undefined where it would stream. */
export function responseType(accept: string | undefined): string | undefined {
  if (accept === undefined || accept === '' || accept === '*/*' || accept === 'application/json')
    return RESPONSE_TYPES[0];
  for (const part of accept.toLowerCase().split(',')) {
    const type = part.split(';')[0]!.trim();
    if (type === '*/*' || type === 'application/*') return RESPONSE_TYPES[0];
    if (RESPONSE_TYPES.includes(type)) return type;
  }
  return undefined;
}

/** An error before execution: `errors` and no `data`, with the error's own HTTP status whatever the Accept. */
export function graphqlErrorAnswer(error: AppError, exchange: Exchange): Answer {
  return {
    status: error.status,
    headers: errorHeaders(error, exchange),
    body: JSON.stringify({ errors: [publicError(error)] }),
    contentType: `${responseType(exchange.headers.accept) ?? RESPONSE_TYPES[0]}; charset=utf-8`,
  };
}

/** The parameters in a body of one of BODY_TYPES. @throws BAD_REQUEST */
function readParameters(contentType: string | undefined, body: Buffer): unknown {
  if (isReadable(contentType, JSON_TYPES)) return parseJson(body);
  if (!isUtf8(body)) throw new AppError('BAD_REQUEST', 'The body is not valid UTF-8.');
  const text = body.toString('utf8');
  return isReadable(contentType, ['application/graphql']) ? { query: text || undefined } : readForm(text);
}

/** The parameters of GraphQL over GET, integers exact. @throws BAD_REQUEST for variables that are no JSON */
function readForm(form: string): unknown {
  const given = new URLSearchParams(form);
  const json = (name: string) => {
    const text = given.get(name);
    return text === null || text === '' ? undefined : parseJson(Buffer.from(text));
  };
  return {
    query: given.get('query') ?? undefined,
    operationName: given.get('operationName') ?? undefined,
    variables: json('variables'),
    extensions: json('extensions'),
  };
}
