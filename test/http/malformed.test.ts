import { expect, it } from 'vitest';
import { sqlite, useGateway } from '../kit/petstore.ts';
import { exchangeRaw, openRaw } from '../kit/raw.ts';

const kit = useGateway(sqlite);

const refused = async (request: string) => {
  const response = await exchangeRaw(kit.gateway.url, request);
  expect(response).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(response).toMatch(/\r\nX-RateLimit-Limit: 60\r\n/);
  const [, requestId] = /\r\nX-Request-Id: ([\w-]+)\r\n/.exec(response)!;
  expect(kit.gateway.logs.filter((line) => line.includes(`"requestId":"${requestId}"`))).toHaveLength(1);
  return { requestId, error: JSON.parse(response.slice(response.indexOf('\r\n\r\n'))) };
};

it.each(['/pets#x', '/pets?limit=1#x', '/graphql#', '/docs#/Pets', 'http://localhost/pets#x'])(
  'responds 400 to the target %s, which has a fragment',
  async (target) => {
    const lines = [
      `GET ${target} HTTP/1.1`,
      'Host: x',
      `X-API-Key: ${kit.gateway.key}`,
      'X-Request-Id: mine',
    ];
    const { requestId, error } = await refused(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`);
    expect(requestId).toBe('mine');
    expect(error).toEqual({
      code: 'BAD_REQUEST',
      message: 'The target must not have a fragment.',
      status: 400,
    });
    kit.gateway.logs.length = 0;
  },
);

it.each([
  ['headers of more than 16 kB', `GET /pets HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`],
  ['what is not HTTP', 'pets please\r\n\r\n'],
  ['a request without Host', 'GET /pets HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ...['x\r\nHost: x', 'x\r\nhost: evil', 'x y', 'x/pets', 'user@x', 'x#y'].map((host) => [
    `Host: ${host}`,
    `GET /pets HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
  ]),
  // What could smuggle a second request through a proxy.
  ...[
    'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n',
    'Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
    'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
  ].map((rest) => [rest.split('\r\n\r\n')[0]!, `POST /categories HTTP/1.1\r\nHost: x\r\n${rest}`]),
])('responds to %s with a request id that the log has', async (_what, request) => {
  const { requestId, error } = await refused(request);
  if (request.length > 20_000) expect(error.message).toBe('The request headers exceed 16384 bytes.');
  expect(requestId).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  expect(error.code).toBe('BAD_REQUEST');
});

it.each(['', 'x:80', '127.0.0.1', '[::1]:4000', 'xn--p-1ga.example.', 'under_score', 'a%20b'])(
  'serves the host "%s"',
  async (host) => {
    const request = `GET /health/live HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    expect(await exchangeRaw(kit.gateway.url, request)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  },
);

it.each([
  ['Authorization: Bearer KEY\r\nAuthorization: Bearer other', 401],
  ['X-API-Key: KEY\r\nContent-Type: application/json\r\nContent-Type: text/plain', 415],
  ['X-API-Key: KEY\r\nX-API-Key: other', 401],
  // Twice alike leaves no choice. 400 is about the body.
  [
    'X-API-Key: KEY\r\nX-API-Key: KEY\r\nContent-Type: application/json\r\nContent-Type: application/json',
    400,
  ],
  ['Authorization: Bearer KEY\r\nAuthorization: Bearer KEY', 400],
])('does not choose among headers that are there twice: %s', async (lines, status) => {
  const head = lines.replaceAll('KEY', kit.gateway.key);
  const request = `POST /categories HTTP/1.1\r\nHost: x\r\n${head}\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`;
  expect(await exchangeRaw(kit.gateway.url, request)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
});

it('names server-sent events to who asks for a WebSocket', async () => {
  const upgrade = 'GET /graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket';
  const socket = await openRaw(kit.gateway.url);
  const response = new Promise<string>((resolve) => socket.once('data', (bytes) => resolve(String(bytes))));
  socket.write(`${upgrade}\r\n\r\n`);
  expect(await response).toMatch(/^HTTP\/1\.1 400 .*Subscribe by server-sent events/s);
  socket.destroy();
});
