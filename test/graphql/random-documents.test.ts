import fc from 'fast-check';
import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  getNullableType,
  type GraphQLError,
  GraphQLObjectType,
  GraphQLSchema,
  parse,
} from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import type { Session } from '../../src/access/session.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { AppError } from '../../src/foundation/errors.ts';
import { newContext } from '../../src/schema/context.ts';
import type { Write } from '../../src/schema/write.ts';
import type { Store } from '../../src/store/store.ts';
import type { PageRequest, Tables } from '../../src/foundation/table.ts';
import { cases } from '../kit/cases.ts';
import { documentOf, type RandomDocument, type Subject } from '../kit/documents.ts';
import { failing } from '../kit/failing.ts';
import { TestGateway } from '../kit/gateway.ts';
import { type Sent, send, sqlite, useGateway } from '../kit/petstore.ts';

const { schema } = api;

/**
 * Random documents are answered as graphql-js alone answers them. Each is sent several times with changing variables, as
 * clients do: first it is interpreted, later compiled code runs; by POST and by QUERY; alone and in a
 * batch.
 */

/** A size of pages below a parent that cannot be read, so that fields fail while an operation runs. */
const UNREADABLE = 13;

/** Fields that tell of the caller or the moment, or of what documents do not write. */
const UNSELECTED = /^(Query\.(rateLimit|apiKey|usage|webhooks?|keys?|requests)|Mutation\..*(Webhook|Key).*)$/;

const ids = new Map<string, string[]>();
let draws = 0;
const subject: Subject = {
  schema,
  selects: (type, field) => !UNSELECTED.test(`${type}.${field}`),
  /** Mostly one of the first records of a type, now and then one that does not exist. */
  idOf(type) {
    draws = (draws * 7 + 3) % 101;
    const stored = ids.get(type === 'Inventory' || type === 'InventoryItem' ? 'Pet' : type) ?? [];
    return draws % 13 === 0 ? '999' : (stored[draws % 3] ?? '998');
  },
  sizes: [1, 2, 10, UNREADABLE],
};

/** The schema with mutations that may be null: graphql-js runs the other fields of an operation when one fails. */
const nullable = (() => {
  const { mutation, types, ...config } = schema.toConfig();
  const { fields, ...named } = mutation!.toConfig();
  const entries = Object.entries(fields).map(([name, field]) => [
    name,
    { ...field, type: getNullableType(field.type) },
  ]);
  return new GraphQLSchema({
    ...config,
    mutation: new GraphQLObjectType({ ...named, fields: Object.fromEntries(entries) }),
    types: types.filter((type) => type !== mutation),
  });
})();

/** The answer of graphql-js. Below a mutation's fields it reads what they left, in a transaction that is undone. */
async function expectedOf(
  store: Store,
  document: DocumentNode,
  variableValues: Record<string, unknown>,
  of = schema,
) {
  const session = { store, now: Date.now, principal: { apiKey: {} }, counters: {} } as unknown as Session;
  const contextValue = newContext(session, { price: 50 } as never);
  const run = (rootValue?: unknown) =>
    execute({ schema: of, document, variableValues, contextValue, rootValue });
  if (!document.loc!.source.body.startsWith('mutation')) return { result: (await run()) as ExecutionResult };
  const undone = new Error('undone');
  let result: ExecutionResult = {};
  let left: unknown;
  const work = async (transaction: Parameters<Parameters<Store['transaction']>[0]>[0]) => {
    const write = (work: Write<object, unknown>, args: object) => {
      Object.assign(contextValue, { loaders: contextValue.loaders.within(transaction, contextValue.meter) });
      return work(transaction, args, contextValue);
    };
    result = await run({ write });
    left = await recordsOf(transaction);
    throw undone;
  };
  await expect(store.transaction(work)).rejects.toBe(undone);
  return { result, left };
}

const recordsOf = (tables: Tables) =>
  Promise.all(
    api.records.map(async (record) => (await tables.table(record).page({}, { limit: 10_000 })).items),
  );

const eventsOf = async (gateway: TestGateway): Promise<string> => (await gateway.call('/events?last=1')).text;

/** Where an answer is null because of its errors, and their codes. */
function failuresIn({ data, errors = [] }: Pick<ExecutionResult, 'data' | 'errors'>): string[] {
  const places = errors.map((error) => {
    let value = data as Record<string, unknown> | null | undefined;
    const end = error.path!.findIndex((part) => {
      value = value?.[part] as typeof value;
      return value == null;
    });
    const code = (error.originalError as AppError | undefined)?.code ?? error.extensions.code;
    return `${code} ${data === null ? '' : error.path!.slice(0, end + 1).join('.')}`;
  });
  return [...new Set(places)].sort();
}

/** Expects the same answer, the order of fields included. */
function expectSame(sent: Pick<Sent, 'json' | 'about' | 'status'>, expected: ExecutionResult): void {
  expect(sent.status, sent.about).toBe(200);
  expect(JSON.stringify(sent.json.data), sent.about).toBe(JSON.stringify(expected.data));
  expect(failuresIn(sent.json), sent.about).toEqual(failuresIn(expected));
}

/** The number of entries in lists, on all levels. */
const entriesIn = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 0
    : Object.values(value).reduce(
        (sum, part) => sum + entriesIn(part),
        Array.isArray(value) ? value.length : 0,
      );

const post = (gateway: TestGateway, body: unknown, { method = 'POST', price = 'on' } = {}) =>
  send(gateway, `${method} /graphql`, {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'x-ratelimit-extension': price },
  });

const isTooComplex = ({ json }: Sent): boolean => json.errors?.[0].extensions.code === 'QUERY_TOO_COMPLEX';

