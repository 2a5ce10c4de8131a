import { expect, it } from 'vitest';
import { api } from '../../../src/api.ts';
import type { ErrorCode } from '../../../src/foundation/errors.ts';
import { INSTANT_RULE } from '../../../src/foundation/fields.ts';
import { hasOwnVariables } from '../../../src/rest-routes/route.ts';
import { idFieldOf } from '../../../src/rest-routes/shape.ts';
import { pairsOf } from '../../kit/cases.ts';
import {
  exactly,
  expectAnswer,
  expectRefusal,
  fill,
  makeWorld,
  onAnyEngine,
  PET_FIELDS,
  send,
  type World,
} from '../../kit/petstore.ts';
import { create, toBody, valuesOf } from '../../kit/records.ts';

/**
 * Requests with their bodies, each above what it is answered with: the status and the body, or the code and the message.
 * `$C` and so on stand for the ids of makeWorld, `$N` for the id of the created record.
 */
const casesOf = (table: string) =>
  pairsOf(table).map(([above, below]) => {
    const [, request, body] = /^(\w+ \S+) ?(.*)$/.exec(above)!;
    const [, outcome, expected] = /^(\w+) ?(.*)$/.exec(below)!;
    return [request!, body || undefined, outcome!, expected!] as const;
  });

const LARGEST = '9223372036854775807';
const DOGS = '{"id":$C,"name":"Dogs","description":"They bark"}';
const REX = '{"id":$P,"name":"Rex","categoryId":$C,"status":"sold"}';
const FIFI = '{"id":$F,"name":"Fifi","categoryId":$C,"status":"available"}';
const ORDER = '{"id":$O,"petId":$P,"quantity":2,"shipDate":"2026-01-31T09:30:00Z","complete":false}';
const STOCK = '{"petId":$P,"quantity":5,"status":"sold"}';

const SUCCESSES = casesOf(String.raw`
GET /pets?categoryId=$C&sort=-name
  200 [${REX},${FIFI}]
GET /pets?categoryId=$E
  200 []
POST /pets {"name":"Tom","categoryId":$C}
  201 {"id":$N,"name":"Tom","categoryId":$C,"status":"available"}
POST /pets {"status":"pending","categoryId":$E,"name":"  Zoë 🐕\t"}
  201 {"id":$N,"name":"Zoë 🐕","categoryId":$E,"status":"pending"}
POST /pets {"name":"\"\\/\u00e9","categoryId":$C,"status":"sold"}
  201 {"id":$N,"name":"\"\\/é","categoryId":$C,"status":"sold"}
PUT /pets/$P {"name":"Max","categoryId":$E}
  200 {"id":$P,"name":"Max","categoryId":$E,"status":"available"}
PUT /pets/$P ${REX}
  200 ${REX}
PATCH /pets/$P {}
  200 ${REX}
PATCH /pets/$P {"id":$P,"status":"pending","categoryId":$E}
  200 {"id":$P,"name":"Rex","categoryId":$E,"status":"pending"}
DELETE /pets/$F
  204
POST /categories {"name":" Birds\n","description":" They fly "}
  201 {"id":$N,"name":"Birds","description":" They fly "}
GET /categories/$E
  200 {"id":$E,"name":"Fish"}
PUT /categories/$C {"name":"Cats"}
  200 {"id":$C,"name":"Cats"}
PATCH /categories/$C {"id":$C,"name":"Cats"}
  200 {"id":$C,"name":"Cats","description":"They bark"}
PATCH /categories/$C {"description":null}
  200 {"id":$C,"name":"Dogs"}
GET /categories/$C/pets?sort=-id
  200 [${FIFI},${REX}]
GET /categories/$C/pets?status=sold
  200 [${REX}]
POST /store/orders {}
  201 {"id":$N,"complete":false}
POST /store/orders {"shipDate":"2026-01-31T09:30:00+02:00"}
  201 {"id":$N,"shipDate":"2026-01-31T07:30:00Z","complete":false}
GET /store/orders/$B
  200 {"id":$B,"complete":false}
PUT /store/orders/$O {}
  200 {"id":$O,"complete":false}
PUT /store/orders/$B {"petId":$F,"complete":true}
  200 {"id":$B,"petId":$F,"complete":true}
PATCH /store/orders/$O {"id":$O,"complete":true}
  200 {"id":$O,"petId":$P,"quantity":2,"shipDate":"2026-01-31T09:30:00Z","complete":true}
PATCH /store/orders/$O {"petId":null,"quantity":null,"shipDate":null}
  200 {"id":$O,"complete":false}
GET /store/inventory/$F
  200 {"petId":$F,"quantity":0,"status":"available"}
PUT /store/inventory/$P {"quantity":0}
  200 {"petId":$P,"quantity":0,"status":"sold"}
PATCH /store/inventory/$P {}
  200 ${STOCK}
PATCH /store/inventory/$P {"status":"sold"}
  200 ${STOCK}
PATCH /store/inventory/$P {"petId":$P,"quantity":7}
  200 {"petId":$P,"quantity":7,"status":"sold"}
`);

