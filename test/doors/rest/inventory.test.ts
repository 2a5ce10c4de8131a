import { expect, it } from 'vitest';
import { expectAnswer, expectRefusal, makeWorld, onEachEngine, send } from '../../kit/petstore.ts';

onEachEngine('the inventory entry of a pet', (kit) => {
  it('can be put back as it was got, and its status not be changed here', async () => {
    const { P } = await makeWorld(kit);
    const path = `/store/inventory/${P}`;
    const { json } = await send(kit.gateway, path);
    const other = json.status === 'sold' ? 'pending' : 'sold';
    for (const method of ['PUT', 'PATCH']) {
      expectAnswer(await send(kit.gateway, `${method} ${path}`, { body: json }), 200, json);
      const refused = await send(kit.gateway, `${method} ${path}`, { body: { quantity: 9, status: other } });
      expectRefusal(refused, 'VALIDATION_FAILED', 'status: cannot be changed here.');
      const nonsense = await send(kit.gateway, `${method} ${path}`, {
        body: { quantity: 9, status: 'x', nope: 1 },
      });
      expectRefusal(nonsense, 'VALIDATION_FAILED', /status: .*nope: /);
    }
    expectAnswer(await send(kit.gateway, `PATCH ${path}`, { body: { status: json.status } }), 200, json);
    expectRefusal(await send(kit.gateway, `PATCH ${path}`, { body: { status: other } }), 'VALIDATION_FAILED');
    const stale = { body: json, headers: { 'if-match': '"other"', 'content-type': 'application/json' } };
    for (const method of ['PUT', 'PATCH']) {
      expectRefusal(await send(kit.gateway, `${method} ${path}`, stale), 'PRECONDITION_FAILED');
    }
    const missing = await send(kit.gateway, 'PUT /store/inventory/999999', {
      body: { quantity: 1, status: other },
    });
    expectRefusal(missing, 'NOT_FOUND');
    expect((await send(kit.gateway, path)).json).toEqual(json);
  });
});