/** Expects that many runs have seen everything. */
function expectEach(seen: Record<string, number>, runs: number): void {
  if (runs > 100) for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0);
}

describe('random documents', () => {
  const kit = useGateway(sqlite);
  let gateway: TestGateway;
  let store: Store;

  beforeAll(async () => {
    store = failing(kit.opened.store, /\.pagesByParent$/, (args, method) => {
      const { limit } = args[3] as unknown as PageRequest;
      if (limit === UNREADABLE) throw new AppError('CONFLICT', 'cannot be read');
      return method();
    });
    gateway = await TestGateway.start(store, {}, kit.clock);
    const note = (type: string, { id }: { id: string }) => ids.set(type, [...(ids.get(type) ?? []), id]);
    for (const name of ['Dogs', 'cats', 'Ünique'])
      note(
        'Category',
        await store.table(Category).insert({ name, ...(name === 'cats' && { description: 'x' }) }),
      );
    for (let n = 0; n < 108; n++) {
      const categoryId = ids.get('Category')![n < 105 ? 0 : 1]!;
      const status = (['sold', 'available', 'pending'] as const)[n % 3]!;
      note(
        'Pet',
        await store.table(Pet).insert({ name: `${n % 2 ? '"' : '\\'}P${n % 10}`, categoryId, status }),
      );
    }
    for (let n = 0; n < 109; n++) {
      const petId = n < 105 ? ids.get('Pet')![0] : n % 2 === 0 ? ids.get('Pet')![1] : undefined;
      note('Order', await store.table(Order).insert({ ...(petId && { petId }), complete: n % 2 === 0 }));
    }
    return () => gateway.close();
  });

  const eachDocument = (
    kind: 'query' | 'mutation',
    runs: number,
    check: (document: RandomDocument) => Promise<void>,
  ) =>
    fc.assert(
      fc.asyncProperty(fc.gen(), (g) => {
        kit.clock.advance(1_000);
        return check(documentOf(kind, g, subject));
      }),
      { numRuns: runs, endOnFailure: true },
    );

  it('are answered as by graphql-js, every time, and cost the same', async () => {
    const runs = Number(process.env.DIFFERENTIAL_RUNS ?? cases(40, 400));
    const seen = { answered: 0, failed: 0 };
    await eachDocument('query', runs, async ({ text: query, values }) => {
      const document = parse(query);
      const results = await Promise.all(
        values.map(async (time) => (await expectedOf(store, document, time)).result),
      );
      const units: number[] = [];
      for (const [use, time] of [0, 1, 0, 1].entries()) {
        // The writer of compiled code leaves answers with extensions to others.
        const body = { query, variables: values[time] };
        const sent = await post(gateway, body, { price: use === 3 ? 'off' : 'on' });
        if (isTooComplex(sent)) return;
        expectSame(sent, results[time]!);
        seen[sent.json.errors ? 'failed' : 'answered']++;
        units[time] ??= sent.json.extensions.rateLimit.cost;
        expect(entriesIn(sent.json.data), sent.about).toBeLessThanOrEqual(100 * units[time]!);
        const priced = await send(gateway, 'POST /graphql/cost', { body });
        expect([priced.json.cost, sent.json.extensions?.rateLimit.cost ?? units[time]], sent.about).toEqual([
          units[time],
          units[time],
        ]);
      }
      const body = { query, variables: values[0] };
      expectSame(await post(gateway, body, { method: 'QUERY' }), results[0]!);
      const batch = await post(
        gateway,
        values.map((variables) => ({ query, variables })),
      );
      if (units[0]! + units[1]! <= 50)
        for (const [n, json] of batch.json.entries()) expectSame({ ...batch, json }, results[n]!);
    });
    expectEach(seen, runs);
    expect(seen.answered + seen.failed).toBeGreaterThan(runs);
  }, 600_000);

  it('of mutations leave what graphql-js leaves, field by field, or nothing, events included', async () => {
    const seen = { done: 0, undone: 0, committed: 0 };
    const runs = cases(25, 250);
    await eachDocument('mutation', runs, async ({ text: query, values }) => {
      for (const variables of [values[0]!, values[1]!, values[1]!]) {
        const before = await recordsOf(store);
        const events = await eventsOf(gateway);
        const { result, left } = await expectedOf(store, parse(query), variables);
        const sent = await post(gateway, { query, variables });
        if (isTooComplex(sent)) return;
        const after = await recordsOf(store);
        const [error] = sent.json.errors ?? [];
        if (!result.errors || error?.extensions.committed) {
          seen[error ? 'committed' : 'done']++;
          expectSame(sent, result);
          expect(after, sent.about).toEqual(left);
          continue;
        }
        seen.undone++;
        const [{ path, originalError }] = result.errors as [GraphQLError];
        // What breaks the rules of an input, null where it may not be among them, is refused before anything runs, also
        // where an earlier field would fail.
        if (sent.status === 400) {
          const { errors } = (await expectedOf(store, parse(query), variables, nullable)).result;
          const codes = errors!.map((each) => (each.originalError as AppError).code);
          expect(codes, sent.about).toContain(error.extensions.code);
          expect(sent.json, sent.about).not.toHaveProperty('data');
        } else {
          expect(error.extensions.code, sent.about).toBe((originalError as AppError).code);
          expect(error.path[0], sent.about).toBe(path![0]);
          expect(sent.json.data, sent.about).toBeNull();
        }
        expect(after, sent.about).toEqual(before);
        expect(await eventsOf(gateway), sent.about).toBe(events);
      }
    });
    expectEach(seen, runs);
  }, 600_000);
});
