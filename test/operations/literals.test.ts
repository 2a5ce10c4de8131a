import { GraphQLEnumType, parse, print } from 'graphql';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { extractLiterals } from '../../src/operations/literals.ts';
import { Operations } from '../../src/operations/operations.ts';
import { schema } from '../../src/schema.ts';
import { dataOf, makeWorld, query, sqlite, useGateway } from '../kit/petstore.ts';

const extracted = (text: string) => extractLiterals(schema, parse(text));

describe('literals', () => {
  it('become variables, apart from those of a single value', () => {
    const text =
      'query Q($c: ID) { pet(id: 1) { id } pets(first: 2, filter: {status: [sold], categoryId: $c}) { ...F } } fragment F on PetConnection { nodes { orders(filter: {petId: 1}) { totalCount } } }';
    const { executable, literals } = extracted(text);
    expect(print(executable).replace(/\s+/g, ' ')).toBe(
      'query Q($c: JSON, $$constant0: JSON, $$varying0: JSON) { pet(id: 1) { id } pets(first: 2, filter: $$varying0) { ...F } } fragment F on PetConnection { nodes { orders(filter: $$constant0) { totalCount } } }',
    );
    const variables: Record<string, unknown> = { c: '7' };
    literals.addTo(variables);
    expect(variables).toEqual({
      c: '7',
      $constant0: { petId: '1' },
      $varying0: { status: ['sold'], categoryId: '7' },
    });
    const absent = {};
    literals.addTo(absent);
    expect(absent).toMatchObject({ $varying0: { status: ['sold'] } });
  });

  it('leave documents without any as they are, but for the types of variables', () => {
    const { executable, literals } = extracted(
      'query ($l: [Int] = [1]) { pet(id: 1) @skip(if: false) { id } }',
    );
    expect(print(executable)).toBe(print(parse('query ($l: JSON) { pet(id: 1) @skip(if: false) { id } }')));
    expect(literals.isEmpty).toBe(true);
  });

  it('are refused if a variable makes them invalid', () => {
    const { literals } = extracted('query ($i: ID! = "1") { nodes(nodeIds: [$i]) { nodeId } }');
    expect(() => literals.addTo({ i: null })).toThrow('nodeIds: has null where it must not.');
  });
});

describe('their price', () => {
  const priceOf = (text: string, variables = {}) =>
    new Operations(schema, () => {}).prepare({ query: text, variables }).cost;
  const repeated = (count: number) => `[${Array(count).fill('sold').join(' ')}]`;
  const pets = (status: string, first = 1) =>
    `pets(first: ${first}, filter: {status: ${status}}) { nodes { id } }`;

  it('has them weigh 1 each, for each row that they are used for, beyond the first 32 of a field', () => {
    const below = (status: string) => `categories(first: 50) { nodes { ${pets(status)} } }`;
    expect(priceOf(`{ ${below(repeated(32))} }`)).toBe(1);
    // 50 rows of 50 values and an id; the rest is free.
    expect(priceOf(`{ ${below(repeated(80))} }`)).toBe(1);
    expect(priceOf(`{ ${below(repeated(82))} }`)).toBe(2);
    expect(priceOf(`{ ${below(repeated(1_900))} }`)).toBe(38);
    const variable = `query ($s: [PetStatus!]) { ${below('$s')} }`;
    expect(priceOf(variable, { s: Array(1_900).fill('sold') })).toBe(38);
    expect(() => priceOf(variable, { s: Array(8_500).fill('sold') })).toThrow('maximum is 50');
    expect(priceOf(`{ ${pets(repeated(1_900))} }`)).toBe(1);
  });

  it('depends on the variables every time', () => {
    const operations = new Operations(schema, () => {});
    const text = `query ($s: [PetStatus!]) { categories(first: 50) { nodes { ${pets('$s')} } } }`;
    const costs = [undefined, 1, 1_900, 1].map((count) => {
      const variables = count === undefined ? {} : { s: Array(count).fill('sold') };
      return operations.prepare({ query: text, variables }).cost;
    });
    expect(costs).toEqual([1, 1, 38, 1]);
  });
});

describe('a list of literals', () => {
  const kit = useGateway(sqlite);

  afterEach(() => vi.restoreAllMocks());

  it('is coerced once for all rows, however often it is sent', async () => {
    const { gateway } = kit;
    await makeWorld(kit);
    const parseLiteral = vi.spyOn(GraphQLEnumType.prototype, 'parseLiteral');
    const status = Array(40).fill('sold').join(' ');
    const text = `{ categories(first: 50) { nodes { pets(first: 1, filter: {status: [${status}]}) { nodes { id } } } } }`;
    const results = [];
    for (let i = 0; i < 4; i++) results.push(dataOf(await query(gateway, text)));
    expect(new Set(results.map((data) => JSON.stringify(data))).size).toBe(1);
    expect(results[0].categories.nodes.length).toBeGreaterThan(1);
    // Validated twice, coerced twice: the first use of a document leaves nothing behind.
    expect(parseLiteral.mock.calls.length).toBeLessThanOrEqual(4 * 40);
  });
});
