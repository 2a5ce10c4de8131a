import { describe, expect, it } from 'vitest';
import { FORMATS, TYPES } from '../../../src/transports/rest/media-types.ts';
import {
  expectAnswer,
  expectRefusal,
  fill,
  makeWorld,
  send,
  sqlite,
  useGateway,
} from '../../kit/petstore.ts';

const EXACT = 'application/json;IEEE754Compatible=true';
const LARGEST = '9223372036854775807';

describe('the format of a response', () => {
  it.each([
    [undefined, 'integer'],
    ['', 'integer'],
    ['*/*', 'integer'],
    ['application/json', 'integer'],
    ['application/json, text/plain, */*', 'integer'],
    [EXACT, 'string'],
    ['application/json; ieee754compatible=TRUE', 'string'],
    ['Application/JSON ; IEEE754COMPATIBLE = "true" ; charset=utf-8', 'string'],
    ['application/json;charset=utf-8;IEEE754Compatible=true', 'string'],
    ['application/json;IEEE754Compatible=false', 'integer'],
    ['application/json;IEEE754Compatible', undefined],
    [`${EXACT}, */*`, 'string'],
    [`text/html, ${EXACT};q=0.5`, 'string'],
    [`${EXACT}, application/json`, 'string'],
    [`application/json, ${EXACT}`, 'string'],
    [`${EXACT};q=0.5, application/json`, 'integer'],
    [`${EXACT};q=0.5, application/json;q=0.4`, 'string'],
    [`${EXACT};q=0.5, */*;q=0.6`, 'integer'],
    [`${EXACT};q=0, */*`, 'integer'],
    [`${EXACT};q=0`, undefined],
    [`${EXACT};q=0, application/json;q=0, */*`, undefined],
    ['application/json;q=0', undefined],
    ['application/*;q=0.1', 'integer'],
    ['application/*;IEEE754Compatible=true', 'integer'],
    ['text/html', undefined],
    ['application/xml;IEEE754Compatible=true', undefined],
  ])('maps Accept: %s to %s', (accept, format) => {
    expect(FORMATS[TYPES.choose(accept) ?? '']).toBe(format);
  });
});

