import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { RequestContext } from '../../../src/http/request-context.ts';
import { createHttpServer, listen } from '../../../src/server.ts';
import { Asset, acceptsCoding } from '../../../src/transports/pages/asset.ts';
import { expectKeptFor } from '../../kit/kept.ts';

const SIZE = 9_000_000;
const CLIENTS = 60;

const open = async (asset: Asset) => {
  let responses = 0;
  const server = createHttpServer(async (request, response) => {
    const result = await asset
      .handle(new RequestContext(request, response, 'test', ''))
      .catch(() => undefined);
    response.writeHead(result?.status ?? 500);
    response.end(result?.body);
    responses++;
  });
  const port = await listen(server, 0, '127.0.0.1');
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { port, close, responseCount: () => responses };
};

it('shares one uncompressed copy of an asset among 60 clients that do not read', async () => {
  const content = randomBytes(SIZE / 2).toString('hex');
  const { port, close, responseCount } = await open(
    new Asset({ contentType: 'text/html', content: () => content }),
  );
  const before = process.memoryUsage().arrayBuffers;
  const sockets: Socket[] = Array.from({ length: CLIENTS }, () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    return socket;
  });
  await expect.poll(responseCount, { timeout: 10_000 }).toBe(CLIENTS);
  // The compressed copy, the uncompressed copy, and what is in flight on each socket.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * SIZE);
  for (const socket of sockets) socket.destroy();
  close();
});

it('creates the content of an asset again after the first attempt has failed', async () => {
  let attempts = 0;
  const content = () => {
    if (++attempts === 1) throw new Error('EMFILE: too many open files');
    return 'here';
  };
  const { port, close } = await open(new Asset({ contentType: 'text/html', content }));
  const url = `http://127.0.0.1:${port}`;
  expect((await fetch(url)).status).toBe(500);
  expect((await fetch(url)).status).toBe(200);
  close();
});

it('caches the uncompressed content of an asset for a minute', async () => {
  await expectKeptFor(60_000, '/', new Asset({ contentType: 'text/html', content: () => 'here' }));
});

it.each<[header: string | undefined, accepted: boolean]>([
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['GZip', true],
  ['br, gzip', true],
  ['br;q=1.0 , gzip ; q=0.5', true],
  ['gzip;q=0.01', true],
  ['gzip;q=0', false],
  ['gzip; q=0.000', false],
  ['gzip;eq=0', true],
  ['br;q=0, gzip', true],
  ['x-gzip', false],
  ['gzipped', false],
])('reads whether Accept-Encoding: %s allows gzip: %s (RFC 9110 section 12.5.3)', (header, accepted) => {
  expect(acceptsCoding(header, 'gzip')).toBe(accepted);
});
