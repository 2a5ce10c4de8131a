import { afterAll, describe, expect, it } from 'vitest';
import { openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import { freePort, type MongoServer, mongoUri, secantusBinary, startSecantus } from '../kit/mongo.ts';
import { runKeys, type ServerProcess, startServer } from '../kit/process.ts';

const binary = await secantusBinary();

describe.runIf(binary)('a start while MongoDB is away', () => {
  const running: ServerProcess[] = [];
  let mongo: MongoServer | undefined;
  afterAll(async () => {
    for (const { child, exited } of running) {
      child.kill('SIGKILL');
      await exited;
    }
    await mongo?.stop();
  });

  it('serves 503 until it is there, and then everything', { timeout: 90_000 }, async () => {
    const port = await freePort();
    const store = { MONGODB_URI: mongoUri('late', `mongodb://127.0.0.1:${port}/?directConnection=true`) };
    const settings = [
      { WORKERS: '1', SAMPLE_DATA: 'on' },
      { WORKERS: '2', SAMPLE_DATA: 'off' },
    ];
    running.push(...(await Promise.all(settings.map((one) => startServer({ ...store, ...one })))));
    const status = async ({ url }: ServerProcess, path: string, key?: string) =>
      (await fetch(url + path, { headers: key === undefined ? {} : { 'x-api-key': key } })).status;
    const statuses = running.flatMap((server) => [
      status(server, '/health/live'),
      status(server, '/health/ready'),
      status(server, '/pets', `petstore_${'a'.repeat(43)}`),
    ]);
    expect(await Promise.all(statuses)).toEqual([200, 503, 503, 200, 503, 503]);

    // Without what is between the scheme and the host of the connection string.
    for (const { output } of running)
      await expect
        .poll(output, { timeout: 10_000 })
        .toMatch(new RegExp(`"host":"127\\.0\\.0\\.1:${port}".*"msg":"the database is away"`));

    mongo = await startSecantus(binary!, { port });
    for (const server of running) {
      await expect.poll(() => status(server, '/health/ready'), { timeout: 20_000 }).toBe(200);
    }
    const own = await openMongoStore({ uri: store.MONGODB_URI });
    await expect.poll(() => own.petCount({}), { timeout: 20_000 }).toBe(10);
    await own.close();
    const made = await runKeys(store, 'create', '--name', 'late', '--plan', 'pro', '--json');
    const { key } = JSON.parse(made.stdout);
    for (const server of running) expect(await status(server, '/pets/1', key)).toBe(200);

    // Gone again, it holds up no end either.
    await mongo.stop();
    const began = Date.now();
    for (const { child } of running) child.kill('SIGTERM');
    expect(await Promise.all(running.map(({ exited }) => exited))).toEqual([0, 0]);
    expect(Date.now() - began).toBeLessThan(10_000);
  });
});
