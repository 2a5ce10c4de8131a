import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSigningSecret } from '../../src/webhooks/webhook.ts';
import { WebhookClient } from '../../src/webhooks/request.ts';
import { resolveBy, Targets } from '../../src/webhooks/targets.ts';

const EVENT = { id: 'x', body: '{}' };
const SECRETS = [newSigningSecret()];
const send = (targets: Targets, url: string, timeout = 1_000) =>
  new WebhookClient(targets, timeout).send(url, EVENT, SECRETS, Date.now());

/** Hosts that lead inside, in every way of writing them. `P` is the port of the watched listener. */
const INSIDE = `
  127.0.0.1 127.1 127.255.255.254 2130706433 0x7f000001 0x7f.1 017700000001 0177.0.0.1 127.0.0.1. 0.0.0.0 0
  0x0 0.1.2.3 10.0.0.1 10.255.255.255 167772161 0xa.0.0.1 172.16.0.1 172.31.255.255 192.168.0.1 192.168.1
  169.254.169.254 2852039166 0xa9fea9fe 100.64.0.1 100.127.255.255 192.0.0.1 192.0.2.1 192.31.196.1
  192.52.193.1 192.88.99.1 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1
  239.255.255.255 240.0.0.1 255.255.255.255 [::] [::1] [0:0:0:0:0:0:0:1] [::127.0.0.1] [::7f00:1]
  [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:8.8.8.8] [::ffff:0:127.0.0.1] [64:ff9b::7f00:1]
  [64:ff9b::8.8.8.8] [64:ff9b:1::1] [100::1] [100:0:0:1::1] [2001::1] [2001:2::1] [2001:10::1] [2001:db8::1]
  [2002:7f00:1::] [2002:808:808::] [2620:4f:8000::1] [3fff::1] [5f00::1] [fc00::1] [fd12:3456:789a::1]
  [fe80::1] [fec0::1] [ff02::1] [ff0e::1] [4000::1] [1fff::1] localhost LOCALHOST localhost. %6cocalhost
  %31%32%37.0.0.1 １２７.0.0.1 127。0。0。1
`
  .trim()
  .split(/\s+/);

