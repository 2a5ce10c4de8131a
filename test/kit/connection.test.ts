import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { cases } from './cases.ts';
import { dataOf, makeWorld, onAnyEngine, query } from './petstore.ts';

const LARGEST = '9223372036854775807';
const CONNECTION = `{
  edges { cursor node { __typename } } nodes { __typename }
  pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
  totalCount
}`;

interface Range {
  first?: number | undefined;
  last?: number | undefined;
  after?: string | undefined;
  before?: string | undefined;
}

/** The expected connection over these ids, computed in the simplest way. */
function model(ids: readonly string[], { first, last, after, before }: Range) {
  const range = ids.filter(
    (id) => BigInt(id) > BigInt(after ?? 0) && (before === undefined || BigInt(id) < BigInt(before)),
  );
  const page = last === undefined ? range.slice(0, first ?? 20) : range.slice(-last);
  const start = page[0];
  const end = page.at(-1);
  return {
    cursors: page,
    nodes: page.length,
    pageInfo: {
      startCursor: start ?? null,
      endCursor: end ?? null,
      hasNextPage: ids.some((id) =>
        end === undefined ? before !== undefined && BigInt(id) >= BigInt(before) : BigInt(id) > BigInt(end),
      ),
      hasPreviousPage: ids.some((id) =>
        start === undefined ? after !== undefined && BigInt(id) <= BigInt(after) : BigInt(id) < BigInt(start),
      ),
    },
    totalCount: ids.length,
  };
}

