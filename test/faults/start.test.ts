import { afterAll, describe, expect, it } from 'vitest';
import { newSecret } from '../../src/access/api-keys.ts';
import { RECORDS } from '../../src/domains/index.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import { freePort, type MongoServer, mongoUri, secantusBinary, startSecantus } from '../kit/mongo.ts';
import { runKeys, type ServerProcess, startServer } from '../kit/process.ts';

const binary = await secantusBinary();

describe.runIf(binary)('a start without MongoDB', () => {
  const running: ServerProcess[] = [];
  let mongo: MongoServer | undefined;
  afterAll(async () => {
    for (const { child, exited } of running) {
      child.kill('SIGKILL');
      await exited;
    }
    await mongo?.stop();
  });

  it('responds 503 until MongoDB is reachable, and exits in time once it is gone again', {
    timeout: 90_000,
  }, async () => {
    const port = await freePort();
    const store = { MONGODB_URI: mongoUri('late', `mongodb://127.0.0.1:${port}/?directConnection=true`) };
    const settings: Record<string, string>[] = [
      { SAMPLE_DATA: 'on' },
      ...(process.env.AT_LENGTH === '1' ? [{ SAMPLE_DATA: 'off' }] : []),
    ];
    running.push(...(await Promise.all(settings.map((setting) => startServer({ ...store, ...setting })))));
    const status = async ({ url }: ServerProcess, path: string, key?: string) =>
      (await fetch(url + path, { headers: key === undefined ? {} : { 'x-api-key': key } })).status;
    const statuses = running.flatMap((server) => [
      status(server, '/health/live'),
      status(server, '/health/ready'),
      status(server, '/pets', newSecret().key),
    ]);
    expect(await Promise.all(statuses)).toEqual(running.flatMap(() => [200, 503, 503]));

    // The log names the host only: a connection string may contain a password.
    for (const { output } of running)
      await expect
        .poll(output, { timeout: 10_000 })
        .toMatch(
          new RegExp(`"host":"127\\.0\\.0\\.1:${port}".*"msg":"the database of MONGODB_URI is unreachable"`),
        );

    mongo = await startSecantus(binary!, { port });
    for (const server of running) {
      await expect.poll(() => status(server, '/health/ready'), { timeout: 20_000 }).toBe(200);
    }
    const sampleStore = await openMongoStore({ records: RECORDS, uri: store.MONGODB_URI });
    await expect.poll(() => sampleStore.table(Pet).count({}), { timeout: 20_000 }).toBe(10);
    await sampleStore.close();
    const made = await runKeys(store, 'create', '--name', 'late', '--plan', 'pro', '--json');
    const { key } = JSON.parse(made.stdout);
    for (const server of running) expect(await status(server, '/pets/1', key)).toBe(200);

    // A lost database must not delay the exit.
    await mongo.stop();
    const began = Date.now();
    for (const { child } of running) child.kill('SIGTERM');
    expect(await Promise.all(running.map(({ exited }) => exited))).toEqual(running.map(() => 0));
    expect(Date.now() - began).toBeLessThan(10_000);
  });
});
