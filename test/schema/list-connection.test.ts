import { expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { dataOf, fill, makeWorld, onAnyEngine, query } from '../kit/petstore.ts';

const LARGEST = '9223372036854775807';
onAnyEngine('connections', (kit) => {
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

  it('knows what is beyond a page of any order, also next to what was deleted', async () => {
    const { C } = await makeWorld(kit);
    const table = kit.gateway.store.table(Pet);
    const { id } = await table.insert({ name: 'Ada', categoryId: C, status: 'sold' });
    const pets = async (args: string) => {
      const text = `{ pets(filter: {categoryId: ${C}}, ${args}) { edges { cursor } nodes { name } pageInfo { hasPreviousPage hasNextPage } } }`;
      return dataOf(await query(kit.gateway, text)).pets;
    };
    const first = (await pets('sort: name_asc, first: 1')).edges[0].cursor;
    const last = (await pets('sort: name_desc, last: 1')).edges[0].cursor;
    for (const isThere of [true, false]) {
      expect(await pets(`sort: name_asc, first: 1, after: "${first}"`)).toMatchObject({
        nodes: [{ name: 'Fifi' }],
        pageInfo: { hasPreviousPage: isThere, hasNextPage: true },
      });
      expect(await pets(`sort: name_desc, last: 1, before: "${last}"`)).toMatchObject({
        nodes: [{ name: 'Fifi' }],
        pageInfo: { hasPreviousPage: true, hasNextPage: isThere },
      });
      if (isThere) await table.remove(id);
    }
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

  it.each([
    ['first: 1', ['Rex']],
    ['last: 1', ['Fifi']],
    ['after: "$P"', ['Fifi']],
    ['before: "$F"', ['Rex']],
    ['sort: id_desc', ['Fifi', 'Rex']],
    ['filter: {status: sold}', ['Rex']],
  ])('tells lists below one parent apart that differ in %s', async (args, names) => {
    const world = await makeWorld(kit);
    const text = `{ category(id: $C) { all: pets { nodes { name } } some: pets(${args}) { nodes { name } } } }`;
    const { category } = dataOf(await query(kit.gateway, fill(text, world)));
    const nodes = (list: string[]) => ({ nodes: list.map((name) => ({ name })) });
    expect(category).toEqual({ all: nodes(['Rex', 'Fifi']), some: nodes(names) });
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
