import fc from 'fast-check';
import { stringify } from 'lossless-json';
import { expect, it } from 'vitest';
import { cases } from '../kit/cases.ts';
import type { TestGateway } from '../kit/gateway.ts';
import { exactly, onEachEngine, query, type Sent, send } from '../kit/petstore.ts';

/**
 * Sends random sequences of operations over REST to one set of records and over GraphQL to its twin. Results
 * and errors must be the same except for the ids, and each interface must read what the other wrote.
 */

/** The ids of the records created in one of the two sets, in order. */
interface Twin {
  categories: string[];
  pets: string[];
  orders: string[];
}
type SendStep = (gateway: TestGateway, twin: Twin) => Promise<Sent>;
interface Step {
  rest: SendStep;
  graphql: SendStep;
  /** The list that the id of the created record is added to. */
  creates?: keyof Twin;
  toString(): string;
}

const FIELDS = {
  pets: 'id name categoryId status',
  categories: 'id name description',
  orders: 'id petId quantity shipDate complete',
  inventory: 'petId quantity status',
};
type Kind = keyof typeof FIELDS;
const PATHS: Record<Kind, string> = {
  pets: '/pets',
  categories: '/categories',
  orders: '/store/orders',
  inventory: '/store/inventory',
};
const TYPES: Record<Kind, string> = {
  pets: 'Pet',
  categories: 'Category',
  orders: 'Order',
  inventory: 'InventoryItem',
};
const MISSING = '9223372036854775806';

const pick = (ids: readonly string[], index: number): string =>
  index < 0 ? MISSING : (ids[index % Math.max(1, ids.length)] ?? MISSING);
const toInteger = (id: string) => BigInt(id);

/** A body whose `categoryId` and `petId` are still indexes into the twin. */
type Body = Record<string, unknown>;
const REFERENCES: Record<string, keyof Twin> = { categoryId: 'categories', petId: 'pets' };
const bodyOf = (body: Body, twin: Twin, write: (id: string) => unknown): Body =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      const list = REFERENCES[name];
      return [name, list && typeof value === 'number' ? write(pick(twin[list], value)) : value];
    }),
  );

const restOf =
  (requestLine: (twin: Twin) => string, body?: Body): SendStep =>
  (gateway, twin) =>
    send(gateway, requestLine(twin), body && { body: stringify(bodyOf(body, twin, toInteger)) });
const graphqlOf =
  (text: string, variables: (twin: Twin) => Record<string, unknown>): SendStep =>
  (gateway, twin) =>
    query(gateway, text, variables(twin));

function create(kind: keyof Twin, body: Body): Step {
  const text = `mutation ($input: New${TYPES[kind]}!) { result: create${TYPES[kind]}(input: $input) { ${FIELDS[kind]} } }`;
  return {
    creates: kind,
    rest: restOf(() => `POST ${PATHS[kind]}`, body),
    graphql: graphqlOf(text, (twin) => ({ input: bodyOf(body, twin, String) })),
    toString: () => `create ${kind} ${JSON.stringify(body)}`,
  };
}

function update(kind: Kind, index: number, body: Body): Step {
  const own = kind === 'inventory' ? 'petId' : 'id';
  const list = kind === 'inventory' ? 'pets' : kind;
  const [field, input] =
    kind === 'inventory'
      ? ['updateInventory', 'InventoryUpdate']
      : [`update${TYPES[kind]}`, `${TYPES[kind]}Patch`];
  const text = `mutation ($id: ID!, $input: ${input}!) { result: ${field}(${own}: $id, input: $input) { ${FIELDS[kind]} } }`;
  return {
    rest: restOf((twin) => `PATCH ${PATHS[kind]}/${pick(twin[list], index)}`, body),
    graphql: graphqlOf(text, (twin) => ({ id: pick(twin[list], index), input: bodyOf(body, twin, String) })),
    toString: () => `update ${kind} ${index} ${JSON.stringify(body)}`,
  };
}

function remove(kind: keyof Twin, index: number): Step {
  return {
    rest: restOf((twin) => `DELETE ${PATHS[kind]}/${pick(twin[kind], index)}`),
    graphql: graphqlOf(`mutation ($id: ID!) { delete${TYPES[kind]}(id: $id) }`, (twin) => ({
      id: pick(twin[kind], index),
    })),
    toString: () => `delete ${kind} ${index}`,
  };
}

