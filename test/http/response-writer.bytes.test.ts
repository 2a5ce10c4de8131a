import { createServer, type Server, type ServerResponse, request as send } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Headers } from '../../src/http/response.ts';
import { writeWhole } from '../../src/http/response-writer.ts';
import { listen } from '../../src/server.ts';

interface Answer {
  status: number;
  headers: Headers;
  body: string | undefined;
}

const answer = (body: string | undefined, status = 200): Answer => ({
  status,
  headers: [
    'X-Name',
    'Rex',
    'X-Count',
    3,
    ...(body === undefined ? [] : ['Content-Length', Buffer.byteLength(body)]),
  ],
  body,
});
const ANSWERS: Record<string, Answer> = {
  ascii: answer('{"name":"Rex"}'),
  latin1: answer('{"name":"José"}'),
  beyond: answer('{"name":"犬 🐶"}'),
  empty: { ...answer(undefined), headers: ['Content-Length', 0] },
  created: answer('{}', 201),
  'no-content': answer(undefined, 204),
  'not-modified': answer(undefined, 304),
};

describe('writeWhole', () => {
  let server: Server;
  let port: number;
  let wrote: boolean[] = [];
  let failure: unknown;

  const byNode = (response: ServerResponse, { status, headers, body }: Answer) =>
    response.writeHead(status, headers as never).end(body);

  beforeAll(async () => {
    server = createServer((request, response) => {
      const [, writer, name] = request.url!.split('/') as [string, string, string];
      const { status, headers, body } = ANSWERS[name] ?? ANSWERS.ascii!;
      request.resume();
      if (writer === 'node') byNode(response, { status, headers, body });
      else if (name === 'split') {
        try {
          writeWhole(response, 200, ['Location', '/\r\nSet-Cookie: a=b', 'Content-Length', 0], undefined);
        } catch (error) {
          failure = error;
          response.destroy();
        }
      } else {
        const isWritten = writeWhole(response, status, headers, body);
        wrote.push(isWritten);
        if (!isWritten) byNode(response, { status, headers, body });
      }
    });
    port = await listen(server, 0, '127.0.0.1');
  });
  afterAll(() => server.close());

  /** The bytes of the responses to requests that are sent at once, with equal dates. */
  const exchange = async (requests: string[]): Promise<string> => {
    wrote = [];
    const socket = connect(port, '127.0.0.1');
    socket.write(requests.join(''));
    const bytes = await text(socket.setEncoding('latin1'));
    return bytes.replaceAll(/^Date: .*GMT\r$/gm, 'Date\r');
  };
  const requestOf = (path: string, { version = '1.1', method = 'GET', headers = '' } = {}) =>
    `${method} ${path} HTTP/${version}\r\nHost: x\r\n${headers}\r\n`;
  const LAST = requestOf('/node/ascii', { headers: 'Connection: close\r\n' });

  it.each(Object.keys(ANSWERS))('writes the bytes that Node would write: %s', async (name) => {
    const expected = await exchange([requestOf(`/node/${name}`), LAST]);
    expect(await exchange([requestOf(`/whole/${name}`), LAST])).toBe(expected);
    expect(wrote).toEqual([true]);
  });

  it('writes pipelined responses in order', async () => {
    const names = Object.keys(ANSWERS);
    const expected = await exchange([...names.map((name) => requestOf(`/node/${name}`)), LAST]);
    expect(await exchange([...names.map((name) => requestOf(`/whole/${name}`)), LAST])).toBe(expected);
  });

  it.each([
    ['a connection that closes', { headers: 'Connection: close\r\n' }],
    ['HTTP/1.0', { version: '1.0' }],
  ])('leaves the response to Node on %s', async (_, options) => {
    const expected = await exchange([requestOf('/node/ascii', options)]);
    expect(await exchange([requestOf('/whole/ascii', options)])).toBe(expected);
    expect(wrote).toEqual([false]);
  });

  it('refuses a value that would begin another header', async () => {
    const request = send({ port, path: '/whole/split' }).end();
    await new Promise((resolve) => request.once('error', resolve));
    expect(String(failure)).toContain('The header Location has a value that cannot be sent.');
  });
});
