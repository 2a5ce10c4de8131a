import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession, Document } from 'mongodb';
import type { AnyDeclaration } from '../../foundation/record.ts';
import { type DumpTarget, refuseUnlessEmpty } from '../dump.ts';
import { codecOf } from './codec.ts';
import { countersOf } from './ids.ts';
import { layoutsOf } from './layout.ts';
import { type MongoOptions, openMongoStore } from './mongo-store.ts';

/** The time without a sign of life after which an importing process counts as dead, in milliseconds. */
const DEAD_AFTER = 10_000;
/** The interval between signs of life while a process writes nothing, in milliseconds. */
const SIGN_INTERVAL = 1_000;
/** The interval between checks for signs of life, in milliseconds. */
const LOOK_INTERVAL = 500;

/**
 * Opens an empty database for an import. A mark keeps instances from serving it until the import is finished, and keeps
 * out other imports while its owner is alive. Leftovers of an interrupted import are removed.
 *
 * @throws Error if the database holds anything else, or another process is importing into it
 */
export async function openMongoTarget(settings: MongoOptions): Promise<DumpTarget> {
  const { records } = settings;
  const store = await openMongoStore({ ...settings, role: 'import' });
  const { client } = store;
  const db = client.db();
  const layouts = layoutsOf(db);
  const owner = randomUUID();
  const own = { _id: 'layout', 'importer.owner': owner } as const;
  const sign = { $currentDate: { 'importer.seenAt': true } } as const;

  /** Makes this process the importer. */
  async function takeOver(): Promise<void> {
    const isDead = {
      $lt: [{ $toLong: '$importer.seenAt' }, { $subtract: [{ $toLong: '$$NOW' }, DEAD_AFTER] }],
    };
    let seen: Date | undefined;
    for (;;) {
      const { matchedCount } = await layouts.updateOne(
        { _id: 'layout', $or: [{ importer: { $exists: false } }, { $expr: isDead }] },
        { $set: { 'importer.owner': owner }, ...sign },
      );
      if (matchedCount > 0) return;
      const seenAt = (await layouts.findOne())?.importer?.seenAt;
      if (seen && seenAt && +seenAt !== +seen)
        throw new Error('Another process is importing into the database. Wait until it ends.');
      seen = seenAt;
      await sleep(LOOK_INTERVAL);
    }
  }

  /** Runs work in a transaction, if this process is still the importer. */
  const write = (work: (session: ClientSession) => Promise<unknown>): Promise<unknown> =>
    client.withSession((session) =>
      session.withTransaction(async () => {
        const { matchedCount } = await layouts.updateOne(own, sign, { session });
        if (matchedCount === 0) throw new Error('Another process has restarted the import.');
        await work(session);
      }),
    );
  const insert = (name: string, documents: Document[]) =>
    write(async (session) => {
      if (documents.length > 0) await db.collection(name).insertMany(documents, { ordered: false, session });
    });
  const clear = async () => {
    const signing = setInterval(() => void layouts.updateOne(own, sign).catch(() => {}), SIGN_INTERVAL);
    for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray())
      if (name !== 'layout' && !name.startsWith('system.')) await db.collection(name).deleteMany({});
    clearInterval(signing);
  };
  const giveUp = () => layouts.updateOne(own, { $set: { isImporting: false }, $unset: { importer: '' } });
  let isFinished = false;
  try {
    await store.ping();
    await takeOver();
    try {
      if ((await layouts.findOne())?.isImporting) await clear();
      await refuseUnlessEmpty(store, records);
      await layouts.updateOne(own, { $set: { isImporting: true } });
    } catch (error) {
      await layouts.updateOne(own, { $unset: { importer: '' } });
      throw error;
    }
  } catch (error) {
    await store.close();
    throw error;
  }
  return {
    store,
    async setLastIds(lastIds) {
      for (const [_id, last] of Object.entries(lastIds))
        await countersOf(db).updateOne({ _id }, { $max: { value: BigInt(last) } }, { upsert: true });
    },
    async addRecords(declaration: AnyDeclaration, rows) {
      const codec = codecOf(declaration);
      await insert(
        declaration.plural,
        rows.map((row) => codec.toDocument(row)),
      );
    },
    async addUsage(rows) {
      await insert(
        'usage',
        rows.map(({ apiKeyId, ...state }) => ({ _id: apiKeyId as never, ...state })),
      );
    },
    async finish() {
      await write(async () => {});
      isFinished = true;
    },
    async close() {
      const { matchedCount } = await layouts.updateOne(own, sign);
      // If another process has started over, nothing in the database belongs to this one.
      if (matchedCount > 0) {
        if (!isFinished) await clear();
        await giveUp();
      }
      await store.close();
    },
  };
}
