import type { Server } from 'node:http';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSecret } from '../../src/access/api-keys.ts';
import { readConfig } from '../../src/config.ts';
import { createGateway } from '../../src/gateway.ts';
import { createHttpServer, listen } from '../../src/server.ts';
import { sqlite } from '../kit/petstore.ts';
import { exchangeRaw } from '../kit/raw.ts';
import type { OpenedStore } from '../kit/stores.ts';

describe('the development key', () => {
  const { key } = newSecret();
  let opened: OpenedStore;
  let server: Server;
  let port: number;
  beforeAll(async () => {
    opened = await sqlite.open();
    server = createHttpServer(
      createGateway({
        store: opened.store,
        config: readConfig({}),
        log: pino({ level: 'silent' }),
        developmentKey: key,
      }),
    );
    port = await listen(server, 0, '::');
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await opened.close();
  });

  const PAGES = ['/', '/docs', '/graphql'];

  /** The pages that contain the key in their response to a request with these header lines. */
  async function shownTo(host: string, ...lines: string[]): Promise<string[]> {
    const head = ['HTTP/1.1', `Host: ${host}`, 'Accept: text/html', 'Connection: close', ...lines, '', ''];
    const shown = [];
    for (const path of PAGES) {
      const response = await exchangeRaw(`http://localhost:${port}`, `GET ${path} ${head.join('\r\n')}`);
      expect(response).toMatch(/^HTTP\/1\.1 200 /);
      if (response.includes(key)) shown.push(path);
    }
    return shown;
  }

  it.each(['localhost:4000', 'localhost', 'LOCALHOST:80', '127.0.0.1:4000', '[::1]:4000'])(
    'is shown to local requests with Host: %s',
    async (host) => {
      expect(await shownTo(host)).toEqual(PAGES);
    },
  );

  it.each([
    'evil.example:4000',
    'localhost.evil.example',
    'evil.localhost',
    'localhost.',
    '127.0.0.1.nip.io:4000',
    '127.0.0.2',
    '[::2]',
    '0.0.0.0:4000',
    '',
  ])('is not shown to local requests with the foreign Host: %s', async (host) => {
    expect(await shownTo(host)).toEqual([]);
  });

  it.each([
    'X-Forwarded-For: 127.0.0.1',
    'X-Forwarded-Host: localhost',
    'x-forwarded-proto: https',
    'Forwarded: for=127.0.0.1',
    'Via: 1.1 proxy',
    'X-Real-IP: 127.0.0.1',
  ])('is not shown to requests that came through a proxy: %s', async (line) => {
    expect(await shownTo('localhost:4000', line)).toEqual([]);
  });

  it('is decided for each request, not taken from a cached page', async () => {
    expect(await shownTo('localhost')).toEqual(PAGES);
    expect(await shownTo('evil.example')).toEqual([]);
    expect(await shownTo('localhost')).toEqual(PAGES);
  });

  it('is on pages that caches must revalidate', async () => {
    for (const path of PAGES) {
      const response = await exchangeRaw(
        `http://localhost:${port}`,
        `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n`,
      );
      expect(response).toMatch(/\r\nCache-Control: (no-cache|no-store|private, no-cache)\r\n/);
    }
  });
});
