import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { Category } from '../../src/domains/category/category.ts';
import { type MongoStore, openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import { TestGateway } from '../kit/gateway.ts';
import { dropDatabase, mongoUri, secantusBinary, startSecantus } from '../kit/mongo.ts';
import { send } from '../kit/petstore.ts';
import { endServer, type ServerProcess, startServer } from '../kit/process.ts';
import { Receiver } from '../kit/receiver.ts';
import { ALLOW_LOCAL, endClaims } from '../kit/webhooks.ts';

const EVENTS = Number(process.env.KILL_EVENTS ?? 10_000);
/** Written at once, so many times a second. */
const BATCH = { size: 100, perSecond: 8 };
/** How long an instance delivers before it is killed, in milliseconds. */
const LIFE = 3_000;
/** Bounds the time on a slow machine, since each of them starts a process. */
const MAX_KILLS = 6;
/** What a kill may repeat: what was acknowledged this long before it, in milliseconds. */
const MAX_REPEATED = 1_000;

/** Kills the delivering one of two instances again and again. */
it.runIf(process.env.TEST_MONGODB_URI && process.env.AT_LENGTH === '1')(
  `delivers ${EVENTS} events in order, none lost, while the delivering instances are killed`,
  { timeout: 180_000 },
  async () => {
    const database = `killed-${randomUUID().slice(0, 8)}`;
    // The tests' own forgets what instances that were killed have to read.
    const secantus = await secantusBinary();
    const server = secantus ? await startSecantus(secantus) : undefined;
    const uri = mongoUri(database, server?.uri);
    const settings = { MONGODB_URI: uri, SAMPLE_DATA: 'off', ...ALLOW_LOCAL };
    const observer = await TestGateway.start(
      await openMongoStore({ records: api.records, uri }),
      ALLOW_LOCAL,
    );
    const store = observer.store as MongoStore;
    const db = store.client.db();
    const receiver = await Receiver.start();
    const servers: ServerProcess[] = [];
    /** The time of each kill, on the clock of what was received. */
    const kills: number[] = [];
    try {
      await store.table(Category).insert({ name: 'Template' });
      await send(observer, 'POST /webhooks', { body: { url: receiver.url } });
      servers.push(await startServer(settings));
      /** The process that delivers, if it is known. */
      const delivering = () => servers.find(({ output }) => output().includes('webhook claimed'));
      await expect.poll(delivering).toBeDefined();
      servers.push(await startServer(settings));

      const write = async () => {
        const categories = db.collection<{ _id: bigint }>('categories');
        const template = await categories.findOne({});
        for (let n = 0; n < EVENTS; n += BATCH.size) {
          const numbers = Array.from({ length: BATCH.size }, (_, i) => n + i);
          await categories.insertMany(
            numbers.map((number) => ({ ...template, _id: BigInt(1_000 + number), name: String(number) })),
          );
          await sleep(1_000 / BATCH.perSecond);
        }
      };
      const seen = () => new Set(receiver.received.map(({ event }) => event.data.name)).size;
      /** Kills the delivering process, after whose claim the other one takes over. Then there are two again. */
      const kill = async (victim: ServerProcess) => {
        await endServer(victim);
        kills.push(performance.now());
        servers.splice(servers.indexOf(victim), 1);
        await endClaims(store);
        servers.push(await startServer(settings));
      };
      const writing = write();
      for (let before = 0; seen() < EVENTS;) {
        // Fails at once if writing does.
        await Promise.race([sleep(LIFE), writing.then(() => sleep(LIFE))]);
        const victim = delivering();
        // Nobody is killed who has not delivered yet.
        if (victim && kills.length < MAX_KILLS && seen() > before && seen() < EVENTS) await kill(victim);
        before = seen();
      }
      await writing;

      const firsts: number[] = [];
      const lastAt = new Map<number, number>();
      const tooOld: object[] = [];
      for (const { event, at } of receiver.received) {
        const number = Number(event.data.name);
        const before = lastAt.get(number);
        lastAt.set(number, at);
        if (before === undefined) firsts.push(number);
        else {
          const killed = kills.findLast((time) => time < at) ?? 0;
          if (!(before > killed - MAX_REPEATED)) tooOld.push({ number, age: killed - before });
        }
      }
      const outOfOrder = firsts.filter((number, i) => number !== i);
      const lost = EVENTS - firsts.length;
      expect({ lost, outOfOrder, tooOld }).toEqual({ lost: 0, outOfOrder: [], tooOld: [] });
      expect(kills.length).toBeGreaterThanOrEqual(Math.floor(EVENTS / 3_000));
    } finally {
      for (const { child } of servers) child.kill('SIGKILL');
      await receiver.close();
      await observer.close();
      await store.close();
      if (server) await server.stop();
      else await dropDatabase(database);
    }
  },
);
