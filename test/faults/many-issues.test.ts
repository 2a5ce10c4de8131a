import { expect, it } from 'vitest';
import { expectRefusal, query, send, sqlite, useGateway } from '../kit/petstore.ts';

const kit = useGateway(sqlite);

const unknownFields = (count: number) =>
  `{"name":"x","categoryId":1,${Array.from({ length: count }, (_, i) => `"f${i}":1`).join(',')}}`;

it('names 20 issues', async () => {
  const twenty = await send(kit.gateway, 'POST /pets', { body: unknownFields(20) });
  expectRefusal(twenty, 'VALIDATION_FAILED', /f19: is not a known field\.$/);
  const more = await send(kit.gateway, 'POST /pets', { body: unknownFields(8_998) });
  expectRefusal(more, 'VALIDATION_FAILED', /^f0: .*f19: is not a known field\.$/);
  const parameters = Array.from({ length: 1_000 }, (_, i) => `p${i}=1`).join('&');
  const inQuery = await send(kit.gateway, `/pets?${parameters}&limit=0&limit=1`);
  expectRefusal(inQuery, 'VALIDATION_FAILED');
  expect(inQuery.json.message.match(/is not a known query parameter/g)).toHaveLength(20);
});

it('cuts names and values that a message repeats at 100 characters', async () => {
  const inBody = (name: string) => send(kit.gateway, 'POST /pets', { body: `{"${name}":1}` });
  const text = 'query ($f: PetFilter) { pets(filter: $f) { totalCount } }';
  const replies = [
    await inBody('x'.repeat(90_000)),
    await inBody('🐕'.repeat(101)),
    await inBody(`x${'🐕'.repeat(20_000)}`),
    await send(kit.gateway, `/pets?status=${'x'.repeat(200)}`),
    await send(kit.gateway, `/${'x'.repeat(200)}`),
    await send(kit.gateway, `POST /pets/${'x'.repeat(200)}`),
    await query(kit.gateway, text, { f: { status: '🐕'.repeat(101) } }),
    await query(kit.gateway, `{ pets(first: "${'🐕'.repeat(101)}") { totalCount } }`),
    await query(kit.gateway, `mutation { deleteWebhook(id: "${'x'.repeat(200)}") }`),
  ];
  for (const { json, text } of replies) {
    const message: string = json.message ?? json.errors[0].message;
    expect(Buffer.from(message).toString(), 'a character is cut in two').toBe(message);
    expect(message).not.toMatch(/x{100}|🐕{100}/u);
    expect(text.length).toBeLessThan(1_000);
  }
  const whole = await inBody('🐕'.repeat(100));
  expectRefusal(whole, 'VALIDATION_FAILED', /🐕{100}: is not a known field/u);
});