const MISSING = '9223372036854775806';
const ID = `must be an integer from 1 to ${LARGEST}`;

/** With several errors, the code is that of the first check (docs/interface.md, "Errors"). */
const REFUSALS = casesOf(String.raw`
HEAD /store/orders/${MISSING}
  NOT_FOUND There is no order ${MISSING}.
GET /categories/${MISSING}/pets
  NOT_FOUND There is no category ${MISSING}.
PATCH /store/inventory/${MISSING} {"quantity":1}
  NOT_FOUND There is no pet ${MISSING}.
DELETE /pets/$P
  CONFLICT Pet $P cannot be deleted because it still has incomplete orders.
DELETE /categories/$C
  CONFLICT Category $C cannot be deleted because it still has pets.
POST /store/orders {"id":$O}
  CONFLICT Order id $O is taken.
POST /store/orders {"id":$O,"petId":${MISSING}}
  UNKNOWN_REFERENCE petId: there is no pet ${MISSING}.
PUT /pets/${MISSING} {"name":"Tom","categoryId":${MISSING}}
  NOT_FOUND There is no pet ${MISSING}.
POST /pets {}
  VALIDATION_FAILED name: is required; categoryId: is required.
POST /pets {"name":7,"categoryId":"1","status":"gone","colour":3,"id":1}
  VALIDATION_FAILED name: must be a string; categoryId: ${ID}; status: must be one of available, pending, sold; colour: is not a known field (known: ${PET_FIELDS}); id: is not a known field.
POST /pets {"name":" \t ","categoryId":$C}
  VALIDATION_FAILED name: must have 1 to 200 characters.
POST /pets {"name":"${'x'.repeat(201)}","categoryId":$C}
  VALIDATION_FAILED name: must have 1 to 200 characters.
POST /pets {"name":"a\u0000b","categoryId":$C}
  VALIDATION_FAILED name: must not contain control characters.
POST /pets {"name":"a\ud800b","categoryId":$C}
  VALIDATION_FAILED name: must not contain unpaired surrogates.
PUT /pets/$P {"id":"$P","name":"Max","categoryId":$C}
  VALIDATION_FAILED id: must equal the id in the path.
POST /categories {"description":7}
  VALIDATION_FAILED name: is required; description: must be a string.
POST /categories {"name":"x","description":"${'x'.repeat(2001)}"}
  VALIDATION_FAILED description: must have at most 2000 characters.
POST /categories {"name":"x","description":"a\nb"}
  VALIDATION_FAILED description: must not contain control characters.
PATCH /categories/$C {"id":$E,"x":1}
  VALIDATION_FAILED id: must equal the id in the path; x: is not a known field (known: name, description).
POST /store/orders {"id":0,"petId":-1,"quantity":0,"shipDate":"tomorrow","complete":"yes"}
  VALIDATION_FAILED id: ${ID}; petId: ${ID}; quantity: must be an integer from 1 to 2147483647; shipDate: ${INSTANT_RULE}; complete: must be true or false.
PATCH /store/orders/$O {"complete":null}
  VALIDATION_FAILED complete: must be true or false.
PUT /store/inventory/$P {}
  VALIDATION_FAILED quantity: is required.
PUT /store/inventory/$P {"quantity":-1,"nope":"sold"}
  VALIDATION_FAILED quantity: must be an integer from 0 to 2147483647; nope: is not a known field (known: quantity).
PATCH /store/inventory/$P {"status":"pending"}
  VALIDATION_FAILED status: cannot be changed here.
PUT /store/inventory/${MISSING} {"quantity":1,"status":"pending"}
  NOT_FOUND There is no pet ${MISSING}.
PATCH /store/inventory/$P {"id":$P}
  VALIDATION_FAILED id: is not a known field (known: quantity).
`);