function read(kind: Kind, index: number): Step {
  const list = kind === 'inventory' ? 'pets' : kind;
  const field = {
    pets: 'pet(id: $id)',
    categories: 'category(id: $id)',
    orders: 'order(id: $id)',
    inventory: 'inventoryItem(petId: $id)',
  }[kind];
  return {
    rest: restOf((twin) => `${PATHS[kind]}/${pick(twin[list], index)}`),
    graphql: graphqlOf(`query ($id: ID!) { result: ${field} { ${FIELDS[kind]} } }`, (twin) => ({
      id: pick(twin[list], index),
    })),
    toString: () => `read ${kind} ${index}`,
  };
}

function listPets(
  status: string[] | undefined,
  limit: number | undefined,
  category: number,
  after: number | undefined,
): Step {
  return {
    rest: restOf((twin) => {
      const parameters = new URLSearchParams({ categoryId: pick(twin.categories, category) });
      for (const value of status ?? []) parameters.append('status', value);
      if (limit !== undefined) parameters.set('limit', String(limit));
      if (after !== undefined) parameters.set('after', pick(twin.pets, after));
      return `/pets?${parameters}`;
    }),
    graphql: graphqlOf(
      `query ($filter: PetFilter, $first: Int, $after: String) { list: pets(filter: $filter, first: $first, after: $after) { nodes { ${FIELDS.pets} } pageInfo { hasNextPage } } }`,
      (twin) => ({
        filter: { status, categoryId: pick(twin.categories, category) },
        first: limit,
        after: after === undefined ? undefined : pick(twin.pets, after),
      }),
    ),
    toString: () => `list pets ${status} ${limit} ${category} ${after}`,
  };
}

/** The outcome of a step in a form common to both interfaces, with ids as positions in the twin. */
function outcomeOf(sent: Sent, twin: Twin): unknown {
  const positions = new Map<string, string>();
  for (const [kind, ids] of Object.entries(twin))
    ids.forEach(
      (id: string, position: number) => void positions.set(`${kind} ${id}`, `${kind}[${position}]`),
    );
  const withPositions = (record: Record<string, unknown>, kind: string) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => {
        if (!/[iI]d$/.test(name)) return [name, value];
        const list = name === 'id' ? kind : REFERENCES[name]!;
        return [
          name,
          value === null ? value : (positions.get(`${list} ${String(value).replace('#', '')}`) ?? value),
        ];
      }),
    );
  const kindOf = (record: object) =>
    'categoryId' in record ? 'pets' : 'complete' in record ? 'orders' : 'categories';
  const normalized = (record: Record<string, unknown>) =>
    withPositions(
      Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)),
      kindOf(record),
    );
  const withoutIds = (text: string) => text.replace(/\b\d+\b/g, (id) => (id === MISSING ? id : 'N'));

  // biome-ignore lint/suspicious/noExplicitAny: a response body of either interface
  const body = sent.text === '' ? null : (exactly(sent.text) as any);
  if (body === null) return { status: sent.status };
  if (Array.isArray(body)) return { list: body.map(normalized), more: sent.headers.link !== undefined };
  if (typeof body.code === 'string') return { code: body.code, message: withoutIds(body.message) };
  if (body.errors)
    return { code: body.errors[0].extensions.code, message: withoutIds(body.errors[0].message) };
  const { data } = body;
  if (!data) return { record: normalized(body) };
  if (data.list) return { list: data.list.nodes.map(normalized), more: data.list.pageInfo.hasNextPage };
  if ('result' in data)
    return data.result === null ? { code: 'NOT_FOUND' } : { record: normalized(data.result) };
  return { status: 204 };
}

const index = fc.integer({ min: -1, max: 3 });
const name = fc.constantFrom('Rex', ' Zoë 🐕 ', '"\\', 'x'.repeat(200));
const status = fc.constantFrom('available', 'pending', 'sold');
const quantity = fc.constantFrom(1, 7, 2147483647);
const shipDate = fc.constantFrom('2026-01-31T09:30:00Z', '2026-01-31T09:30:00.250+02:00');
const optional = <T>(record: Record<string, fc.Arbitrary<T>>) =>
  fc.record(record, { requiredKeys: [] }) as fc.Arbitrary<Body>;
