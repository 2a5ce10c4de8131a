import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Clock, TestGateway } from '../kit/gateway.ts';
import { freePort } from '../kit/mongo.ts';
import { send } from '../kit/petstore.ts';
import { engines } from '../kit/stores.ts';

const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');

it.each([
  ['webhook-receiver.mjs', 'js', process.execPath],
  ['webhook_receiver.py', 'py', 'python3'],
])('docs/webhooks.md has %s verbatim, which takes genuine events alone', async (name, language, program) => {
  const file = new URL(`../clients/programs/${name}`, import.meta.url);
  const source = readFileSync(file, 'utf8');
  expect(page).toContain(`<!-- test/clients/programs/${name} -->\n\`\`\`${language}\n${source}\`\`\``);
  expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(32);

  const clock = new Clock();
  clock.time = Date.now();
  const opened = await engines[0]!.open(clock.now);
  const gateway = await TestGateway.start(opened.store, { WEBHOOK_ALLOW: '127.0.0.1' }, clock);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const { json: webhook } = await send(gateway, 'POST /webhooks', { body: { url } });
  const receiver = spawn(program, [fileURLToPath(file)], {
    env: { ...process.env, PORT: String(port), WEBHOOK_SECRET: webhook.secret },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const lines: string[] = [];
  createInterface(receiver.stdout).on('line', (line) => lines.push(line));
  try {
    const test = async () => (await send(gateway, `POST /webhooks/${webhook.id}/test`)).json;
    while ((await test()).status !== 204) await sleep(50);
    gateway.deliver();
    await gateway.store.table(Category).insert({ name: 'Dogs' });
    while (!lines.some((line) => line.startsWith('category.created'))) await sleep(20);
    expect(lines.at(-1)).toMatch(/^category\.created \{"id": ?\d+, ?"name": ?"Dogs"\}$/);
    const forged = await fetch(url, {
      method: 'POST',
      body: '{"type":"forged","data":{}}',
      headers: {
        'webhook-id': 'x',
        'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
        'webhook-signature': 'v1,AAAA',
      },
    });
    expect(forged.status).toBe(401);
    expect(lines.join()).not.toContain('forged');
  } finally {
    receiver.kill();
    await gateway.close();
    await opened.close();
  }
});
