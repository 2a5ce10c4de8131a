import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLFormattedError,
  getOperationAST,
} from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { CostModel } from '../../../src/execution/cost.ts';
import { Literals } from '../../../src/execution/literals.ts';
import { schema } from '../../../src/execution/schema.ts';
import { select } from '../../../src/execution/selection.ts';
import { OperationVariables } from '../../../src/execution/variables.ts';
import { AppError } from '../../../src/foundation/errors.ts';
import type { Context } from '../../../src/schema/context.ts';
import { Int64IdsRule } from '../../../src/schema/id-scalar.ts';
import { Loaders } from '../../../src/schema/loaders.ts';
import type { Write } from '../../../src/schema/write.ts';
import type { Store, Transaction } from '../../../src/store/store.ts';
import { type Call, TestGateway } from '../../kit/gateway.ts';
import { sqlite } from '../../kit/petstore.ts';
import type { OpenedStore } from '../../kit/stores.ts';

/**
 * Compares the gateway with a Yoga that shares only the schema with its resolvers, the coercion of variables
 * and the cost model. That Yoga parses, validates, executes and responds on its own.
 */

const costs = new CostModel(schema);

function reference(store: Store) {
  let cost = 0;
  const refuse = ({ message, nodes, source, positions }: Partial<GraphQLError>, code: string) =>
    new GraphQLError(message ?? '', {
      nodes: nodes ?? null,
      source: source ?? null,
      positions: positions ?? null,
      extensions: { code, http: { status: 400 } },
    });
  const plugin: Plugin = {
    onParse:
      () =>
      ({ result, replaceParseResult }) => {
        if (!(result instanceof Error)) return;
        cost++;
        replaceParseResult(refuse(result, 'GRAPHQL_PARSE_FAILED') as never);
      },
    onValidate: ({ addValidationRule }) => {
      addValidationRule(Int64IdsRule as never);
      return ({ valid, result, setResult }) => {
        if (valid) return;
        cost++;
        setResult(
          (result as GraphQLError[]).map((error) =>
            refuse(error, (error.extensions.code as string) ?? 'GRAPHQL_VALIDATION_FAILED'),
          ),
        );
      };
    },
    onExecute: ({ args, setExecuteFn, setResultAndStopExecution }) => {
      const document = args.document as DocumentNode;
      const node = getOperationAST(document, args.operationName);
      if (!node) {
        cost++;
        const error = new GraphQLError('no such operation');
        setResultAndStopExecution({ errors: [refuse(error, 'GRAPHQL_VALIDATION_FAILED')] });
        return;
      }
      try {
        const inputs = (args.variableValues ?? {}) as Record<string, unknown>;
        const variables = new OperationVariables(
          schema,
          { source: document, literals: new Literals() },
          node,
          {
            suggest: true,
          },
        ).coerce(inputs);
        const selected = select(schema, document, node, variables);
        const units = costs.costOf(selected, node.operation, variables).units;
        cost += units;
        const context = contextOf(store, units);
        const run = (rootValue: unknown, contextValue: unknown) =>
          execute({
            schema,
            document,
            rootValue,
            contextValue,
            variableValues: variables,
            operationName: args.operationName ?? null,
          });
        setExecuteFn((() =>
          node.operation === 'mutation' ? inTransaction(context, run) : run({}, context)) as never);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        cost++;
        setResultAndStopExecution({ errors: [refuse(error, error.code)] });
      }
    },
  };
  const yoga = createYoga({
    schema,
    graphiql: false,
    landingPage: false,
    logging: false,
    maskedErrors: false,
    batching: true,
    parserAndValidationCache: false,
    plugins: [plugin],
  });
  return async (call: Pick<Call, 'headers' | 'body'>) => {
    cost = 0;
    const response = await yoga.fetch('http://localhost/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...call.headers },
      body: JSON.stringify(call.body),
    });
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      json: await response.json(),
      cost,
    };
  };
}

/** Executes a mutation as graphql-js does, and takes everything back if anything fails. */
async function inTransaction(
  context: Context,
  run: (root: unknown, context: unknown) => unknown,
): Promise<ExecutionResult> {
  let result: ExecutionResult = {};
  const work = async (transaction: Transaction) => {
    const own = { ...context };
    const write = ({ work }: Write<object, unknown>, args: object, context: Context) => {
      Object.assign(own, { loaders: context.loaders.within(transaction) });
      return work(transaction, args, context);
    };
    result = (await run({ write }, own)) as ExecutionResult;
    if (result.errors) throw new Error('taken back');
  };
  await Promise.resolve(context.store.transaction(work)).catch(() => {
    result = { ...result, data: null };
  });
  return result;
}

function contextOf(store: Store, cost: number): Context {
  const window = { limit: 1, remaining: 1, resetAt: 0 };
  return {
    store,
    loaders: new Loaders(store),
    now: () => 0,
    rateLimit: () => ({ cost, plan: 'enterprise', minute: window, day: window }),
    principal: { id: 'key', name: 'test', plan: 'enterprise', limits: { perMinute: 1, perDay: 1 } },
  } as unknown as Context;
}

