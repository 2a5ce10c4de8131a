import { createHash } from 'node:crypto';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { api } from '../../../src/api.ts';
import { Category } from '../../../src/domains/category/category.ts';
import { WEBHOOKS } from '../../../src/webhooks/stored-webhooks.ts';
import type { Reply } from '../../kit/gateway.ts';
import { connectCurrent, connectEarlier, META, rpc } from '../../kit/mcp.ts';
import { expectRefusal, makeWorld, onAnyEngine, send, sqlite, useGateway } from '../../kit/petstore.ts';

const BROWSING = { key: null, headers: { accept: 'text/html' } };
const LARGEST = '9223372036854775807';

const ajv = new Ajv({ strict: false });
(addFormats as unknown as (ajv: Ajv) => void)(ajv);

onAnyEngine('MCP', (kit, { name: engine }) => {
  const clients = [
    ['2026-07-28', connectCurrent],
    ['2025-11-25', connectEarlier],
  ] as const;
  // What differs between the revisions is above the store.
  describe.each(clients.slice(0, engine === 'sqlite' ? 2 : 1))(
    'with the official client of %s',
    (_version, connect) => {
      it('offers every operation but replacements and streams as a tool, and GraphQL', async () => {
        const agent = await connect(kit.gateway);
        const expected = api.routes
          .filter(({ method, path }) => method !== 'PUT' && !/^\/keys?\b(?!$)|^\/keys$/.test(path))
          .map(({ operationId }) => operationId);
        expect([...agent.tools.keys()]).toEqual([...expected, 'graphql', 'schema'].sort());
        for (const [name, tool] of agent.tools) {
          const method = api.routes.find(({ operationId }) => operationId === name)?.method ?? 'GET';
          expect(tool.annotations, name).toMatchObject({
            openWorldHint: false,
            ...(method === 'GET' ? { readOnlyHint: true } : { destructiveHint: method === 'DELETE' }),
            ...((method === 'PATCH' || method === 'DELETE') && { idempotentHint: true }),
          });
          expect(tool.description!.length, name).toBeGreaterThanOrEqual(10);
          expect(ajv.validateSchema(tool.inputSchema), name).toBe(true);
          // Some agents' dialects of JSON Schema have no lists of types.
          expect(JSON.stringify(tool), name).not.toContain('"type":[');
          const { properties } = tool.inputSchema as { properties: Record<string, { description?: string }> };
          for (const [argument, { description }] of Object.entries(properties))
            expect(description, `${name} ${argument}`).toMatch(/\w/);
        }
        expect(agent.tools.get('deletePet')!.description).toMatch(/Refused while the pet has .*orders/);
        await agent.close();
      });

      it('answers every tool as its outputSchema says, with exact ids', async () => {
        const agent = await connect(kit.gateway);
        const { C, P, O } = await makeWorld(kit);
        const call = async (name: string, args: object = {}) => {
          const { value, error } = await agent.call(name, args);
          expect(error, name).toBeUndefined();
          const { inputSchema, outputSchema } = agent.tools.get(name)!;
          expect(ajv.validate(inputSchema, args), `${name} ${ajv.errorsText()}`).toBe(true);
          expect(ajv.validate(outputSchema!, value), `${name} ${ajv.errorsText()}`).toBe(true);
          return value;
        };
        const id = String(C);
        const pet = String(P);
        const order = String(O);
        const created = await call('createPet', { name: 'Ada', categoryId: id, idempotencyKey: `a-${C}` });
        expect(created).toEqual({
          id: expect.stringMatching(/^\d+$/),
          name: 'Ada',
          status: 'available',
          categoryId: id,
        });
        expect(await call('createPet', { name: 'Ada', categoryId: id, idempotencyKey: `a-${C}` })).toEqual(
          created,
        );
        expect(await call('getPet', { petId: created.id })).toEqual(created);
        expect(await call('updatePet', { petId: created.id, status: 'sold' })).toMatchObject({
          status: 'sold',
        });
        expect(await call('updatePet', { petId: created.id })).toMatchObject({ status: 'sold' });
        expect(await call('updateInventory', { petId: created.id })).toMatchObject({ quantity: 0 });
        const none = await call('listPets', { status: [] });
        const query0 = '{ pets(filter: { status: [] }) { nodes { id } } }';
        expect(none.items).toEqual((await call('graphql', { query: query0 })).data.pets.nodes);
        const page = await call('listPets', { limit: 1, status: ['available', 'sold'], categoryId: id });
        expect(page).toMatchObject({ items: [{ categoryId: id }], after: expect.any(String) });
        const named = { categoryId: id, name: 'ADA', sort: '-name' };
        expect((await call('listPets', named)).items).toEqual([{ ...created, status: 'sold' }]);
        const rest = await call('listPetsOfCategory', { categoryId: id, after: page.after });
        expect(rest.after).toBeUndefined();
        await call('createOrder', { id: LARGEST, petId: pet, quantity: 2 }).then((made) =>
          expect(made.id).toBe(LARGEST),
        );
        expect(await call('getOrder', { orderId: LARGEST })).toMatchObject({ id: LARGEST, petId: pet });
        expect(await call('updateOrder', { orderId: LARGEST, remove: ['quantity'] })).not.toHaveProperty(
          'quantity',
        );
        expect(await call('deleteOrder', { orderId: LARGEST })).toEqual({ id: LARGEST });
        expect(await call('updateInventory', { petId: pet, quantity: 7 })).toMatchObject({
          petId: pet,
          quantity: 7,
        });
        await call('getInventoryItem', { petId: pet });
        await call('getOrder', { orderId: order });
        const category = await call('createCategory', { name: `Birds ${C}`, description: 'They sing' });
        const described = { categoryId: category.id, remove: ['description'] };
        expect(await call('updateCategory', described)).not.toHaveProperty('description');
        expect(await call('deleteCategory', { categoryId: category.id })).toEqual({ id: category.id });
        expect(await call('deletePet', { petId: created.id })).toEqual({ id: created.id });
        for (const name of ['listCategories', 'listOrders', 'listInventory', 'getKey', 'listUsage'])
          await call(name);
        const events = await call('listEvents', { type: ['pet.deleted'] });
        expect(events.items.at(-1)).toMatchObject({ type: 'pet.deleted', data: { id: created.id } });
        expect(events.after).toEqual(expect.any(String));
        expect(await call('graphql', { query: '{ pet(id: "999") { id } }' })).toEqual({
          data: { pet: null },
        });
        const variables = { id: pet };
        const query = 'query ($id: ID!) { pet(id: $id) { id inventory { quantity } } }';
        expect(await call('graphql', { query, variables })).toEqual({
          data: { pet: { id: pet, inventory: { quantity: 7 } } },
        });
        const { schema } = await call('schema');
        expect(schema).toContain('type Pet ');
        expect(schema).not.toContain('"""');
        await agent.close();
      });

      it('answers what an agent does wrong as a result that says what to do', async () => {
        const agent = await connect(kit.gateway);
        const errorOf = async (name: string, args: object) => (await agent.call(name, args)).error;
        expect(await errorOf('getPet', { petId: '999999' })).toMatch(
          /^NOT_FOUND: There is no pet 999999\. A list tool/,
        );
        expect(await errorOf('getPet', {})).toMatch(/^VALIDATION_FAILED: petId: is required\./);
        expect(await errorOf('getPet', { petId: '0', colour: 'red' })).toMatch(
          /petId: must be .*; colour: is not a known/,
        );
        for (const name of ['', 'idempotencyKey'])
          expect(await errorOf('listPets', { [name]: 'x' })).toBe(
            `VALIDATION_FAILED: ${name}: is not a known argument (known: status, categoryId, name, sort, limit, after). Correct the arguments and call again.`,
          );
        expect(await errorOf('listOrders', { complete: [] })).toMatch(/complete: must be true or false/);
        expect(await errorOf('listPets', { name: {}, status: 'sold,lost' })).toMatch(
          /name: must have 1 to .*; status: must be one of .*; send several as a list/,
        );
        for (const [remove, message] of [
          [['description'], 'must not name description, which has a value too'],
          [['name'], 'must be a list of description'],
          ['description', 'must be a list of description'],
        ] as const)
          expect(await errorOf('updateCategory', { categoryId: '1', description: 'x', remove })).toContain(
            `remove: ${message}`,
          );
        expect(await errorOf('updatePet', { petId: '1', remove: [] })).toMatch(
          /remove: is not a known field/,
        );
        expect(await errorOf('createPet', { categoryId: '1' })).toMatch(
          /^VALIDATION_FAILED: name: is required/,
        );
        expect(await errorOf('createPet', { name: 'A', categoryId: LARGEST })).toMatch(
          /^UNKNOWN_REFERENCE: /,
        );
        expect(await errorOf('createPet', { name: 'A', categoryId: '1', idempotencyKey: 'ä' })).toMatch(
          /idempotencyKey/,
        );
        expect(await errorOf('listPets', { limit: 1000 })).toMatch(/^VALIDATION_FAILED: limit: /);
        expect(await errorOf('listPets', { status: 'lost' })).toMatch(/^VALIDATION_FAILED: status: /);
        expect(await errorOf('graphql', { query: '{ nope }' })).toMatch(/^GRAPHQL_VALIDATION_FAILED: /);
        expect(await errorOf('graphql', { query: 'mutation { deletePet(id: 1) }' })).toMatch(/queries only/);
        expect(await errorOf('graphql', {})).toMatch(/^BAD_REQUEST: .* must have a query that is a string/);
        await agent.close();
      });
    },
  );

  it('takes null for what is not given, for every tool and argument', async () => {
    const { P, E } = await makeWorld(kit);
    const call = async (name: string, args: object | null) => {
      const { json, about } = await rpc(kit.gateway, 'tools/call', { name, arguments: args }).then(
        (reply) => ({
          ...reply,
          about: `${name} ${reply.text}`,
        }),
      );
      expect(json.result, about).toBeDefined();
      return json.result.structuredContent ?? json.result.content[0].text;
    };
    const { tools } = (await rpc(kit.gateway, 'tools/list')).json.result;
    for (const { name, inputSchema } of tools) {
      const { properties, required = [] } = inputSchema;
      const nothing = Object.fromEntries(Object.keys(properties).map((argument) => [argument, null]));
      const answer = await call(name, nothing);
      for (const argument of name === 'graphql' ? [] : required)
        expect(answer, name).toMatch(new RegExp(`${argument}: is required`));
      if (name === 'graphql') expect(answer).toMatch(/must have a query/);
      else if (required.length === 0 && !/^create|test/.test(name))
        expect(typeof (await call(name, null)), `${name} ${answer}`).toBe('object');
    }
    const path = `/categories/${E}`;
    await kit.gateway.call(path, { method: 'PATCH', body: { description: 'They swim' } });
    const before = (await kit.gateway.call(path)).json;
    const nulls = { name: null, description: null, remove: null, idempotencyKey: null };
    expect(await call('updateCategory', { categoryId: E, ...nulls })).toEqual({ ...before, id: E });
    expect(await call('updateInventory', { petId: P, quantity: null })).toMatchObject({ quantity: 5 });
    const variables = { id: null };
    const query = 'query ($id: ID) { pets(filter: {categoryId: $id}, first: 1) { nodes { id } } }';
    expect((await call('graphql', { query, variables })).data.pets.nodes).toHaveLength(1);
  });

  it('keeps ids in the data of events exact, and refuses a result that no agent reads', async () => {
    const { C } = await makeWorld(kit);
    await kit.gateway.call('/store/orders', { method: 'POST', body: `{"id":${LARGEST}}` });
    const graphql = async (query: string) =>
      (await rpc(kit.gateway, 'tools/call', { name: 'graphql', arguments: { query } })).json.result;
    const { structuredContent } = await graphql(
      '{ events(types: [order_created], first: 100) { nodes { data } } }',
    );
    expect(structuredContent.data.events.nodes.at(-1).data.id).toBe(LARGEST);
    await kit.gateway.store.table(Category).update(String(C), { description: '"'.repeat(2_000) });
    const names = Array.from({ length: 10 }, (_, n) => `a${n}: description`).join(' ');
    const below = `pets(first: 100) { nodes { category { ${names} } } }`;
    for (let n = 0; n < 60; n++)
      await kit.gateway.call('/pets', { method: 'POST', body: { name: 'A', categoryId: Number(C) } });
    const { isError, content } = await graphql(`{ ${below} b: ${below} }`);
    expect([isError, content[0].text]).toEqual([
      true,
      expect.stringMatching(/^QUERY_TOO_COMPLEX: The result has [\d,]+ characters; .* Ask for fewer/),
    ]);
  });

  it('shares budget, headers and log with the other interfaces', async () => {
    const { P } = await makeWorld(kit);
    const key = await kit.gateway.newKey('free');
    const { headers } = await rpc(
      kit.gateway,
      'tools/call',
      { name: 'getPet', arguments: { petId: String(P) } },
      { key },
    );
    expect(headers['x-ratelimit-remaining']).toBe('59');
    await rpc(kit.gateway, 'tools/list', {}, { key });
    const query = `{ categories(first: 50) { nodes { pets(first: 10) { nodes { id } } } } }`;
    const { headers: after } = await rpc(
      kit.gateway,
      'tools/call',
      { name: 'graphql', arguments: { query } },
      { key },
    );
    expect(after['x-ratelimit-remaining']).toBe('53');
    const line = kit.gateway.logs.findLast((text) => text.includes('"operation":"getPet"'))!;
    expect(JSON.parse(line)).toMatchObject({ transport: 'mcp', path: '/mcp', status: 200, units: 1 });
    const { text } = await kit.gateway.call('/metrics');
    expect(text).toMatch(/petstore_requests_total\{transport="mcp",operation="getPet",status="200"\}/);
  });
});

