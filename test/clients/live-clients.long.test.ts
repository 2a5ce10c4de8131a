import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { useProgram } from '../kit/program.ts';
import { followStream } from './event-source.ts';
import { sseClient } from './sse-client.ts';
import { followPets } from './urql-live-client.ts';

/** Existing clients follow the event log of the built program. */
describe('clients of the event log', () => {
  const kit = useProgram();
  const openStreams = async () => {
    const metrics = await (await fetch(`${kit.gateway.url}/metrics`)).text();
    return Number(/^petstore_event_streams (\d+)$/m.exec(metrics)?.[1]);
  };

  it('go on after 502s of a proxy and a 429, and end where going on is useless', async () => {
    const { gateway } = kit;
    const { store } = gateway;
    let refusal: [status: number, headers?: Record<string, string>] | undefined = [502];
    let refused = 0;
    const proxy = createServer((request, response) => {
      if (refusal) {
        refused++;
        response.writeHead(...refusal).end();
        if (refused % 2 === 0) refusal = undefined;
        return;
      }
      const { method, headers } = request;
      const forward = httpRequest(`${gateway.url}${request.url}`, { method: method!, headers }, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      });
      response.on('close', () => forward.destroy());
      forward.on('error', () => response.destroy());
      request.pipe(forward);
    }).listen(0);
    const url = `http://localhost:${(proxy.address() as AddressInfo).port}`;
    const events: string[] = [];
    const results: string[] = [];
    const stop = followStream(url, gateway.key, ({ type, data }) => events.push(`${type} ${data.name}`));
    const client = sseClient(url, gateway.key);
    const query =
      'subscription ($after: ID) { events(after: $after, types: [category_created]) { id category { name } } }';
    const { next } = await store.eventPage({ after: 'now', limit: 1 });
    const sink = { error: () => {}, complete: () => {} };
    const open = () => expect.poll(openStreams, { timeout: 20_000 }).toBe(2);
    try {
      client.subscribe<{ events: { category: { name: string } } }>(
        { query, variables: { after: next } },
        { ...sink, next: ({ data }) => results.push(data!.events.category.name) },
      );
      for (const [n, name] of ['One', 'Two'].entries()) {
        await open();
        await store.table(Category).insert({ name });
        await expect
          .poll(() => [events.at(-1), results.at(-1)], { timeout: 10_000 })
          .toEqual([`category.created ${name}`, name]);
        if (n > 0) continue;
        refusal = [429, { 'Retry-After': '1' }];
        proxy.closeAllConnections();
      }
      expect([events, results]).toEqual([
        ['category.created One', 'category.created Two'],
        ['One', 'Two'],
      ]);
      expect(refused).toBeGreaterThanOrEqual(4);
      const ended = new Promise<number>((resolve) => followStream(url, 'wrong', () => {}, resolve));
      expect(await ended).toBe(401);
    } finally {
      stop();
      client.dispose();
      proxy.closeAllConnections();
      proxy.close();
    }
  });

  it('lets urql subscribe over server-sent events', async () => {
    const { url, key, store } = kit.gateway;
    const category = await store.table(Category).insert({ name: 'For urql' });
    const { next } = await store.eventPage({ limit: 100 });
    const names: string[] = [];
    const stop = followPets(url, key, next, (name) => names.push(name));
    try {
      for (const name of ['Rex', 'Tom']) {
        await store.table(Pet).insert({ name, categoryId: category.id, status: 'available' });
      }
      await expect.poll(() => names, { timeout: 10_000 }).toEqual(['Rex', 'Tom']);
    } finally {
      stop();
    }
  });
});
