import { type ChildProcess, spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import type { TestProject } from 'vitest/node';
import { selectedFiles } from './selected-files.ts';

/**
 * Finds or starts a MongoDB for the tests. Vitest calls the default export once before all test files; they find the
 * server by {@link serverUri}. `process.env.TEST_MONGODB_URI` is unset if there is none.
 *
 * In this order: MONGODB_TEST_URI (a replica set, since some tests are about transactions); `mongod` on the PATH;
 * SecantusDB (`secantusd-py` on the PATH or at SECANTUS); a mongod that mongodb-memory-server has or can download.
 * With REQUIRE_MONGO=1 finding none is an error.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const files = selectedFiles(project, /\bserverUri\b/).length;
  if (files === 0) return async () => {};
  const server = await findServer(Math.min(Number(project.vitest.config.maxWorkers), files));
  if (server) {
    process.env.TEST_MONGODB_URI = server.uris.join(' ');
    console.log(`Tests run on MongoDB too: ${server.what}`);
  } else if (process.env.REQUIRE_MONGO === '1') {
    throw new Error('REQUIRE_MONGO=1, but there is no MongoDB for the tests: set MONGODB_TEST_URI.');
  } else {
    delete process.env.TEST_MONGODB_URI;
    console.warn(
      '\n!!! ONLY THE EMBEDDED ENGINE IS TESTED: no MongoDB found.' +
        '\n!!! Set MONGODB_TEST_URI, put mongod on the PATH, or `pip install SecantusDB==0.7.0b3` and set SECANTUS.\n',
    );
  }
  return async () => {
    await server?.stop();
  };
}

export interface MongoServer {
  /** For people. */
  what: string;
  /** Connection string without a database. */
  uri: string;
  stop(): Promise<void>;
}

/** The servers of the tests: one server for all workers, or one for each. */
type TestServer = Omit<MongoServer, 'uri'> & { uris: string[] };

/**
 * The server of this worker of Vitest: a connection string without a database such as
 * `mongodb://127.0.0.1:27411/?directConnection=true`; empty if there is none.
 */
export function serverUri(): string {
  const uris = (process.env.TEST_MONGODB_URI ?? '').split(' ');
  return uris[(Number(process.env.VITEST_POOL_ID ?? 1) - 1) % uris.length]!;
}

/** The connection string of a database on the test server. */
export function mongoUri(database: string, server = serverUri()): string {
  const parts = /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/[^?]*)?(\?.*)?$/.exec(server);
  if (!parts) throw new Error(`Not a connection string for the tests: ${server}`);
  return `${parts[1]}/${database}${parts[2] ?? ''}`;
}

/** The same for a client that emits command events such as `commandStarted`. */
export const monitoredUri = (database: string): string =>
  mongoUri(database).replace(/\?|$/, '?monitorCommands=true&');

/** Drops a database that a test created. */
export async function dropDatabase(database: string): Promise<void> {
  const client = new MongoClient(mongoUri(database));
  try {
    await client.db().dropDatabase();
  } finally {
    await client.close();
  }
}

async function findServer(workers: number): Promise<TestServer | null> {
  const uri = process.env.MONGODB_TEST_URI;
  if (uri) return { what: 'MONGODB_TEST_URI', uris: [uri], stop: async () => {} };
  const mongod = await onPath('mongod');
  const secantus = await secantusBinary();
  // It does one thing at a time, so that workers would wait for each other. Who follows events from the oldest one has
  // to pass those of all tests that it still has.
  if (secantus && !mongod) {
    const start = () => startSecantus(secantus, { oplogEntries: 2_000 });
    return together(await Promise.all(Array.from({ length: workers }, start)));
  }
  const server = await startMemoryServer(mongod);
  return server && together([server]);
}

const together = (servers: MongoServer[]): TestServer => ({
  what: servers.map(({ what }) => what).join(', '),
  uris: servers.map(({ uri }) => uri),
  stop: async () => {
    await Promise.all(servers.map((server) => server.stop()));
  },
});

/** The path of SecantusDB's server, which substitutes for MongoDB if no mongod is available; null if not found. */
export async function secantusBinary(): Promise<string | null> {
  const binary = process.env.SECANTUS;
  return binary && (await isExecutable(binary)) ? binary : await onPath('secantusd-py');
}

/**
 * Starts SecantusDB in memory and resolves when it is ready.
 *
 * @param settings `oplogEntries`: size limit of its oplog, enforced every 1,000 writes
 */
export async function startSecantus(
  binary: string,
  settings: { port?: number; standalone?: boolean; oplogEntries?: number } = {},
): Promise<MongoServer> {
  const port = settings.port ?? (await freePort());
  const child = spawn(
    binary,
    [
      '--port',
      String(port),
      '--storage-path',
      ':memory:',
      '--log-level',
      'ERROR',
      '--enable-test-commands',
      ...(settings.standalone ? ['--standalone'] : []),
      ...(settings.oplogEntries ? ['--oplog-max-entries', String(settings.oplogEntries)] : []),
    ],
    { stdio: 'ignore' },
  );
  const uri = `mongodb://127.0.0.1:${port}/?directConnection=true`;
  await untilReady(child, uri);
  return { what: `SecantusDB on port ${port}`, uri, stop: () => end(child) };
}

/** A replica set of one `mongod`. Without one this downloads it, so detect a closed network first. */
async function startMemoryServer(mongod: string | null): Promise<MongoServer | null> {
  try {
    const { DryMongoBinary, MongoMemoryReplSet } = await import('mongodb-memory-server-core');
    const options = await DryMongoBinary.generateOptions(mongod ? { systemBinary: mongod } : {});
    if (!(await DryMongoBinary.locateBinary(options)) && !(await canDownload())) return null;
    const server = await MongoMemoryReplSet.create({
      binary: options,
      replSet: { count: 1, storageEngine: 'wiredTiger' },
    });
    const stop = () => server.stop().then(() => {});
    return { what: mongod ?? 'mongodb-memory-server', uri: server.getUri(), stop };
  } catch (error) {
    console.warn(`mongodb-memory-server: ${(error as Error).message}`);
    return null;
  }
}

const canDownload = (): Promise<boolean> =>
  fetch('https://fastdl.mongodb.org/', { method: 'HEAD', signal: AbortSignal.timeout(3_000) }).then(
    ({ status }) => status < 500,
    () => false,
  );

async function untilReady(child: ChildProcess, uri: string): Promise<void> {
  let failure: unknown;
  child.once('error', (error) => {
    failure = error;
  });
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 500 });
  try {
    for (const deadline = Date.now() + 90_000; ; await sleep(100)) {
      if (child.exitCode !== null) failure = new Error(`${child.spawnfile} ended with ${child.exitCode}`);
      if (failure) throw failure;
      try {
        // The driver does not reconnect by itself after a failed connection.
        await client.connect();
        await client.db('admin').command({ ping: 1 });
        return;
      } catch (error) {
        if (Date.now() > deadline) failure = error;
      }
    }
  } catch (error) {
    await end(child);
    throw error;
  } finally {
    await client.close();
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  // A server that keeps running would hold the port and its memory.
  const patience = setTimeout(() => child.kill('SIGKILL'), 5_000);
  await exited;
  clearTimeout(patience);
}

/** A port that is currently free. */
export async function freePort(): Promise<number> {
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => (typeof address === 'object' && address ? resolve(address.port) : reject()));
    });
  });
}

async function onPath(name: string): Promise<string | null> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const file = join(folder, name);
    if (folder !== '' && (await isExecutable(file))) return file;
  }
  return null;
}

const isExecutable = (file: string): Promise<boolean> =>
  access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