describe('MCP over HTTP', () => {
  const kit = useGateway(sqlite);
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    send(kit.gateway, 'POST /mcp', { body, headers });

  it('is named by the landing page and the console', async () => {
    for (const path of ['/', '/console'])
      expect((await send(kit.gateway, path, BROWSING)).text).toContain('/mcp');
  });

  it('is discovered', async () => {
    const { json } = await rpc(kit.gateway, 'server/discover');
    expect(json.result).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      cacheScope: 'private',
    });
  });

  const stateless = (method: string, more: object = {}) => ({ method, params: { _meta: META, ...more } });
  const headers = (method: string, version = '2026-07-28') => ({
    'mcp-protocol-version': version,
    'mcp-method': method,
  });
  const LIST = 'tools/list';
  const CALL = 'tools/call';
  const OTHER_VERSION = { ...META, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };

  it.each<[string, object, Record<string, string>, number, number]>([
    [
      'an unknown version',
      stateless(LIST, { _meta: OTHER_VERSION }),
      headers(LIST, '2099-01-01'),
      400,
      -32022,
    ],
    ['a header with another version', stateless(LIST), headers(LIST, '2025-11-25'), 400, -32020],
    ['no header of the version', stateless(LIST), { 'mcp-method': LIST }, 400, -32020],
    ['another method in the header', stateless(LIST), headers(CALL), 400, -32020],
    ['no name in the headers', stateless(CALL, { name: 'getPet' }), headers(CALL), 400, -32020],
    ['no _meta', { method: LIST }, headers(LIST), 400, -32602],
    ['an unknown method', stateless('resources/list'), headers('resources/list'), 404, -32601],
    [
      'a subscription',
      stateless('subscriptions/listen', { notifications: {} }),
      headers('subscriptions/listen'),
      404,
      -32601,
    ],
    ['a subscription of an earlier revision', { method: 'subscriptions/listen' }, {}, 200, -32601],
    ['another method than subscribing', stateless('subscriptions/listen'), headers(LIST), 400, -32020],
    ['an unknown method of an earlier revision', { method: 'resources/list' }, {}, 200, -32601],
    ['an unknown tool', { method: CALL, params: { name: 'nope' } }, {}, 200, -32602],
    [
      'arguments that are no object',
      { method: CALL, params: { name: 'getPet', arguments: [1] } },
      {},
      200,
      -32602,
    ],
  ])('refuses %s by the specified code', async (_what, message, headers, status, code) => {
    const sent = await post({ jsonrpc: '2.0', id: 'a', ...message }, headers);
    expect([sent.status, sent.json.error.code, sent.json.id], sent.about).toEqual([status, code, 'a']);
    expect(sent.headers['x-ratelimit-limit'], sent.about).toBeDefined();
  });

  it('takes the name of a tool in Base64', async () => {
    const call = { jsonrpc: '2.0', id: 1, ...stateless(CALL, { name: 'listCategories' }) };
    const sentAs = async (name: string) => (await post(call, { ...headers(CALL), 'mcp-name': name })).json;
    const { result } = await sentAs('listCategories');
    expect(result.isError).toBeUndefined();
    expect((await sentAs(`=?base64?${btoa('listCategories')}?=`)).result).toEqual(result);
  });

  it('runs nothing for a notification', async () => {
    const count = async () => (await send(kit.gateway, '/categories')).json.length;
    const before = await count();
    const params = { name: 'createCategory', arguments: { name: 'Silent' } };
    for (const args of [{}, headers(CALL)]) {
      const about = 'mcp-method' in args ? { _meta: META } : {};
      const call = { jsonrpc: '2.0', method: CALL, params: { ...params, ...about } };
      expect((await post(call, { ...args, 'mcp-name': 'createCategory' })).status).toBe(202);
    }
    expect(await count()).toBe(before);
  });

  it('refuses lists without members and unknown arguments, and says which there are', async () => {
    const call = async (name: string, args: object) => {
      const { json } = await rpc(kit.gateway, 'tools/call', { name, arguments: args });
      expect(json.result.isError).toBe(true);
      return json.result.content[0].text;
    };
    expect(await call('countPets', { by: [] })).toMatch(/^VALIDATION_FAILED: by: must be one of status,/);
    expect(await call('countOrders', { by: [] })).toMatch(/^VALIDATION_FAILED: by: must be one of complete/);
    expect(await call('listEvents', { type: [] })).toMatch(/^VALIDATION_FAILED: type: must be one of /);
    expect(await call('getPet', { petId: '1', foo: 1 })).toMatch(
      /^VALIDATION_FAILED: foo: is not a known argument \(known: petId\)/,
    );
    const query = 'query A { __typename } query B { __typename }';
    expect(await call('graphql', { query, operationName: 'A' })).toMatch(
      /^VALIDATION_FAILED: operationName: is not a known argument \(known: query, variables\)/,
    );
    expect(await call('schema', { foo: 1 })).toMatch(/^VALIDATION_FAILED: foo: is not a known argument/);
  });

  it('names the tool that an unknown one is nearest to', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: CALL, params: { name: 'listPet' } };
    expect((await post(call)).json.error.message).toBe('Unknown tool: listPet. Did you mean listPets?');
  });

  it.each<[string, string | object, number, object?]>([
    ['what is not JSON', '{', -32700],
    ['deep JSON', '['.repeat(40_000), -32700],
    ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'ping' }], -32600],
    ['a large id', `{"jsonrpc":"2.0","id":${LARGEST},"method":"ping"}`, -32600],
    ['another version of JSON-RPC', { id: 1, method: 'ping' }, -32600],
    ['null', 'null', -32600],
    [
      'an unknown revision',
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      -32000,
      { 'mcp-protocol-version': '1.0' },
    ],
    ['an id that is null', { jsonrpc: '2.0', id: null, method: 'ping' }, -32600],
  ])('refuses %s', async (_what, body, code, headers) => {
    const sent = await post(body, { 'content-type': 'application/json', ...headers });
    expect([sent.status, sent.json.error.code], sent.about).toEqual([400, code]);
  });

  it('serves clients of earlier revisions without sessions', async () => {
    for (const [requested, negotiated] of [
      ['2025-06-18', '2025-06-18'],
      ['2025-11-25', '2025-11-25'],
      ['1.0', '2025-11-25'],
    ]) {
      const params = {
        protocolVersion: requested,
        capabilities: {},
        clientInfo: { name: 'x', version: '1' },
      };
      const header = { 'mcp-protocol-version': requested! };
      const { json, headers } = await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params }, header);
      expect(json.result.protocolVersion).toBe(negotiated);
      expect(headers['mcp-session-id']).toBeUndefined();
    }
    const { status, text } = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect([status, text]).toEqual([202, '']);
  });

  it('supports POST only, and bodies of 100 kB in JSON', async () => {
    kit.clock.time += 1_000;
    // Beyond what is free in a second, each costs a unit.
    for (const method of [...Array(10).fill('GET'), 'DELETE']) {
      const { status, headers, json } = await send(kit.gateway, `${method} /mcp`);
      expect([status, headers.allow, json.error.code]).toEqual([405, 'POST, OPTIONS', -32000]);
    }
    expect((await post('x'.repeat(100_001))).status).toBe(413);
    expect((await post('{}', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post('{}', { accept: 'text/html' })).status).toBe(406);
  });

  it('refuses keys that are not valid, without starting OAuth', async () => {
    const { status, headers, json } = await rpc(kit.gateway, 'tools/list', {}, { key: null });
    expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer realm="petstore"']);
    expect(json).toMatchObject({
      jsonrpc: '2.0',
      error: { code: -32000, data: { code: 'UNAUTHENTICATED', status: 401 } },
    });
    for (const key of [null, kit.gateway.key]) {
      for (const path of [
        'oauth-protected-resource',
        'oauth-protected-resource/mcp',
        'oauth-authorization-server',
      ])
        expect(await send(kit.gateway, `/.well-known/${path}`, { key })).toMatchObject({
          status: 404,
          headers: { 'x-ratelimit-limit': '60' },
        });
    }
  });

  it('returns the time to retry, and lists its tools on an exhausted budget', async () => {
    const key = await kit.gateway.newKey('enterprise', { perMinute: 1, perDay: 10 });
    const call = () => rpc(kit.gateway, 'tools/call', { name: 'listPets' }, { key });
    expect((await call()).json.result.structuredContent).toEqual({ items: [] });
    const late = await call();
    expect(late.json.result ?? late.json.error).toMatchObject(
      late.status === 200
        ? {
            isError: true,
            content: [{ text: expect.stringMatching(/^RATE_LIMITED: .*Retry after \d+ s\./) }],
          }
        : {
            code: -32000,
            message: expect.stringMatching(/Retry after \d+ s\./),
            data: { code: 'RATE_LIMITED' },
          },
    );
    expect((await rpc(kit.gateway, 'tools/list', {}, { key })).json.result.tools.length).toBeGreaterThan(20);
  });
});