const nullable = (value: fc.Arbitrary<unknown>) => fc.option(value, { nil: null });

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc
    .record({ name, description: fc.constantFrom('', 'They bark') }, { requiredKeys: ['name'] })
    .map((body) => create('categories', body)),
  fc
    .record({ name, categoryId: index, status }, { requiredKeys: ['name', 'categoryId'] })
    .map((body) => create('pets', body)),
  optional<unknown>({ petId: index, quantity, shipDate, complete: fc.boolean() }).map((body) =>
    create('orders', body),
  ),
  fc
    .tuple(index, optional<unknown>({ name, categoryId: index, status }))
    .map(([at, body]) => update('pets', at, body)),
  fc
    .tuple(index, optional<unknown>({ name, description: nullable(fc.constantFrom('', 'They purr')) }))
    .map(([at, body]) => update('categories', at, body)),
  fc
    .tuple(
      index,
      optional<unknown>({
        petId: nullable(index),
        quantity: nullable(quantity),
        shipDate: nullable(shipDate),
        complete: fc.boolean(),
      }),
    )
    .map(([at, body]) => update('orders', at, body)),
  fc
    .tuple(index, fc.constantFrom(0, 5, -1))
    .map(([at, count]) => update('inventory', at, { quantity: count })),
  fc.tuple(fc.constantFrom('pets', 'categories', 'orders'), index).map(([kind, at]) => remove(kind, at)),
  fc
    .tuple(fc.constantFrom('pets', 'categories', 'orders', 'inventory'), index)
    .map(([kind, at]) => read(kind, at)),
  fc
    .tuple(
      fc.option(fc.uniqueArray(status, { minLength: 1 }), { nil: undefined }),
      fc.constantFrom(undefined, 1, 2, 100),
      index,
      fc.option(index, { nil: undefined }),
    )
    .map((args) => listPets(...args)),
);

onEachEngine('REST and GraphQL', (kit, engine) => {
  it('return the same results and errors for random sequences of operations', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 15 }), async (steps) => {
        const { gateway } = kit;
        const twins: Record<'rest' | 'graphql', Twin> = {
          rest: { categories: [], pets: [], orders: [] },
          graphql: { categories: [], pets: [], orders: [] },
        };
        for (const step of steps) {
          const sent = {
            rest: await step.rest(gateway, twins.rest),
            graphql: await step.graphql(gateway, twins.graphql),
          };
          const about = `${step}${sent.rest.about}${sent.graphql.about}`;
          expect(sent.rest.status, about).toBeLessThan(500);
          if (step.creates && sent.rest.status === 201) {
            twins.rest[step.creates].push(sent.rest.headers.location!.split('/').at(-1)!);
            twins.graphql[step.creates].push(sent.graphql.json.data?.result?.id);
          }
          const actual = outcomeOf(sent.graphql, twins.graphql) as { code?: string; message?: string };
          const expected = outcomeOf(sent.rest, twins.rest) as { code?: string; message?: string };
          // A GraphQL query returns null for a missing record, without a message.
          if (actual.code === 'NOT_FOUND' && actual.message === undefined) delete expected.message;
          expect(actual, about).toEqual(expected);
        }
        // Each interface reads what the other wrote.
        for (const kind of ['pets', 'categories', 'orders', 'inventory'] as const) {
          const list = kind === 'inventory' ? 'pets' : kind;
          for (let at = 0; at < Math.min(2, twins.rest[list].length); at++) {
            const step = read(kind, at);
            const [overRest, overGraphql] = [
              await step.rest(gateway, twins.graphql),
              await step.graphql(gateway, twins.rest),
            ];
            const [expected, actual] = [
              outcomeOf(overRest, twins.graphql),
              outcomeOf(overGraphql, twins.rest),
            ] as {
              message?: string;
            }[];
            if (expected) delete expected.message;
            expect(actual, `${step}${overRest.about}${overGraphql.about}`).toEqual(expected);
          }
        }
      }),
      { numRuns: engine.name === 'sqlite' ? Number(process.env.FUZZ_RUNS ?? cases(20, 150)) : cases(3, 10) },
    );
  });
});