onAnyEngine('REST operations', (kit, { name: engine }) => {
  /** The state that reads and refused calls leave as it is. */
  let reading: World | undefined;
  let refusing: World | undefined;

  it.each(SUCCESSES)('responds to %s %s with %s', async (request, body, status, expected) => {
    reading ??= await makeWorld(kit);
    const world = request.startsWith('GET') ? reading : await makeWorld(kit);
    const response = await send(kit.gateway, fill(request, world), {
      ...(body !== undefined && { body: fill(body, world), headers: { 'content-type': 'application/json' } }),
    });
    const isCreated = status === '201';
    expect(String(response.status), response.about).toBe(status);
    const path = fill(request, world).split(' ')[1]!;
    const created = response.headers.location?.slice(`${path}/`.length);
    if (isCreated)
      expect(response.headers.location, response.about).toMatch(new RegExp(`^${path}/[1-9][0-9]*$`));
    else expect(response.headers.location, response.about).toBeUndefined();
    if (expected !== '') expectAnswer(response, Number(status), fill(expected, { ...world, N: created }));
    else expect([response.text, response.headers['content-type']], response.about).toEqual(['', undefined]);

    // A read returns what the write returned, and 404 after a deletion.
    if (isCreated) expectAnswer(await send(kit.gateway, response.headers.location!), 200, response.text);
    if (/^P[UA]T/.test(request)) expectAnswer(await send(kit.gateway, path), 200, response.text);
    if (expected === '') expectRefusal(await send(kit.gateway, path), 'NOT_FOUND');
  });

  it.each(api.domains.map(({ record, resource }) => [resource.scope, record, resource.routes] as const))(
    'serves %s by the examples of their declaration',
    async (_scope, record, routes) => {
      const { store } = kit.gateway;
      for (const route of routes) {
        const { kind, method, pathParameter, body, shape, status, list } = route;
        const owner = api.records.find((candidate) => candidate.kind === kind)!;
        const id = pathParameter ? await create(store, owner) : '';
        const required = (route.query ?? []).filter(({ required }) => required);
        const parameters = required.map(({ name, schema }) => `?${name}=${(schema.enum as string[])[0]}`);
        const path = `${route.path.replace(/\{\w+\}/, id)}${parameters.join('')}`;
        const isOfRecord = body && !hasOwnVariables(route);
        const values = isOfRecord && (await valuesOf(store, record, Object.keys(body.rules.shape)));
        const content = values ? toBody(record, values) : body?.example;
        const sent = await send(kit.gateway, `${method} ${path}`, { body: content });
        expect(sent.status, sent.about).toBe(status);
        if (status === 204) expectRefusal(await send(kit.gateway, path), 'NOT_FOUND');
        if (list) expect(sent.json, sent.about).toBeInstanceOf(Array);
        else if (shape) expect(Object.keys(sent.json), sent.about).toContain(idFieldOf(shape));
        if (values) expect(exactly(sent.text)).toMatchObject(exactly(toBody(record, values)) as object);
        if (values) expectAnswer(await send(kit.gateway, sent.headers.location ?? path), 200, sent.text);
      }
    },
  );

  // Values are validated above the store.
  const refusals = REFUSALS.filter(([, , code]) => engine === 'sqlite' || code !== 'VALIDATION_FAILED');

  it.each(refusals)('responds to %s %s with %s', async (request, body, code, message) => {
    refusing ??= await makeWorld(kit);
    const world = refusing;
    const response = await send(kit.gateway, fill(request, world), {
      ...(body !== undefined && { body: fill(body, world) }),
    });
    if (request.startsWith('HEAD'))
      expect([response.status, response.text], response.about).toEqual([404, '']);
    else expectRefusal(response, code as ErrorCode, fill(message, world));
  });

  it('writes nothing of what it refuses, not even in part', async () => {
    const world = refusing!;
    expectAnswer(await send(kit.gateway, `/pets/${world.P}`), 200, fill(REX, world));
    expectAnswer(await send(kit.gateway, `/categories/${world.C}`), 200, fill(DOGS, world));
    expectAnswer(await send(kit.gateway, `/store/orders/${world.O}`), 200, fill(ORDER, world));
    expectAnswer(await send(kit.gateway, `/store/inventory/${world.P}`), 200, fill(STOCK, world));
  });

  it('accepts texts of the maximum length, counted in characters', async () => {
    const name = '🐕'.repeat(200);
    const description = 'é'.repeat(2000);
    const response = await send(kit.gateway, 'POST /categories', {
      body: { name: ` ${name} `, description },
    });
    expectAnswer(response, 201, { id: BigInt(response.headers.location!.split('/')[2]!), name, description });
  });

  it('shows the status of the pet in its inventory entry and does not change the stock on orders', async () => {
    const { P } = await makeWorld(kit);
    await send(kit.gateway, `PATCH /pets/${P}`, { body: { status: 'pending' } });
    await send(kit.gateway, 'POST /store/orders', { body: { petId: Number(P), quantity: 3 } });
    expectAnswer(await send(kit.gateway, `/store/inventory/${P}`), 200, {
      petId: BigInt(P),
      quantity: 5,
      status: 'pending',
    });
  });
});