onAnyEngine('MCP with a restricted key', (kit) => {
  const callAs = async (key: string, name: string, args: object = {}) => {
    const reply = await rpc(kit.gateway, 'tools/call', { name, arguments: args }, { key });
    const { isError = false, structuredContent, content } = reply.json.result;
    return isError ? content[0].text : structuredContent;
  };

  it('lists and runs the tools that its scopes permit', async () => {
    const key = await kit.gateway.restrictedKey({ scopes: ['pets:read'] });
    const agent = await connectCurrent(kit.gateway, key);
    expect([...agent.tools.keys()]).toEqual([
      'countPets',
      'getKey',
      'getPet',
      'graphql',
      'listPets',
      'listPetsOfCategory',
      'listUsage',
      'listUsageOfDay',
      'schema',
    ]);
    await agent.close();
    expect(await callAs(key, 'listPets')).toMatchObject({ items: expect.any(Array) });
    expect(await callAs(key, 'listCategories')).toMatch(/^FORBIDDEN: .*categories:read/);
    expect(await callAs(key, 'graphql', { query: '{ orders { nodes { id } } }' })).toMatch(
      /^FORBIDDEN: .*orders:read/,
    );
  });

  it('runs only the documents of its list by the graphql tool, and all others', async () => {
    const text = '{ pets(first: 1) { totalCount } }';
    const hash = createHash('sha256').update(text).digest('hex');
    await kit.gateway.store.addDocuments([{ list: 'agents', id: 'pets', hash, text, addedAt: 0 }]);
    const key = await kit.gateway.restrictedKey({ documents: 'agents' });
    expect(await callAs(key, 'graphql', { query: text })).toMatchObject({
      data: { pets: { totalCount: expect.any(Number) } },
    });
    expect(await callAs(key, 'graphql', { query: `${text} ` })).toMatch(/^FORBIDDEN: /);
    expect(await callAs(key, 'listPets')).toMatchObject({ items: expect.any(Array) });
  });

  it('is refused while it is banned, with the time to wait', async () => {
    const key = await kit.gateway.newKey('enterprise', { perMinute: 1, perDay: 1_000 });
    let last: Reply;
    do last = await rpc(kit.gateway, 'tools/call', { name: 'listPets' }, { key });
    while (last.status !== 403 && last.json.result?.content?.[0]?.text.startsWith('API_KEY_BANNED') !== true);
    const banned = await rpc(kit.gateway, 'tools/list', {}, { key });
    expect(banned.status).toBe(403);
    expect(banned.json.error).toMatchObject({
      code: -32000,
      message: expect.stringMatching(/Retry after \d+ s\./),
      data: { code: 'API_KEY_BANNED', status: 403, retryAfter: expect.any(Number) },
    });
  });

  it('calls the tools for webhooks and usage', async () => {
    const key = await kit.gateway.restrictedKey({});
    const wanted = { url: 'https://example.com/hook', types: ['pet.created'], after: null };
    const webhook = await callAs(key, 'createWebhook', wanted);
    const update = (args: object) => callAs(key, 'updateWebhook', { webhookId: webhook.id, ...args });
    expect((await update({ types: null, enabled: false })).types).toEqual(['pet.created']);
    expect(await update({ remove: ['types'] })).toEqual(
      expect.not.objectContaining({ types: expect.anything() }),
    );
    expect(webhook.secret).toMatch(/^whsec_/);
    expect((await callAs(key, 'listWebhooks')).items).toHaveLength(1);
    const rotate = (args: object) => callAs(key, 'rotateWebhookSecret', { webhookId: webhook.id, ...args });
    const { secret } = await rotate({ grace: 0 });
    const secretsOf = async () =>
      (await kit.gateway.store.objects(WEBHOOKS).all())[0]!.settings.secrets.map((each) => each.secret);
    expect(await secretsOf()).toEqual([secret]);
    const { secret: latest } = await rotate({});
    expect(await secretsOf()).toEqual([latest, secret]);
    expect(await callAs(key, 'deleteWebhook', { webhookId: webhook.id })).toEqual({ id: webhook.id });
    expect(await callAs(key, 'getKey')).toMatchObject({ plan: 'enterprise' });
    expect(await callAs(key, 'listUsage')).toMatchObject({ items: expect.any(Array) });
  });
});