onAnyEngine('connections', (kit, engine) => {
  it('returns exact pages in both directions, even from cursors of deleted records', async () => {
    const { gateway } = kit;
    const { store } = gateway;
    const statuses = ['available', 'pending', 'sold'] as const;
    const { id: category } = await store.table(Category).insert({ name: 'A' });
    const pets: string[] = [];
    for (let i = 0; i < 8; i++) {
      pets.push(
        (await store.table(Pet).insert({ name: 'P', categoryId: category, status: statuses[i % 3]! })).id,
      );
    }
    const [pet] = pets;
    const orders: string[] = [];
    for (let i = 0; i < 6; i++)
      orders.push((await store.table(Order).insert({ petId: pet!, complete: i % 2 === 0 })).id);
    const [deletedPet] = pets.splice(3, 1);
    const [deletedOrder] = orders.splice(2, 1);
    await store.table(Pet).remove(deletedPet!);
    await store.table(Order).remove(deletedOrder!);
    const categories = [category];
    for (let i = 0; i < 3; i++) categories.push((await store.table(Category).insert({ name: 'B' })).id);

    const odd = orders.filter((id) => (BigInt(id) - BigInt(orders[0]!)) % 2n === 1n);
    const lists: [name: string, pattern: string, ids: string[]][] = [
      ['pets', `{ list: pets(filter: {categoryId: ${category}} ARGS) ${CONNECTION} }`, pets],
      [
        'pets of a category',
        `{ parent: category(id: ${category}) { list: pets(ARGS) ${CONNECTION} } }`,
        pets,
      ],
      ['orders', `{ list: orders(filter: {petId: "${pet}"} ARGS) ${CONNECTION} }`, orders],
      ['orders of a pet', `{ parent: pet(id: ${pet}) { list: orders(ARGS) ${CONNECTION} } }`, orders],
      [
        'some orders of a pet',
        `{ parent: pet(id: ${pet}) { list: orders(filter: {complete: false} ARGS) ${CONNECTION} } }`,
        odd,
      ],
      ['categories', `{ list: categories(ARGS) ${CONNECTION} }`, categories],
      ['inventory', `{ list: inventory(ARGS) ${CONNECTION} }`, pets],
    ];
    const cursor = fc.constantFrom(undefined, '1', deletedPet, deletedOrder, ...pets, ...orders, LARGEST);
    const size = fc.constantFrom(undefined, 1, 2, 5, 6, 7, 8, 100);
    const range = fc
      .record({ forward: fc.boolean(), size, after: fc.oneof(cursor, fc.constant('0')), before: cursor })
      .map(
        ({ forward, size, after, before }): Range => ({ [forward ? 'first' : 'last']: size, after, before }),
      );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...lists), range, async ([, pattern, ids], wanted) => {
        const args = Object.entries(wanted)
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => `${name}: ${typeof value === 'number' ? value : `"${value}"`}`);
        const text = pattern
          .replace('(ARGS)', args.length > 0 ? `(${args.join(' ')})` : '')
          .replace('ARGS', args.join(' '));
        const sent = await query(gateway, text);
        const data = dataOf(sent);
        const { edges, nodes, pageInfo, totalCount } = data.list ?? data.parent.list;
        const cursors = edges.map((edge: { cursor: string }) => edge.cursor);
        expect({ cursors, nodes: nodes.length, pageInfo, totalCount }, sent.about).toEqual(
          model(ids, wanted),
        );
      }),
      {
        numRuns: Number(
          process.env.PROPERTY_RUNS ?? (engine.name === 'sqlite' ? cases(40, 400) : cases(6, 40)),
        ),
      },
    );
  });

  it('returns exact pages next to the smallest and largest ids', async () => {
    const { store } = kit.gateway;
    const { P, O: other } = await makeWorld(kit);
    await store.table(Order).insert({ id: LARGEST, petId: P, complete: false });
    for (const [args, cursors, hasPreviousPage, hasNextPage] of [
      [`after: "${LARGEST}"`, [], true, false],
      [`last: 1, after: "${LARGEST}"`, [], true, false],
      ['last: 1', [LARGEST], true, false],
      [`last: 1, after: "9223372036854775806"`, [LARGEST], true, false],
      [`first: 1, after: "9223372036854775806"`, [LARGEST], true, false],
      [`last: 2, before: "${LARGEST}"`, [other], false, true],
      ['first: 100, after: "0"', [other, LARGEST], false, false],
      ['first: 1, before: "1"', [], false, true],
      ['last: 1, before: "1"', [], false, true],
    ] as const) {
      const sent = await query(
        kit.gateway,
        `{ orders(filter: {petId: ${P}}, ${args}) { edges { cursor } nodes { id } pageInfo { hasPreviousPage hasNextPage } } }`,
      );
      const { edges, nodes, pageInfo } = dataOf(sent).orders;
      expect(
        edges.map(({ cursor }: { cursor: string }) => cursor),
        sent.about,
      ).toEqual(cursors);
      expect(
        nodes.map(({ id }: { id: string }) => id),
        sent.about,
      ).toEqual(cursors);
      expect(pageInfo, sent.about).toEqual({ hasPreviousPage, hasNextPage });
    }
    await store.table(Order).remove(LARGEST);
  });

  it('returns 20 entries by default and up to 100 on request', async () => {
    const { store } = kit.gateway;
    const { id } = await store.table(Category).insert({ name: 'A' });
    await Promise.all(
      Array.from({ length: 101 }, () =>
        store.table(Pet).insert({ name: 'P', categoryId: id, status: 'sold' }),
      ),
    );
    for (const [args, count] of [
      ['', 20],
      ['(first: 99)', 99],
      ['(first: 100)', 100],
      ['(last: 100)', 100],
      ['(first: null, last: null, after: null, before: null, filter: null)', 20],
      ['(last: 3)', 3],
    ] as const) {
      const sent = await query(kit.gateway, `{ category(id: ${id}) { pets${args} { nodes { id } } } }`);
      expect(dataOf(sent).category.pets.nodes, sent.about).toHaveLength(count);
    }
  });

  const SIZE = 'must be an integer from 1 to 100';
  const AFTER = 'must be an integer from 0 to 9223372036854775807';
  const BEFORE = 'must be an integer from 1 to 9223372036854775807';
  it.each([
    ['first: 0', `first: ${SIZE}.`],
    ['first: -1', `first: ${SIZE}.`],
    ['first: 101', `first: ${SIZE}.`],
    ['last: 0', `last: ${SIZE}.`],
    ['last: 101', `last: ${SIZE}.`],
    ['first: 1, last: 1', 'last: must not be combined with first.'],
    ['after: ""', `after: ${AFTER}.`],
    ['after: "x"', `after: ${AFTER}.`],
    ['after: "-1"', `after: ${AFTER}.`],
    ['before: "0"', `before: ${BEFORE}.`],
    ['before: "9223372036854775808"', `before: ${BEFORE}.`],
    [
      'first: 101, last: 0, after: "x", before: "01"',
      `first: ${SIZE}; last: must not be combined with first; after: ${AFTER}; before: ${BEFORE}.`,
    ],
  ])('refuses the arguments (%s)', async (args, message) => {
    const { C } = await makeWorld(kit);
    const fields = message
      .slice(0, -1)
      .split('; ')
      .map((issue) => {
        const [path, rule] = issue.split(': ');
        return { path, message: rule };
      });
    for (const text of [
      `{ list: pets(${args}) { nodes { id } } }`,
      `{ parent: category(id: ${C}) { list: pets(${args}) { nodes { id } } } }`,
      `mutation { createPet(input: {name: "Never", categoryId: ${C}}) { orders(${args}) { nodes { id } } } }`,
    ]) {
      const sent = await query(kit.gateway, text);
      expect(sent.status, sent.about).toBe(400);
      expect(sent.json, sent.about).toEqual({
        errors: [
          {
            message,
            locations: [{ line: 1, column: expect.any(Number) }],
            extensions: { code: 'VALIDATION_FAILED', status: 400, fields },
          },
        ],
      });
    }
    const { category } = dataOf(await query(kit.gateway, `{ category(id: ${C}) { pets { totalCount } } }`));
    expect(category.pets.totalCount).toBe(2);
  });
});
