import { describe, expect, it } from 'vitest';
import { makeWorld, onEachEngine, send, sqlite, useGateway } from '../kit/petstore.ts';

describe('GET /metrics', () => {
  const kit = useGateway(sqlite);

  it('counts requests by operation, limiter decisions by plan and deprecated use by key', async () => {
    await makeWorld(kit);
    const { gateway } = kit;
    const key = await gateway.newKey('free');
    for (let i = 0; i < 58; i++) await send(gateway, '/pets', { key });
    await send(gateway, '/pets/1', { key });
    await gateway.graphql('query Chosen { pet(id: 1) { name } }', undefined, { key });
    await send(gateway, '/pets', { key });
    const { text } = await send(gateway, '/metrics', { key: null });
    const lines = text.split('\n');
    expect(lines).toContain('petstore_requests_total{transport="rest",operation="listPets",status="200"} 58');
    expect(lines).toContain('petstore_requests_total{transport="rest",operation="getPet",status="200"} 1');
    // Operation names are chosen by clients and unbounded, so they are not a label.
    expect(lines).toContain(
      'petstore_requests_total{transport="graphql",operation="graphql",status="200"} 1',
    );
    expect(text).not.toContain('Chosen');
    expect(lines).toContain('petstore_limiter_decisions_total{outcome="passed",plan="free"} 60');
    expect(lines).toContain('petstore_limiter_decisions_total{outcome="refused",plan="free"} 1');
    expect(text).toMatch(/petstore_deprecated_requests_total\{operation="getPet",api_key="key_[\w-]+"\} 1\n/);
    expect(text).toMatch(/petstore_request_seconds_count\{transport="rest"\} \d+/);
    expect(text).toContain('nodejs_eventloop_lag_seconds');
    expect(text).not.toContain(key.slice(9));
  });
});

const scrape = async (gateway: Parameters<typeof send>[0]) => {
  const { text } = await send(gateway, '/metrics', { key: null });
  return (name: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length) ?? 0,
    );
};

onEachEngine('store metrics', (kit, engine) => {
  it('counts and times store calls by outcome', async () => {
    const { C } = await makeWorld(kit);
    const { gateway } = kit;
    const count = (call: string, outcome: string) =>
      `petstore_store_call_seconds_count{engine="${engine.name}",call="${call}",outcome="${outcome}"}`;
    const before = await scrape(gateway);
    await send(gateway, `/categories/${C}/pets`);
    await send(gateway, `DELETE /categories/${C}`);
    const after = await scrape(gateway);
    const increase = (name: string) => after(name) - before(name);
    expect(increase(count('petPagesByCategory', 'done'))).toBe(1);
    expect(increase(count('charge', 'done'))).toBe(2);
    expect(increase(count('deleteCategory', 'refused'))).toBe(1);
    expect(after(count('deleteCategory', 'refused').replace('_count', '_sum'))).toBeGreaterThan(0);
  });
});

describe('ban metrics', () => {
  const kit = useGateway(sqlite);

  it('counts each ban once, however many requests it refuses', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('enterprise', { perMinute: 1, perDay: 1_000 });
    const bans = async () => (await scrape(gateway))('petstore_bans_total{plan="enterprise"}');
    for (let i = 0; i < 30; i++) await send(gateway, '/pets', { key });
    expect(await bans()).toBe(1);
    // The ban ends before the window of the key does, and 20 more strikes begin the next one.
    gateway.clock.advance(60_000);
    for (let i = 0; i < 30; i++) await send(gateway, '/pets', { key });
    expect(await bans()).toBe(2);
  });
});