describe('MCP for browsers', () => {
  const kit = useGateway(sqlite, { CORS_ORIGIN: 'https://app.example' });

  it('refuses other origins, and allows its headers in preflight', async () => {
    const from = (origin: string) => rpc(kit.gateway, 'tools/list', {}, { headers: { origin } });
    expect((await from('https://app.example')).status).toBe(200);
    const { status, json } = await from('https://evil.example');
    expect([status, json.error.data.code]).toEqual([403, 'FORBIDDEN']);
    const headers = {
      origin: 'https://app.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'mcp-method, mcp-protocol-version',
    };
    const preflight = await send(kit.gateway, 'OPTIONS /mcp', { headers, key: null });
    expect(preflight.headers['access-control-allow-headers']).toContain('mcp-method');
  });
});

describe('MCP without introspection, after an enforced sunset', () => {
  const kit = useGateway(sqlite, { INTROSPECTION: 'off', SUNSET_ENFORCED: 'on', SUNSET_DATE: '2126-11-20' });

  it('lists and runs no schema, and the field of an operation whose path has ended', async () => {
    const { P } = await makeWorld(kit);
    const { tools } = (await rpc(kit.gateway, 'tools/list')).json.result;
    const names = tools.map(({ name }: { name: string }) => name);
    expect(names).toContain('graphql');
    expect(names).toContain('getPet');
    expect(names).not.toContain('schema');
    expectRefusal(await send(kit.gateway, `/pets/${P}`), 'GONE');
    const call = (name: string, args: object = {}) =>
      rpc(kit.gateway, 'tools/call', { name, arguments: args });
    expect((await call('schema')).json.error.code).toBe(-32602);
    const { structuredContent } = (await call('getPet', { petId: P })).json.result;
    expect(structuredContent).toMatchObject({ id: P, name: 'Rex' });
  });
});

describe('MCP=off', () => {
  const kit = useGateway(sqlite, { MCP: 'off' });

  it('serves nothing at /mcp', async () => {
    const refused = await rpc(kit.gateway, 'tools/list');
    expect([refused.status, refused.text]).toEqual([404, expect.not.stringContaining('Did you mean')]);
    for (const path of ['/', '/console'])
      expect((await send(kit.gateway, path, BROWSING)).text).not.toContain('/mcp');
  });
});
