import { isInputObjectType } from 'graphql';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { RESOURCES } from '../../src/domains/routes.ts';
import { inputRulesOf } from '../../src/kit/input-rules.ts';
import { schema } from '../../src/schema.ts';
import { META } from './mcp.ts';
import { dataOf, query, type Sent, send, sqlite, useGateway } from './petstore.ts';

/** The rules of all bodies and inputs. */
const RULES = [
  ...RESOURCES.flatMap(({ routes }) => routes.flatMap(({ body }) => body?.rules ?? [])),
  ...Object.values(schema.getTypeMap()).flatMap((type) =>
    isInputObjectType(type) ? (inputRulesOf(type) ?? []) : [],
  ),
];

describe('each input is parsed once, and resolvers are given what came of it', () => {
  const kit = useGateway(sqlite);
  // What every way of parsing with zod goes through.
  const spies = [...new Set(RULES)].map(({ _zod }) => vi.spyOn(_zod, 'run'));
  const parses = () => spies.reduce((count, { mock }) => count + mock.calls.length, 0);
  let id = 0;

  beforeAll(async () => {
    id = (await send(kit.gateway, 'POST /categories', { body: { name: 'Dogs' } })).json.id;
  });
  beforeEach(() => {
    vi.clearAllMocks();
  });
  afterAll(() => {
    vi.restoreAllMocks();
  });

  const create = 'mutation ($input: NewPet!) { createPet(input: $input) { name status } }';
  const tool = (name: string, args: object) => ({
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
      accept: 'application/json, text/event-stream',
    },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta: META } },
  });
  const ways: [string, (name: string) => Promise<Sent>, (sent: Sent) => unknown][] = [
    [
      'POST',
      (name) => send(kit.gateway, 'POST /pets', { body: { name, categoryId: id } }),
      ({ json: { name, status } }) => ({ name, status }),
    ],
    [
      'PUT',
      (name) => send(kit.gateway, 'PUT /pets/1', { body: { name, categoryId: id } }),
      ({ json: { name, status } }) => ({ name, status }),
    ],
    [
      'PATCH',
      (name) => send(kit.gateway, 'PATCH /pets/1', { body: { name } }),
      ({ json: { name, status } }) => ({ name, status }),
    ],
    [
      'a tool',
      (name) => send(kit.gateway, 'POST /mcp', tool('createPet', { name, categoryId: String(id) })),
      ({ json }) => {
        const { name, status } = json.result.structuredContent;
        return { name, status };
      },
    ],
    [
      'a variable',
      (name) => query(kit.gateway, create, { input: { name, categoryId: id } }),
      (sent) => dataOf(sent).createPet,
    ],
    [
      'the default of a variable',
      (name) => {
        const byDefault = `$input: NewPet! = { name: "${name}", categoryId: ${id} }`;
        return query(kit.gateway, create.replace('$input: NewPet!', byDefault));
      },
      (sent) => dataOf(sent).createPet,
    ],
  ];

  it.each(ways)('as %s', async (_way, call, petOf) => {
    // The first is interpreted, and later ones are compiled.
    for (let use = 1; use <= 3; use++) {
      vi.clearAllMocks();
      const sent = await call('  Rex ');
      expect(petOf(sent), sent.about).toEqual({ name: 'Rex', status: 'available' });
      expect(parses(), `use ${use}`).toBeLessThanOrEqual(1);
    }
  });
});
