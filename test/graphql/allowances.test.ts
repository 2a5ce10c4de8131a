import { afterEach, beforeAll, expect, it } from 'vitest';
import { ALLOWANCES, type Metered } from '../../src/foundation/meter.ts';
import { makeWorld, onEachEngine, query } from '../kit/petstore.ts';

/** What draws on each allowance. Without one it would go on, whatever it had paid. */
const REFUSED: readonly (readonly [what: Metered, operation: string])[] = [
  ['entries', '{ pets { nodes { id } } }'],
  ['entries', '{ category(id: $C) { pets { nodes { id } } } }'],
  ['entries', '{ inventory { nodes { id } } }'],
  ['records', '{ pet(id: $P) { id } }'],
  ['records', '{ pets { nodes { id } } }'],
  ['records', '{ category(id: $C) { pets { nodes { id } } } }'],
  ['counted', '{ pets(filter: {name: "r"}) { totalCount } }'],
  ['counted', '{ category(id: $C) { pets(filter: {name: "r"}) { totalCount } } }'],
];
/** What ends a page of events early on MongoDB; the embedded engine reads no more than a page has. */
const ENDED_EARLY: readonly Metered[] = ['events'];

onEachEngine('allowances', (kit) => {
  const table: Record<string, object> = ALLOWANCES;
  const before = { ...table };
  let world: Record<string, string>;
  const without = (what: Metered) => {
    table[what] = { ...table[what], base: 0, perUnit: 0 };
  };

  beforeAll(async () => {
    world = (await makeWorld(kit)) as never;
  });
  afterEach(() => {
    Object.assign(table, before);
  });

  it.each(REFUSED)('of %s bound %s', async (what, operation) => {
    const text = operation.replace(/\$([CP])/g, (_, name) => world[name]!);
    const variables = { first: 1 };
    expect((await query(kit.gateway, text, variables)).json.errors).toBeUndefined();
    without(what);
    const [verb, ...rest] = ALLOWANCES[what].what.split(' ');
    const sent = await query(kit.gateway, text, variables);
    expect(sent.json.errors?.[0], sent.about).toMatchObject({
      message: `The operation ${verb} more than 0 ${rest.join(' ')}.`,
      extensions: { code: 'QUERY_TOO_COMPLEX', status: 400 },
    });
  });

  it('have a test each', () => {
    const tested = new Set([...REFUSED.map(([what]) => what), ...ENDED_EARLY]);
    expect([...tested].toSorted()).toEqual(Object.keys(ALLOWANCES).toSorted());
  });
});
