import fc from 'fast-check';
import { stringify } from 'lossless-json';
import { expect, it } from 'vitest';
import { cases } from '../kit/cases.ts';
import type { TestGateway } from '../kit/gateway.ts';
import { exactly, onEachEngine, query, type Sent, send } from '../kit/petstore.ts';

/**
 * REST and GraphQL agree: a random run of operations is sent over REST to one part of the data and over GraphQL to a twin of
 * it; the answers and faults are the same, but for the ids, and each interface reads what the other wrote.
 */
interface Twin {
  categories: string[];
  pets: string[];
  orders: string[];
}
type Ask = (gateway: TestGateway, twin: Twin) => Promise<Sent>;
interface Step {
  rest: Ask;
  graphql: Ask;
  /** Where the id of what this creates goes. */
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
const bare = (value: string) => BigInt(value);

/** A body whose `categoryId` and `petId` are indexes yet. */
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
  (line: (twin: Twin) => string, body?: Body): Ask =>
  (gateway, twin) =>
    send(gateway, line(twin), body && { body: stringify(bodyOf(body, twin, bare)) });
const graphqlOf =
  (text: string, variables: (twin: Twin) => Record<string, unknown>): Ask =>
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
      for (const one of status ?? []) parameters.append('status', one);
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

/** What came of a step, in the words of neither interface, with ids as places in the twin. */
function outcomeOf(sent: Sent, twin: Twin): unknown {
  const places = new Map<string, string>();
  for (const [kind, ids] of Object.entries(twin))
    ids.forEach((id: string, place: number) => void places.set(`${kind} ${id}`, `${kind}[${place}]`));
  const record = (found: Record<string, unknown>, kind: string) =>
    Object.fromEntries(
      Object.entries(found).map(([name, value]) => {
        if (!/[iI]d$/.test(name)) return [name, value];
        const list = name === 'id' ? kind : REFERENCES[name]!;
        return [
          name,
          value === null ? value : (places.get(`${list} ${String(value).replace('#', '')}`) ?? value),
        ];
      }),
    );
  const kindOf = (found: object) =>
    'categoryId' in found ? 'pets' : 'complete' in found ? 'orders' : 'categories';
  const present = (found: Record<string, unknown>) =>
    record(Object.fromEntries(Object.entries(found).filter(([, value]) => value !== null)), kindOf(found));
  const message = (text: string) => text.replace(/\b\d+\b/g, (id) => (id === MISSING ? id : 'N'));

  // biome-ignore lint/suspicious/noExplicitAny: an answer of either interface
  const body = sent.text === '' ? null : (exactly(sent.text) as any);
  if (body === null) return { status: sent.status };
  if (Array.isArray(body)) return { list: body.map(present), more: sent.headers.link !== undefined };
  if (typeof body.code === 'string') return { code: body.code, message: message(body.message) };
  if (body.errors) return { code: body.errors[0].extensions.code, message: message(body.errors[0].message) };
  const { data } = body;
  if (!data) return { record: present(body) };
  if (data.list) return { list: data.list.nodes.map(present), more: data.list.pageInfo.hasNextPage };
  if ('result' in data)
    return data.result === null ? { code: 'NOT_FOUND' } : { record: present(data.result) };
  return { status: 204 };
}

const index = fc.integer({ min: -1, max: 3 });
const name = fc.constantFrom('Rex', ' Zoë 🐕 ', '"\\', 'x'.repeat(200));
const status = fc.constantFrom('available', 'pending', 'sold');
const quantity = fc.constantFrom(1, 7, 2147483647);
const shipDate = fc.constantFrom('2026-01-31T09:30:00Z', '2026-01-31T09:30:00.250+02:00');
const some = <T>(record: Record<string, fc.Arbitrary<T>>) =>
  fc.record(record, { requiredKeys: [] }) as fc.Arbitrary<Body>;
const nullable = (value: fc.Arbitrary<unknown>) => fc.option(value, { nil: null });

const step: fc.Arbitrary<Step> = fc.oneof(
  fc
    .record({ name, description: fc.constantFrom('', 'They bark') }, { requiredKeys: ['name'] })
    .map((body) => create('categories', body)),
  fc
    .record({ name, categoryId: index, status }, { requiredKeys: ['name', 'categoryId'] })
    .map((body) => create('pets', body)),
  some<unknown>({ petId: index, quantity, shipDate, complete: fc.boolean() }).map((body) =>
    create('orders', body),
  ),
  fc
    .tuple(index, some<unknown>({ name, categoryId: index, status }))
    .map(([at, body]) => update('pets', at, body)),
  fc
    .tuple(index, some<unknown>({ name, description: nullable(fc.constantFrom('', 'They purr')) }))
    .map(([at, body]) => update('categories', at, body)),
  fc
    .tuple(
      index,
      some<unknown>({
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
  it('agree on whatever operations in whatever order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), async (steps) => {
        const { gateway } = kit;
        const twins: Record<'rest' | 'graphql', Twin> = {
          rest: { categories: [], pets: [], orders: [] },
          graphql: { categories: [], pets: [], orders: [] },
        };
        for (const one of steps) {
          const sent = {
            rest: await one.rest(gateway, twins.rest),
            graphql: await one.graphql(gateway, twins.graphql),
          };
          const about = `${one}${sent.rest.about}${sent.graphql.about}`;
          expect(sent.rest.status, about).toBeLessThan(500);
          if (one.creates && sent.rest.status === 201) {
            twins.rest[one.creates].push(sent.rest.headers.location!.split('/').at(-1)!);
            twins.graphql[one.creates].push(sent.graphql.json.data?.result?.id);
          }
          const actual = outcomeOf(sent.graphql, twins.graphql) as { code?: string; message?: string };
          const expected = outcomeOf(sent.rest, twins.rest) as { code?: string; message?: string };
          // A query answers null for what is not there, without a word.
          if (actual.code === 'NOT_FOUND' && actual.message === undefined) delete expected.message;
          expect(actual, about).toEqual(expected);
        }
        // Each interface sees the same of what the other wrote.
        for (const kind of ['pets', 'categories', 'orders', 'inventory'] as const) {
          const list = kind === 'inventory' ? 'pets' : kind;
          for (let at = 0; at < Math.min(2, twins.rest[list].length); at++) {
            const one = read(kind, at);
            const [byRest, byGraphql] = [
              await one.rest(gateway, twins.graphql),
              await one.graphql(gateway, twins.rest),
            ];
            const [first, second] = [outcomeOf(byRest, twins.graphql), outcomeOf(byGraphql, twins.rest)] as {
              message?: string;
            }[];
            if (first) delete first.message;
            expect(second, `${one}${byRest.about}${byGraphql.about}`).toEqual(first);
          }
        }
      }),
      { numRuns: engine.name === 'sqlite' ? Number(process.env.FUZZ_RUNS ?? 150) : cases(5, 10) },
    );
  });
});
