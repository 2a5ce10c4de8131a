import { afterAll, describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { generateKey } from '../../src/access/api-keys.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import { within } from '../kit/deadline.ts';
import { freePort, type MongoServer, mongoUri, secantusBinary, startSecantus } from '../kit/mongo.ts';
import { endServer, runKeys, type ServerProcess, startServer } from '../kit/process.ts';

const binary = await secantusBinary();

describe.runIf(binary)('a start without MongoDB', () => {
  let server: ServerProcess | undefined;
  let mongo: MongoServer | undefined;
  afterAll(async () => {
    await endServer(server);
    await mongo?.stop();
  });

  it('responds 503 until MongoDB is reachable, and exits in time once it is gone again', async () => {
    const port = await freePort();
    const store = { MONGODB_URI: mongoUri('late', `mongodb://127.0.0.1:${port}/?directConnection=true`) };
    server = await startServer({ ...store, SAMPLE_DATA: 'on' });
    const { url, output, child, exited } = server;
    const status = async (path: string, key?: string) =>
      (await fetch(url + path, { headers: key === undefined ? {} : { 'x-api-key': key } })).status;
    const statuses = [status('/health/live'), status('/health/ready'), status('/pets', generateKey().key)];
    expect(await Promise.all(statuses)).toEqual([200, 503, 503]);

    // The log names the host only: a connection string may contain a password.
    const line = `"host":"127\\.0\\.0\\.1:${port}".*"msg":"the database of MONGODB_URI is unreachable"`;
    await expect.poll(output, { timeout: 10_000 }).toMatch(new RegExp(line));

    mongo = await startSecantus(binary!, { port });
    await expect.poll(() => status('/health/ready'), { timeout: 20_000 }).toBe(200);
    const sampleStore = await openMongoStore({ records: api.records, uri: store.MONGODB_URI });
    await expect.poll(() => sampleStore.table(Pet).count({}), { timeout: 20_000 }).toBe(10);
    await sampleStore.close();
    const made = await runKeys(store, 'create', '--name', 'late', '--plan', 'pro', '--json');
    expect(await status('/pets/1', JSON.parse(made.stdout).key)).toBe(200);

    // A lost database must not delay the exit.
    await mongo.stop();
    child.kill('SIGTERM');
    expect(await within(10_000, exited)).toBe(0);
  });
});
