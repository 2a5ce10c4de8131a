import { expect, it } from 'vitest';
import { dataOf, expectQueryRefusal, makeWorld, onAnyEngine, query, type World } from '../kit/petstore.ts';

const ID_RULE = 'must be an integer from 1 to 9223372036854775807';

onAnyEngine('nodeId', (kit) => {
  const run = (text: string, variables?: Record<string, unknown>) => query(kit.gateway, text, variables);

  async function nodeIdsOf({ P, C, O }: World): Promise<Record<string, string>> {
    const data = dataOf(
      await run(
        `{ pet(id: ${P}) { nodeId inventory { id nodeId } } category(id: ${C}) { nodeId } order(id: ${O}) { nodeId } }`,
      ),
    );
    expect(data.pet.inventory.id).toBe(P);
    return {
      Pet: data.pet.nodeId,
      InventoryItem: data.pet.inventory.nodeId,
      Category: data.category.nodeId,
      Order: data.order.nodeId,
    };
  }

  it('finds records of every type, in literals and variables, alone and in lists', async () => {
    const { P, C, O } = await makeWorld(kit);
    const ids = await nodeIdsOf({ P, C, O } as World);
    expect(new Set(Object.values(ids)).size).toBe(4);
    const expected: Record<string, object> = {
      Pet: { __typename: 'Pet', id: P, name: 'Rex' },
      InventoryItem: { __typename: 'InventoryItem', petId: P, quantity: 5, pet: { name: 'Rex' } },
      Category: { __typename: 'Category', id: C, pets: { totalCount: 2 } },
      Order: { __typename: 'Order', id: O, ordered: { id: P } },
    };
    const fields = `__typename nodeId ...P ... on InventoryItem { petId quantity pet { name } }
      ... on Category { id pets { totalCount } } ... on Order { id ordered: pet { id } }`;
    const fragment = 'fragment P on Pet { id name }';
    const all = Object.values(ids);
    // Operations are compiled from their second use on.
    for (let use = 1; use <= 3; use++) {
      for (const [type, nodeId] of Object.entries(ids)) {
        const record = { ...expected[type], nodeId };
        const literal = await run(`{ node(nodeId: "${nodeId}") { ${fields} } } ${fragment}`);
        expect(dataOf(literal), literal.about).toEqual({ node: record });
        const variable = await run(
          `query ($n: ID!) { node(nodeId: $n) { ${fields} } x: nodes(nodeIds: [$n]) { nodeId } } ${fragment}`,
          { n: nodeId },
        );
        expect(dataOf(variable), variable.about).toEqual({ node: record, x: [{ nodeId }] });
        const byDefault = await run(
          `query ($n: ID! = "${nodeId}") { ...Q } fragment Q on Query { node(nodeId: $n) { __typename } }`,
        );
        expect(dataOf(byDefault), byDefault.about).toEqual({ node: { __typename: type } });
      }
      const many = await run(`query ($n: [ID!]!) { nodes(nodeIds: $n) { ${fields} } } ${fragment}`, {
        n: [...all, 'nothing', all[0]],
      });
      const records = Object.entries(ids).map(([type, nodeId]) => ({ ...expected[type], nodeId }));
      const inOrder = { nodes: [...records, null, records[0]] };
      expect(dataOf(many), many.about).toEqual(inOrder);
      const list = JSON.stringify([...all, 'nothing', all[0]]);
      const literals = await run(`{ nodes(nodeIds: ${list}) { ${fields} } } ${fragment}`);
      expect(dataOf(literals), literals.about).toEqual(inOrder);
    }
  });

  it('returns null for malformed nodeIds and missing records', async () => {
    const { P, F } = await makeWorld(kit);
    const { Pet } = await nodeIdsOf({ P, C: '1', O: '1' } as World);
    const encoded = (text: string) => Buffer.from(text).toString('base64url');
    const wrong = [
      '',
      'x',
      P,
      `${Pet}=`,
      ` ${Pet}`,
      encoded('Pet'),
      encoded('Pet:0'),
      encoded(`Pet:0${P}`),
      encoded(`Pet:${P}:${P}`),
      encoded('Pet:9223372036854775808'),
      encoded('Pet:9223372036854775806'),
      encoded(`pet:${P}`),
      encoded(`Query:${P}`),
      encoded(`constructor:${P}`),
      encoded(`PetPatch:${P}`),
      '☃'.repeat(50),
    ];
    for (const nodeId of wrong) {
      const sent = await run(
        'query ($n: ID!) { node(nodeId: $n) { nodeId } nodes(nodeIds: [$n]) { nodeId } }',
        {
          n: nodeId,
        },
      );
      expect(dataOf(sent), sent.about).toEqual({ node: null, nodes: [null] });
    }
    const literal = await run(
      `{ node(nodeId: "x") { nodeId } a: node(nodeId: 7) { nodeId } nodes(nodeIds: "y") { nodeId } }`,
    );
    expect(dataOf(literal)).toEqual({ node: null, a: null, nodes: [null] });
    const find = `{ node(nodeId: "${encoded(`Pet:${F}`)}") { __typename } }`;
    expect(dataOf(await run(find))).toEqual({ node: { __typename: 'Pet' } });
    dataOf(await run(`mutation { deletePet(id: ${F}) }`));
    expect(dataOf(await run(find))).toEqual({ node: null });
  });

  it('finds a hundred, read or not, in an operation that lets others in between', async () => {
    const { P } = await makeWorld(kit);
    const { Pet } = await nodeIdsOf({ P, C: '1', O: '1' } as World);
    const missing = Array.from({ length: 99 }, (_, n) =>
      Buffer.from(`Order:${10 ** 12 + n}`).toString('base64url'),
    );
    const sent = await run(
      `query ($n: [ID!]!) { nodes(nodeIds: $n) { ... on Category { pets { totalCount } } ... on Pet { id } } }`,
      { n: [...missing, Pet] },
    );
    expect(dataOf(sent)).toEqual({ nodes: [...missing.map(() => null), { id: P }] });
  });

  it('requires every other id to be an int64, in literals, defaults and variables', async () => {
    for (const [text, name, variables] of [
      ['{ pet(id: "x") { id } }', 'id'],
      ['{ orders(filter: {petId: "x"}) { totalCount } }', 'petId'],
      ['query ($i: ID! = "x") { pet(id: $i) { id } }', 'id'],
      ['query ($i: ID!) { pet(id: $i) { id } }', 'id', { i: 'x' }],
      ['query ($i: ID!) { pet(id: $i) { id } node(nodeId: $i) { nodeId } }', 'id', { i: 'x' }],
      ['query ($i: ID! = "x") { pet(id: $i) { id } node(nodeId: $i) { nodeId } }', 'id'],
      ['query ($f: OrderFilter) { orders(filter: $f) { totalCount } }', 'petId', { f: { petId: '01' } }],
      ['query ($i: ID) { orders(filter: {petId: $i}) { totalCount } }', 'petId', { i: 'x' }],
      ['query ($i: ID!) { node(nodeId: $i) { nodeId } }', 'i', { i: true }],
    ] as const) {
      const sent = await run(text, variables);
      expectQueryRefusal(sent, 'VALIDATION_FAILED', `${name}: ${ID_RULE}.`);
    }
    const tooMany = await run(`{ nodes(nodeIds: [${Array.from({ length: 101 }, () => '"x"')}]) { nodeId } }`);
    expectQueryRefusal(tooMany, 'VALIDATION_FAILED', 'nodeIds: must have at most 100 items.');
    // Variables of different operations are independent, even with the same name.
    const text = 'query A($i: ID!) { node(nodeId: $i) { nodeId } } query B($i: ID!) { pet(id: $i) { id } }';
    const send = (operationName: string) =>
      kit.gateway.call('/graphql', {
        method: 'POST',
        body: { query: text, operationName, variables: { i: 'x' } },
      });
    expect((await send('A')).json).toEqual({ data: { node: null } });
    expect((await send('B')).json.errors[0].message).toBe(`id: ${ID_RULE}.`);
  });
});
