import { describe, expect, it } from 'vitest';
import { makeWorld, send, sqlite, useGateway } from '../kit/petstore.ts';

describe('the metrics', () => {
  const kit = useGateway(sqlite);

  it('count requests by door, operation and status, verdicts by plan, and deprecated use by key', async () => {
    await makeWorld(kit);
    const { gateway } = kit;
    const key = await gateway.newKey('free');
    for (let i = 0; i < 58; i++) await send(gateway, '/pets', { key });
    await send(gateway, '/pets/1', { key });
    await gateway.graphql('query Chosen { pet(id: 1) { name } }', undefined, { key });
    await send(gateway, '/pets', { key });
    const { text } = await send(gateway, '/metrics', { key: null });
    const lines = text.split('\n');
    expect(lines).toContain('petstore_requests_total{door="rest",operation="listPets",status="200"} 58');
    expect(lines).toContain('petstore_requests_total{door="rest",operation="getPet",status="200"} 1');
    // What clients call their operations is no label: there could be any number of them.
    expect(lines).toContain('petstore_requests_total{door="graphql",operation="graphql",status="200"} 1');
    expect(text).not.toContain('Chosen');
    expect(lines).toContain('petstore_limiter_verdicts_total{outcome="passed",plan="free"} 60');
    expect(lines).toContain('petstore_limiter_verdicts_total{outcome="refused",plan="free"} 1');
    expect(text).toMatch(/petstore_deprecated_requests_total\{operation="getPet",api_key="key_[\w-]+"\} 1\n/);
    expect(text).toMatch(/petstore_request_seconds_count\{door="rest"\} \d+/);
    expect(text).toContain('nodejs_eventloop_lag_seconds');
    expect(text).not.toContain(key.slice(9));
  });
});