/**
 * What both sides must agree on. Messages are left out, and so are the locations of invalid variables and ids,
 * because the gateway has its own.
 */
function comparable(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(comparable);
  const { data, errors } = json as { data?: unknown; errors?: GraphQLFormattedError[] };
  return {
    data,
    errors: errors?.map(({ message, locations, path, extensions }) => ({
      code: extensions?.code,
      path,
      ...(extensions?.code !== 'VALIDATION_FAILED' && message !== 'no such operation' && { locations }),
    })),
  };
}

const REQUESTS: [query: string, variables?: Record<string, unknown>][] = [
  ['{ __typename }'],
  [
    '{ pet(id: 1) { id nodeId name status category { name } inventory { id quantity } orders { totalCount } } }',
  ],
  [
    '{ pets(first: 2, after: "1") { edges { cursor node { name } } pageInfo { hasNextPage hasPreviousPage endCursor } } }',
  ],
  ['{ categories { nodes { name pets(first: 1) { nodes { name category { name } } totalCount } } } }'],
  ['{ events(after: "x") { nodes { id } } }'],
  ['{ pet(id: 1) { name } order(id: 99) { id } category(id: 1) { pets(last: 1) { totalCount } } }'],
  [
    'query ($a: ID!, $b: Boolean!) { pet(id: $a) { id name @include(if: $b) status @skip(if: $b) } }',
    { a: 1, b: true },
  ],
  ['query ($a: ID!) { pet(id: $a) { id } }', {}],
  ['query ($a: ID!) { pet(id: $a) { id } }', { a: 'x' }],
  [
    'query ($n: [ID!]!) { nodes(nodeIds: $n) { __typename nodeId ... on Pet { name } } }',
    { n: ['UGV0OjE', 'x'] },
  ],
  ['{ pet(id: "x") { id } }'],
  ['{ nothing }'],
  ['{ a: nothing pet { id } }'],
  ['{'],
  ['{ pets(first: 100) { nodes { category { pets(first: 100) { nodes { id } } } } } }'],
  [
    '{ ...F } fragment F on Query { a: pet(id: 1) { ...G } b: pet(id: 2) { ...G ...G } } fragment G on Pet { name category { id } }',
  ],
  [
    'mutation { a: createPet(input: {name: " A ", categoryId: 1}) { id name } b: updatePet(id: 1, input: {name: "B"}) { name category { name } } }',
  ],
  [
    'mutation { a: updatePet(id: 1, input: {name: "C"}) { name } b: deleteOrder(id: 99) c: deletePet(id: 2) }',
  ],
];

describe('the gateway', () => {
  const opened: OpenedStore[] = [];
  let gateway: TestGateway;
  let callReference: ReturnType<typeof reference>;

  beforeAll(async () => {
    for (let side = 0; side < 2; side++) {
      const current = await sqlite.open();
      opened.push(current);
      for (const name of ['Dogs', 'Cats']) await current.store.table(Category).insert({ name });
      for (let p = 1; p <= 4; p++)
        await current.store.table(Pet).insert({
          name: `P${p}`,
          categoryId: String((p % 2) + 1),
          status: 'available',
        });
      await current.store.table(Order).insert({ petId: '1', complete: false });
    }
    gateway = await TestGateway.start(opened[0]!.store);
    callReference = reference(opened[1]!.store);
  });
  afterAll(async () => {
    await gateway?.close();
    for (const current of opened) await current.close();
  });

  it.each(['application/json', 'application/graphql-response+json', '*/*'])(
    'responds like an independent Yoga under Accept: %s',
    async (accept) => {
      const bodies: unknown[] = REQUESTS.map(([query, variables]) => ({ query, variables }));
      bodies.push(REQUESTS.slice(0, 10).map(([query, variables]) => ({ query, variables })));
      for (const body of bodies) {
        // The gateway runs compiled code from the second time on.
        for (let time = 1; time <= 2; time++) {
          const key = await gateway.newKey('enterprise', { perMinute: 1_000, perDay: 1_000 });
          const actual = await gateway.call('/graphql', {
            method: 'POST',
            key,
            body,
            headers: { accept, 'content-type': 'application/json' },
          });
          const expected = await callReference({ body, headers: { accept } });
          const about = `${JSON.stringify(body)}\ntime ${time}\n${actual.text}\n${JSON.stringify(expected.json)}`;
          expect(comparable(actual.json), about).toEqual(comparable(expected.json));
          // If nothing ran, Yoga responds 200 under application/json, as the specification recommends.
          // The gateway responds 400.
          const ran = Array.isArray(body) || 'data' in actual.json;
          expect(actual.status, about).toBe(ran ? expected.status : 400);
          expect(actual.headers['content-type'], about).toBe(expected.type);
          expect(1_000 - Number(actual.headers['x-ratelimit-remaining']), about).toBe(expected.cost);
        }
      }
    },
  );
});
