import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api } from '../../../src/api.ts';
import { readConfig } from '../../../src/config.ts';
import { openApiJson } from '../../../src/openapi/description.ts';
import type { ServedRoute } from '../../../src/rest-routes/route.ts';
import { TestGateway } from '../../kit/gateway.ts';
import { expectAnswer, expectRefusal, makeWorld, send, sqlite, useGateway } from '../../kit/petstore.ts';

const SUNSET = Date.parse('2027-06-30T00:00:00Z');

function expectDeprecated(headers: Awaited<ReturnType<typeof send>>['headers'], about: string): void {
  expect(headers.deprecation, about).toBe(`@${Date.parse('2026-07-01T00:00:00Z') / 1000}`);
  expect(headers.sunset, about).toBe('Wed, 30 Jun 2027 00:00:00 GMT');
  expect(headers.link, about).toMatch(
    /^<\/docs[^>]*>; rel="deprecation", <\/graphql>; rel="successor-version"$/,
  );
}

describe('GET /pets/{petId}', () => {
  const kit = useGateway(sqlite);
  // That all of its responses have the headers, OpenAPI says.
  const readPet = async () => {
    const { P } = await makeWorld(kit);
    for (const method of ['GET', 'HEAD']) {
      const { status, headers, about } = await send(kit.gateway, `${method} /pets/${P}`);
      expect(status, about).toBe(200);
      expectDeprecated(headers, about);
    }
  };

  it('sends the deprecation headers', readPet);

  it('leaves other operations without deprecation headers and out of the deprecation metric', async () => {
    const { C, P, O } = await makeWorld(kit);
    const deprecatedRequests = async () =>
      (await send(kit.gateway, '/metrics')).text
        .split('\n')
        .filter((line) => line.startsWith('petstore_deprecated_requests_total{'));
    await send(kit.gateway, `/pets/${P}`);
    const before = await deprecatedRequests();
    expect(before).toMatchObject([expect.stringContaining('"getPet"')]);
    const ids: Record<string, string> = { petId: P, categoryId: C, orderId: O };
    const others = api.routes
      .filter(({ operationId, pathParameter = 'petId' }) => operationId !== 'getPet' && pathParameter in ids)
      .map(({ method, path }) => `${method} ${path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name]!)}`)
      // Deletions run last, so that the other requests find their records.
      .toSorted((a, b) => Number(a.startsWith('DELETE')) - Number(b.startsWith('DELETE')));
    expect(others.length).toBeGreaterThan(20);
    for (const request of [...others, `OPTIONS /pets/${P}`]) {
      const body = /^P(OST|UT|ATCH)/.test(request) ? '{}' : undefined;
      const { status, headers, about } = await send(kit.gateway, request, { body });
      expect([404, 405], about).not.toContain(status);
      expect([headers.deprecation, headers.sunset], about).toEqual([undefined, undefined]);
      expect(headers.link ?? '', about).not.toMatch(/deprecation|successor-version/);
    }
    expect(await deprecatedRequests()).toEqual(before);
  });

  it('keeps responding after the sunset date by default', async () => {
    kit.clock.time = SUNSET + 1;
    await readPet();
  });
});

describe('DEPRECATION_DATE and SUNSET_DATE', () => {
  const kit = useGateway(sqlite, {
    DEPRECATION_DATE: '2026-01-02',
    SUNSET_DATE: '2026-11-21',
    SUNSET_ENFORCED: 'on',
  });

  it('sends the configured dates in headers and 410 message, which comes before what is wrong with the id', async () => {
    expectRefusal(await send(kit.gateway, '/pets/0'), 'GONE');
    const response = await send(kit.gateway, '/pets/1');
    expect(response.headers.link, response.about).toContain('rel="successor-version"');
    expectRefusal(response, 'GONE', /2026-11-21/);
    expect(response.headers.deprecation).toBe(`@${Date.parse('2026-01-02T00:00:00Z') / 1000}`);
    expect(response.headers.sunset).toBe('Sat, 21 Nov 2026 00:00:00 GMT');
  });
});

describe('the deprecation field of a route', () => {
  const kit = useGateway(sqlite);
  const environment = { SUNSET_ENFORCED: 'on' };
  const routes = api.routes.map((route): ServedRoute => {
    const { deprecation: _, ...others } = route;
    return route.operationId === 'listOrders'
      ? { ...others, deprecation: { replacement: '`GET /store/sales`', successor: '/store/sales' } }
      : others;
  });
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await TestGateway.start(kit.gateway.store, environment, kit.clock, { routes });
  });
  afterAll(() => gateway.close());

  it('adds the headers, and 410 after the sunset date, to that operation only', async () => {
    const { P } = await makeWorld(kit);
    const pet = await send(gateway, `/pets/${P}`);
    expect([pet.status, pet.headers.deprecation, pet.headers.sunset]).toEqual([200, undefined, undefined]);

    kit.clock.time = SUNSET - 1;
    const { status, headers, about } = await send(gateway, '/store/orders');
    expect(status, about).toBe(200);
    expect(headers.deprecation).toBe(`@${Date.parse('2026-07-01T00:00:00Z') / 1000}`);
    expect(headers.sunset).toBe('Wed, 30 Jun 2027 00:00:00 GMT');
    expect(headers.link).toBe(
      '</docs#tag/Store/listOrders>; rel="deprecation", </store/sales>; rel="successor-version"',
    );

    kit.clock.time = SUNSET;
    expectRefusal(
      await send(gateway, '/store/orders'),
      'GONE',
      'This operation ended on 2027-06-30. Use `GET /store/sales` instead.',
    );
    expectAnswer(await send(gateway, `/pets/${P}`), 200);
  });

  it('marks only that operation as deprecated in the OpenAPI description', () => {
    const { paths } = JSON.parse(openApiJson(api, readConfig(environment), { routes }));
    expect(paths['/store/orders'].get).toMatchObject({
      deprecated: true,
      'x-sunset': '2027-06-30',
      description: expect.stringContaining('sunset on 2027-06-30. Use `GET /store/sales` instead.'),
    });
    expect(paths['/store/orders'].get.responses['410']).toBeDefined();
    expect(paths['/pets/{petId}'].get.deprecated).toBeUndefined();
    expect(paths['/pets/{petId}'].get.responses['410']).toBeUndefined();
  });
});