describe('int64 ids as strings', () => {
  const kit = useGateway(sqlite);

  const exact = (line: string, body?: unknown, headers: Record<string, string> = {}) =>
    send(kit.gateway, line, {
      body,
      headers: { accept: EXACT, ...(body !== undefined && { 'content-type': EXACT }), ...headers },
    });

  it('returns ids as strings of digits, as stated by the Content-Type', async () => {
    const { C, P, O } = await makeWorld(kit);
    const pet = { id: P, name: 'Rex', categoryId: C, status: 'sold' };
    const category = { id: C, name: 'Dogs', description: 'They bark' };
    const order = { id: O, petId: P, quantity: 2, shipDate: '2026-01-31T09:30:00Z', complete: false };
    const entry = { petId: P, quantity: 5, status: 'sold' };
    for (const [line, status, body, expected] of [
      [`/pets/${P}`, 200, undefined, pet],
      [`/pets?categoryId=${C}&limit=1`, 200, undefined, [pet]],
      [`/categories/${C}`, 200, undefined, category],
      [`/store/orders/${O}`, 200, undefined, order],
      [`/store/inventory/${P}`, 200, undefined, entry],
      [`PUT /pets/${P}`, 200, { name: 'Rex', categoryId: C, status: 'sold' }, pet],
      [`PATCH /pets/${P}`, 200, { id: P, categoryId: C }, pet],
      [`PATCH /store/orders/${O}`, 200, { petId: P }, order],
      [`PATCH /store/inventory/${P}`, 200, {}, entry],
      [`PUT /store/inventory/${P}`, 200, entry, entry],
      ['POST /store/orders', 201, { id: LARGEST, petId: P }, { id: LARGEST, petId: P, complete: false }],
    ] as const) {
      const response = await exact(line, body);
      expect(response.status, response.about).toBe(status);
      expect(response.json, response.about).toStrictEqual(expected);
      expect(response.headers['content-type'], response.about).toBe(EXACT);
    }
    const plain = await send(kit.gateway, `/store/orders/${LARGEST}`);
    expectAnswer(plain, 200, `{"id":${LARGEST},"petId":${P},"complete":false}`);
    expectAnswer(await send(kit.gateway, `DELETE /store/orders/${LARGEST}`), 204);
  });

  it('accepts string and integer ids in an IEEE754Compatible body, and returns integers by default', async () => {
    const { C } = await makeWorld(kit);
    for (const contentType of [EXACT, 'application/json; charset=utf-8; ieee754compatible=true']) {
      for (const categoryId of [`"${C}"`, C]) {
        const response = await send(kit.gateway, 'POST /pets', {
          body: `{"name":"Tom","categoryId":${categoryId}}`,
          headers: { 'content-type': contentType },
        });
        expect(response.status, response.about).toBe(201);
        expect(response.text, response.about).toContain(`"categoryId":${C},`);
        expect(response.headers['content-type'], response.about).toBe('application/json');
      }
    }
    const patched = await send(kit.gateway, `PATCH /categories/${C}`, {
      body: `{"id":"${C}","name":"Cats"}`,
      headers: { 'content-type': 'application/merge-patch+json;IEEE754Compatible=true' },
    });
    expectAnswer(patched, 200);
  });

  it('refuses other strings as ids, and string ids in a plain JSON body', async () => {
    const { C, P } = await makeWorld(kit);
    for (const id of ['', '0', '01', '+1', '-1', '1.0', '1e3', ' 1', '9223372036854775808', 'x']) {
      const response = await exact('POST /pets', { name: 'Tom', categoryId: id });
      expectRefusal(response, 'VALIDATION_FAILED', `categoryId: must be an integer from 1 to ${LARGEST}.`);
    }
    expectRefusal(await exact(`PUT /pets/${P}`, { id: C, name: 'A', categoryId: C }), 'VALIDATION_FAILED');
    expectRefusal(await exact(`PUT /store/inventory/${P}`, { quantity: '5' }), 'VALIDATION_FAILED');
    expectRefusal(await exact('POST /pets', { name: 'Tom', categoryId: C, other: '1' }), 'VALIDATION_FAILED');
    for (const contentType of ['application/json', 'application/json;IEEE754Compatible=false']) {
      const response = await exact(
        'POST /pets',
        { name: 'Tom', categoryId: C },
        { 'content-type': contentType },
      );
      expectRefusal(response, 'VALIDATION_FAILED', /^categoryId: must be/);
    }
  });

  it('gives each representation its own ETag and accepts both in If-Match', async () => {
    const world = await makeWorld(kit);
    for (const path of ['/pets/$F', '/categories/$E', '/store/orders/$O', '/store/inventory/$P'].map((text) =>
      fill(text, world),
    )) {
      const [plain, strings] = [await send(kit.gateway, path), await exact(path)];
      expect(strings.headers.etag, strings.about).not.toBe(plain.headers.etag);
      for (const [accept, response, other] of [
        ['application/json', plain, strings],
        [EXACT, strings, plain],
      ] as const) {
        const etag = response.headers.etag!;
        const read = (match: string) =>
          send(kit.gateway, path, { headers: { accept, 'if-none-match': match } });
        const notModified = await read(etag);
        expect([notModified.status, notModified.headers.etag], notModified.about).toEqual([304, etag]);
        expect((await read(other.headers.etag!)).status).toBe(200);
        for (const wanted of [accept, '*/*', EXACT]) {
          const headers = { accept: wanted, 'if-match': etag };
          expect((await send(kit.gateway, `PATCH ${path}`, { body: '{}', headers })).status).toBe(200);
        }
      }
      const change = path.startsWith('/store') ? '{"quantity":9}' : '{"name":"Max"}';
      const headers = { 'if-match': strings.headers.etag! };
      const written = await exact(`PATCH ${path}`, change, headers);
      expect(written.status, written.about).toBe(200);
      expect(written.headers.etag).toBe((await exact(path)).headers.etag);
      expectRefusal(await exact(`PATCH ${path}`, change, headers), 'PRECONDITION_FAILED');
    }
  });

  it('treats string and integer ids as the same payload for an Idempotency-Key', async () => {
    const { C } = await makeWorld(kit);
    const headers = { 'idempotency-key': `notation-${C}` };
    const first = await exact('POST /pets', { name: 'Tom', categoryId: C }, headers);
    const again = await send(kit.gateway, 'POST /pets', {
      body: `{"name":"Tom","categoryId":${C}}`,
      headers,
    });
    expect(again.headers['idempotency-replayed'], again.about).toBe('true');
    expect(again.headers.location).toBe(first.headers.location);
    expect(again.text).toBe(first.text.replace(/"(\d+)"/g, '$1'));
  });
});

describe('errors with IEEE754Compatible=true', () => {
  const kit = useGateway(sqlite);

  it('uses the usual status, code and Content-Type', async () => {
    const headers = { accept: EXACT };
    expectRefusal(await send(kit.gateway, '/pets/7', { headers }), 'NOT_FOUND');
    expectRefusal(await send(kit.gateway, '/pets/0', { headers }), 'VALIDATION_FAILED');
    expectRefusal(await send(kit.gateway, '/pets/7', { headers, key: null }), 'UNAUTHENTICATED');
  });
});
