import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { temporaryFolder } from '../kit/folder.ts';
import { printedKey, type ServerProcess, startServer } from '../kit/process.ts';
import { Receiver, verify } from '../kit/receiver.ts';

/** Certificates made now; Node.js trusts the authority because of NODE_EXTRA_CA_CERTS. */
const home = temporaryFolder();
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: home, stdio: 'ignore' });
const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];

/** Makes `name.pem` and `name.key` for an address. @param issuer by default, it signs itself */
function certify(name: string, address: string, issuer?: string): void {
  const signing = issuer ? ['-CA', `${issuer}.pem`, '-CAkey', `${issuer}.key`] : [];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=IP:${address}`];
  openssl('req', '-x509', ...EC, ...subject, ...signing, '-keyout', `${name}.key`, '-out', `${name}.pem`);
}

const receive = (name: string): Promise<Receiver> => {
  const [key, cert] = ['key', 'pem'].map((type) => readFileSync(join(home, `${name}.${type}`)));
  return Receiver.start(createServer({ key, cert }));
};

let server: ServerProcess;
const receivers: Receiver[] = [];

beforeAll(async () => {
  certify('authority', '127.0.0.3');
  certify('genuine', '127.0.0.1', 'authority');
  certify('elsewhere', '127.0.0.2', 'authority');
  certify('untrusted', '127.0.0.1');
  for (const name of ['genuine', 'elsewhere', 'untrusted']) receivers.push(await receive(name));
  server = await startServer({
    NODE_ENV: 'development',
    DATA_FILE: join(home, 'petstore.db'),
    WEBHOOK_ALLOW: '127.0.0.0/8',
    NODE_EXTRA_CA_CERTS: join(home, 'authority.pem'),
  });
});
afterAll(async () => {
  server?.child.kill('SIGKILL');
  for (const receiver of receivers) await receiver.close();
});

it('sends over TLS, and not to a receiver whose certificate is invalid', async () => {
  const call = async (path: string, body: object) => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { 'x-api-key': printedKey(server), 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return response.json();
  };
  const made = [];
  for (const { url } of receivers) made.push(await call('/webhooks', { url }));
  expect(receivers[0]!.url).toMatch(/^https:/);
  const attempts = [];
  for (const { id } of made) attempts.push(await call(`/webhooks/${id}/test`, {}));
  expect(attempts).toMatchObject([{ status: 204 }, { error: 'tls' }, { error: 'tls' }]);
  await call('/categories', { name: 'Dogs' });
  const [test, event] = await receivers[0]!.until(2);
  for (const received of [test!, event!]) verify(received, made[0].secret);
  expect(event!.event).toMatchObject({ type: 'category.created', data: { name: 'Dogs' } });
  expect(receivers.map(({ received }) => received.length)).toEqual([2, 0, 0]);
});
