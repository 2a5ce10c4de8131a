import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { Metrics } from '../../src/observability/metrics.ts';
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
    expect(lines).toContain('petstore_requests_total{transport="graphql",operation="pet",status="200"} 1');
    expect(text).not.toContain('Chosen');
    expect(lines).toContain('petstore_limiter_decisions_total{outcome="passed",plan="free"} 60');
    expect(lines).toContain('petstore_limiter_decisions_total{outcome="refused",plan="free"} 1');
    expect(text).toMatch(/petstore_deprecated_requests_total\{operation="getPet",api_key="key_[\w-]+"\} 1\n/);
    expect(text).toMatch(/petstore_request_seconds_count\{transport="rest",operation="getPet"\} 1\n/);
    expect(text).not.toContain(key.slice(9));
  });
});

describe('errors', () => {
  const kit = useGateway(sqlite);
  const errorsOf = async (transport: string, code: string) =>
    (await scrape(kit.gateway))(`petstore_errors_total{transport="${transport}",code="${code}"}`);

  it('are counted by code, also if they are in a field of a response with status 200, and start at 0', async () => {
    const { gateway } = kit;
    const { text } = await send(gateway, '/metrics', { key: null });
    expect(text).toContain('petstore_errors_total{transport="graphql",code="NOT_FOUND"} 0\n');
    expect(text).toContain('petstore_bans_total{plan="free"} 0\n');
    expect(text).toMatch(/^petstore_build_info\{version="\d[^"]*",node="\d[^"]*"\} 1$/m);
    expect((await send(gateway, '/pets/999')).status).toBe(404);
    const failed = await gateway.graphql('mutation { a: deletePet(id: 998) }');
    expect([failed.status, failed.json.errors[0].extensions.code]).toEqual([200, 'NOT_FOUND']);
    expect(await errorsOf('rest', 'NOT_FOUND')).toBe(1);
    expect(await errorsOf('graphql', 'NOT_FOUND')).toBe(1);
    await gateway.graphql('{ nothing }');
    expect(await errorsOf('graphql', 'GRAPHQL_VALIDATION_FAILED')).toBe(1);
    const line = gateway.logs
      .map((one) => JSON.parse(one))
      .find(({ operation }) => operation === 'deletePet');
    expect(line).toMatchObject({
      status: 200,
      codes: ['NOT_FOUND'],
      client: expect.stringContaining('127.0.0.1'),
    });
  });

  it('have one series for all files of the pages', async () => {
    const { gateway } = kit;
    const page = await send(gateway, '/docs', { key: null, headers: { accept: 'text/html' } });
    for (const [, path] of page.text.matchAll(/(?:src|href)="(\/explorer\/[^"]+)"/g))
      expect((await send(gateway, path!, { key: null })).status).toBe(200);
    const { text } = await send(gateway, '/metrics', { key: null });
    expect(text).toContain('operation="asset"');
    expect(text).not.toContain('operation="/explorer');
  });
});

describe('the dashboard and the alert rules', () => {
  const kit = useGateway(sqlite);

  it.each(['dashboard.json', 'alerts.yaml'])('ops/%s names metrics that exist', async (file) => {
    const { text } = await send(kit.gateway, '/metrics', { key: null });
    const ofProcess = new Metrics();
    ofProcess.observeProcess();
    const existing = new Set(
      [...(text + (await ofProcess.text())).matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!),
    );
    const source = readFileSync(new URL(`../../ops/${file}`, import.meta.url), 'utf8');
    const named = [...source.matchAll(/\b(?:petstore|nodejs|process)_\w+/g)].map(([name]) => name);
    expect(named.length).toBeGreaterThan(5);
    const missing = named.filter(
      (name) => !existing.has(name) && !existing.has(name.replace(/_(bucket|sum|count)$/, '')),
    );
    expect(missing).toEqual([]);
  });

  it('see the first of what they count: every series whose labels are known is there at 0', async () => {
    const { text } = await send(kit.gateway, '/metrics', { key: null });
    const labelled = (name: string, ...labels: string[]) =>
      labels.map((label) => `petstore_${name}{${label}} 0`);
    const expected = [
      ...labelled(
        'webhooks_disabled_total',
        ...['failing', 'gone', 'events_expired', 'key'].map((reason) => `reason="${reason}"`),
      ),
      ...labelled(
        'webhook_attempts_total',
        ...['2xx', '4xx', '5xx', 'dns', 'timeout'].map((outcome) => `outcome="${outcome}"`),
      ),
      ...labelled('bans_total', 'plan="free"', 'plan="enterprise"'),
      ...labelled(
        'errors_total',
        ...['rest', 'graphql', 'mcp', 'page'].map((name) => `transport="${name}",code="INTERNAL"`),
      ),
      ...labelled(
        'store_call_seconds_count',
        ...['charge', 'lastIds'].map((call) => `engine="sqlite",call="${call}",outcome="failed"`),
      ),
      'petstore_events_sent_total 0',
      'petstore_log_lines_dropped_total 0',
    ];
    expect(text.split('\n')).toEqual(expect.arrayContaining(expected));
  });

  it('are rendered 20 times a second at most, whoever asks', async () => {
    const metrics = new Metrics();
    const render = vi.spyOn(metrics.registry, 'metrics');
    const texts = await Promise.all(Array.from({ length: 500 }, () => metrics.text()));
    expect(new Set(texts).size).toBe(1);
    // A second may have ended in between.
    expect(render.mock.calls.length).toBeLessThanOrEqual(40);
    vi.useFakeTimers({ toFake: ['performance'] });
    vi.advanceTimersByTime(2_000_000_000);
    metrics.observeProcess();
    expect(await metrics.text()).toContain('nodejs_version_info');
    vi.useRealTimers();
  });

  it('count durations in cumulative buckets', async () => {
    const metrics = new Metrics();
    const end = metrics.storeCall('none', 'nothing');
    vi.useFakeTimers({ toFake: ['performance'] });
    for (const milliseconds of [3, 30, 30, 90_000]) end(performance.now() - milliseconds);
    vi.useRealTimers();
    const text = await metrics.text();
    const value = (name: string, le = '') => {
      const labels = `${le}engine="none",call="nothing",outcome="done"`;
      return Number(text.split(`petstore_store_call_seconds_${name}{${labels}} `)[1]!.split('\n')[0]);
    };
    const bounds = ['0.001', '0.0025', '0.01', '0.025', '0.25', '10', '+Inf'];
    expect(bounds.map((le) => value('bucket', `le="${le}",`))).toEqual([0, 0, 1, 1, 3, 3, 4]);
    expect(value('count')).toBe(4);
    expect(value('sum')).toBeCloseTo(90.063, 9);
    expect(text).toContain('\n# TYPE petstore_store_call_seconds histogram\n');
  });

  it('follow the job: every panel by its variable', () => {
    const { panels } = JSON.parse(
      readFileSync(new URL('../../ops/dashboard.json', import.meta.url), 'utf8'),
    ) as { panels: { targets: { expr: string }[] }[] };
    const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(queries.filter((query) => !query.includes('{job=~"$job"'))).toEqual([]);
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
    expect(increase(count('pets.pagesByParent', 'done'))).toBe(1);
    expect(increase(count('charge', 'done'))).toBe(2);
    expect(increase(count('transaction', 'refused'))).toBe(1);
    expect(after(count('transaction', 'refused').replace('_count', '_sum'))).toBeGreaterThan(0);
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
