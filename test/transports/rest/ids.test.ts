import { expect, it } from 'vitest';
import { expectAnswer, expectRefusal, makeWorld, onAnyEngine, send, type World } from '../../kit/petstore.ts';

const LARGEST = '9223372036854775807';
const RULE = `must be an integer from 1 to ${LARGEST}`;

onAnyEngine('int64 ids over REST', (kit) => {
  it('keeps ids beyond 2^53 exact in paths, bodies, lists, Location and error messages', async () => {
    const { gateway } = kit;
    for (const id of [LARGEST, '9007199254740993', '9223372036854774999', '9007199254740991', '2000009']) {
      const created = await send(gateway, 'POST /store/orders', { body: `{"id":${id},"quantity":1}` });
      expectAnswer(created, 201, `{"id":${id},"quantity":1,"complete":false}`);
      expect(created.headers.location).toBe(`/store/orders/${id}`);
      const path = `/store/orders/${id}`;
      expectAnswer(await send(gateway, path), 200, created.text);
      expectAnswer(await send(gateway, `PUT ${path}`, { body: created.text }), 200, created.text);
      expectAnswer(await send(gateway, `PATCH ${path}`, { body: `{"id":${id}}` }), 200, created.text);
      const list = await send(gateway, `/store/orders?after=${BigInt(id) - 1n}&limit=1`);
      expectAnswer(list, 200, `[${created.text}]`);
      expectRefusal(
        await send(gateway, 'POST /store/orders', { body: `{"id":${id}}` }),
        'CONFLICT',
        `Order id ${id} is taken.`,
      );
      // The neighbouring id, which is the same number as a double.
      expectRefusal(
        await send(gateway, `PUT ${path}`, { body: `{"id":${BigInt(id) - 1n}}` }),
        'VALIDATION_FAILED',
        'id: must equal the id in the path.',
      );
      expectRefusal(await send(gateway, `/store/orders/${BigInt(id) - 1n}`), 'NOT_FOUND');
    }
    expectAnswer(await send(gateway, `/store/orders?after=${LARGEST}`), 200, '[]');
    const references: [request: string, body: string, field: string][] = [
      ['POST /pets', `{"name":"x","categoryId":${LARGEST}}`, 'categoryId: there is no category'],
      ['POST /store/orders', `{"petId":${LARGEST}}`, 'petId: there is no pet'],
    ];
    for (const [request, body, message] of references) {
      expectRefusal(await send(gateway, request, { body }), 'UNKNOWN_REFERENCE', `${message} ${LARGEST}.`);
    }
    // Ids are still assigned after a client has chosen the largest one.
    expectAnswer(await send(gateway, 'POST /store/orders', { body: {} }), 201);
    for (const id of [LARGEST, '9007199254740993', '9223372036854774999']) {
      expectAnswer(await send(gateway, `DELETE /store/orders/${id}`), 204);
    }
  });

  it.each(['0', '-1', '+1', '1.0', '%31%20', '9223372036854775808', '1'.repeat(500), '1%2F2', '..%2f1'])(
    'responds 400 to the id %s in a path',
    async (id) => {
      for (const request of [
        `/pets/${id}`,
        `HEAD /pets/${id}`,
        `DELETE /categories/${id}`,
        `/store/inventory/${id}`,
        `/categories/${id}/pets`,
      ]) {
        const response = await send(kit.gateway, request);
        expect(response.status, response.about).toBe(400);
        if (!request.startsWith('HEAD'))
          expectRefusal(response, 'VALIDATION_FAILED', new RegExp(`^\\w+Id: ${RULE}\\.$`));
      }
    },
  );

  let world: World | undefined;

  it.each([
    '0',
    '-1',
    '-0',
    '0.0',
    '-1e3',
    '1.5',
    '"1"',
    'null',
    'true',
    '[1]',
    '{}',
    '9223372036854775808',
    '1.0e19',
    '9223372036854775807.5',
  ])('responds 400 to the id %s in a body', async (id) => {
    world ??= await makeWorld(kit);
    const { P } = world;
    expectRefusal(
      await send(kit.gateway, 'POST /pets', { body: `{"name":"x","categoryId":${id}}` }),
      'VALIDATION_FAILED',
      `categoryId: ${RULE}.`,
    );
    expectRefusal(
      await send(kit.gateway, 'POST /store/orders', { body: `{"id":${id}}` }),
      'VALIDATION_FAILED',
      `id: ${RULE}.`,
    );
    expectRefusal(
      await send(kit.gateway, `PATCH /pets/${P}`, { body: `{"id":${id}}` }),
      'VALIDATION_FAILED',
      'id: must equal the id in the path.',
    );
  });
});
