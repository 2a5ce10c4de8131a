import { expect, it } from 'vitest';
import { expectAnswer, expectRefusal, makeWorld, onAnyEngine, send } from '../../kit/petstore.ts';

onAnyEngine('PUT and PATCH /store/inventory/{petId}', (kit) => {
  it('accepts the response to a GET as the body and refuses a different status', async () => {
    const { P } = await makeWorld(kit);
    const path = `/store/inventory/${P}`;
    const { json } = await send(kit.gateway, path);
    const otherStatus = json.status === 'sold' ? 'pending' : 'sold';
    for (const method of ['PUT', 'PATCH']) {
      expectAnswer(await send(kit.gateway, `${method} ${path}`, { body: json }), 200, json);
      const refused = await send(kit.gateway, `${method} ${path}`, {
        body: { quantity: 9, status: otherStatus },
      });
      expectRefusal(refused, 'VALIDATION_FAILED', 'status: cannot be changed here.');
      const invalid = await send(kit.gateway, `${method} ${path}`, {
        body: { quantity: 9, status: 'x', nope: 1 },
      });
      expectRefusal(invalid, 'VALIDATION_FAILED', /status: .*nope: /);
    }
    expectAnswer(await send(kit.gateway, `PATCH ${path}`, { body: { status: json.status } }), 200, json);
    expectRefusal(
      await send(kit.gateway, `PATCH ${path}`, { body: { status: otherStatus } }),
      'VALIDATION_FAILED',
    );
    const stale = { body: json, headers: { 'if-match': '"other"', 'content-type': 'application/json' } };
    for (const method of ['PUT', 'PATCH']) {
      expectRefusal(await send(kit.gateway, `${method} ${path}`, stale), 'PRECONDITION_FAILED');
    }
    const missing = await send(kit.gateway, 'PUT /store/inventory/999999', {
      body: { quantity: 1, status: otherStatus },
    });
    expectRefusal(missing, 'NOT_FOUND');
    expect((await send(kit.gateway, path)).json).toEqual(json);
  });
});