describe('targets', () => {
  let listener: Server;
  let port: number;
  let connections = 0;

  beforeAll(async () => {
    listener = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    // On all addresses of this machine.
    await new Promise<void>((resolve) => listener.listen(0, '::', resolve));
    port = (listener.address() as AddressInfo).port;
  });
  afterAll(() => new Promise((resolve) => listener.close(resolve)));

  it(`connects to none of ${INSIDE.length} hosts that lead inside`, async () => {
    expect(INSIDE.length).toBeGreaterThanOrEqual(60);
    for (const allowed of [[], ['10.99.0.0/16']])
      for (const protocol of ['https', 'http'])
        for (const host of INSIDE) {
          const url = `${protocol}://${host}:${port}/`;
          const outcome = await send(new Targets(allowed), url);
          expect(['refused_address', 'dns'], url).toContain(outcome.error);
        }
    expect(connections).toBe(0);
  });

  it('refuses literals and http at creation', () => {
    const targets = new Targets([]);
    for (const host of [...INSIDE, 'localhost', 'a.localhost', '168.63.129.16'])
      expect(targets.refusal(`https://${host}/`), host).toMatch(/^must lead to .* WEBHOOK_ALLOW/);
    for (const url of ['http://example.org/', 'http://1.1.1.1/'])
      expect(targets.refusal(url), url).toBe('must be an https:// address');
    for (const url of ['https://example.org/a?b=c', 'https://1.1.1.1:8443/', 'https://[2606:4700::1111]/'])
      expect(targets.refusal(url), url).toBeUndefined();
  });

  it('permits this machine on a development server, but no other address or name over http', () => {
    const targets = new Targets([], true);
    for (const host of ['127.0.0.1:3000', 'localhost:3000', '[::1]:3000'])
      for (const protocol of ['http', 'https'])
        expect(targets.refusal(`${protocol}://${host}/`), host).toBeUndefined();
    for (const url of ['http://example.org/', 'https://10.0.0.1/', 'http://1.1.1.1/'])
      expect(targets.refusal(url), url).toBeDefined();
  });

  it('permits exactly the allowed networks, over http too', async () => {
    const targets = new Targets(['127.0.0.0/30', 'fd00::/8']);
    for (const host of ['127.0.0.1', 'localhost']) {
      const before = connections;
      expect(await send(targets, `http://${host}:${port}/`)).toEqual({ error: 'connect' });
      expect(connections).toBeGreaterThan(before);
    }
    const before = connections;
    for (const host of ['127.0.0.5', '10.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '[fe80::1]'])
      for (const protocol of ['http', 'https'])
        expect(await send(targets, `${protocol}://${host}:${port}/`), host).toEqual({
          error: 'refused_address',
        });
    expect(connections).toBe(before);
    expect(targets.refusal('http://127.0.0.3/')).toBeUndefined();
    expect(targets.refusal('http://example.org/')).toBeUndefined();
    expect(targets.refusal('http://127.0.0.4/')).toBeDefined();
  });

  it('says when a name does not exist', async () => {
    const outcome = await send(new Targets([]), 'https://does-not-exist.invalid/', 20_000);
    expect(outcome).toEqual({ error: 'dns' });
  });

  it('finds a name while the name servers of many others are silent', async () => {
    const nameServer = createSocket('udp4', (query, { port }) => {
      // A question has the labels of its name after the head, each with its length before it.
      if (query.toString('latin1').includes('silent')) return;
      const question = query.subarray(12, query.indexOf(0, 12) + 5);
      const isIPv4 = question.readUInt16BE(question.length - 4) === 1;
      const head = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, isIPv4 ? 1 : 0, 0, 0, 0, 0]);
      const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
      nameServer.send(Buffer.concat([head, question, ...(isIPv4 ? [answer] : [])]), port);
    });
    nameServer.bind(0, '127.0.0.1');
    await once(nameServer, 'listening');
    const targets = new Targets(
      ['127.0.0.1/32'],
      false,
      resolveBy([`127.0.0.1:${nameServer.address().port}`]),
    );
    // More than the threads of a process, which all files of it share.
    const silent = Array.from({ length: 12 }, (_, n) =>
      send(targets, `http://silent-${n}.example:${port}/`, 500),
    );
    const before = connections;
    expect(await send(targets, `http://hooks.example:${port}/`, 400)).toEqual({ error: 'connect' });
    expect(connections).toBe(before + 1);
    expect((await readFile(import.meta.filename)).length).toBeGreaterThan(0);
    expect(await Promise.race([Promise.all(silent), 'none yet'])).toBe('none yet');
    expect(await Promise.all(silent)).toEqual(silent.map(() => ({ error: 'timeout' })));
    nameServer.close();
  });

  it('checks each resolution, and connects to the address that it has checked', async () => {
    const seen: (string | undefined)[] = [];
    const everywhere = createServer((socket) => {
      seen.push(socket.localAddress);
      // Each request connects anew.
      socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'));
    });
    await new Promise<void>((resolve) => everywhere.listen(0, '127.0.0.1', resolve));
    const inside = createServer((socket) => socket.destroy());
    const { port } = everywhere.address() as AddressInfo;
    await new Promise<void>((resolve) => inside.listen(port, '127.0.0.9', resolve));
    inside.on('connection', () => seen.push('inside'));
    const answers = [['127.0.0.1'], ['127.0.0.9'], ['127.0.0.9', '127.0.0.1'], ['::ffff:127.0.0.9', '::1']];
    const resolved: string[] = [];
    const targets = new Targets(['127.0.0.1/32'], false, async (hostname) => {
      resolved.push(hostname);
      return answers.shift()!.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    });
    const client = new WebhookClient(targets, 1_000);
    const url = `http://rebinding.example:${port}/`;
    const outcomes = [];
    for (let i = 0; i < 4; i++) outcomes.push(await client.send(url, EVENT, SECRETS, Date.now()));
    const refused = { error: 'refused_address' };
    expect(outcomes).toEqual([{ status: 204 }, refused, { status: 204 }, refused]);
    expect(seen).toEqual(['127.0.0.1', '127.0.0.1']);
    expect(resolved).toEqual(Array(4).fill('rebinding.example'));
    for (const server of [everywhere, inside]) await new Promise((resolve) => server.close(resolve));
  });
});
