import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandStartedEvent, CommandSucceededEvent } from 'mongodb';
import { beforeAll, describe, expect, it } from 'vitest';
import { RequestLog } from '../../../src/access/request-log.ts';
import { load } from '../../../src/cli/load.ts';
import { Category } from '../../../src/domains/category/category.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { REQUESTS } from '../../../src/store/request-chunks.ts';
import type { MongoStore } from '../../../src/store/mongo/mongo-store.ts';
import type { Page } from '../../../src/foundation/table.ts';
import { codeOf } from '../../kit/errors.ts';
import { temporaryFolder } from '../../kit/folder.ts';
import { newDatabase } from './database.ts';

const home = temporaryFolder();

describe.runIf(process.env.TEST_MONGODB_URI)('MongoDB commands', () => {
  const database = newDatabase();
  const ids = Array.from({ length: 50 }, (_, i) => String(i + 1));
  let store: MongoStore;

  beforeAll(async () => {
    store = await database.open();
    const db = store.client.db();
    await db
      .collection<{ _id: string }>('counters')
      .updateOne({ _id: 'categories' }, { $set: { value: 50n } });
    await db
      .collection<{ _id: bigint }>('categories')
      .insertMany(ids.map((id) => ({ _id: BigInt(id), name: `C${id}`, version: 0 })));
    await db.collection<{ _id: bigint }>('pets').insertMany(
      Array.from({ length: 150 }, (_, i) => ({
        _id: BigInt(i + 1),
        name: 'P',
        categoryId: BigInt((i % 50) + 1),
        status: 'available',
        quantity: 0,
        version: 0,
      })),
    );
  });

  const pets = () => store.table(Pet);

  async function commandsOf(work: () => Promise<unknown>): Promise<CommandStartedEvent[]> {
    const commands: CommandStartedEvent[] = [];
    // Signs of life are given, and looked for, by the second, when sessions of failed work are killed too.
    const listen = (event: CommandStartedEvent) => {
      if (event.commandName !== 'killSessions' && !Object.values(event.command).includes('sessions'))
        commands.push(event);
    };
    store.client.on('commandStarted', listen);
    try {
      await work();
    } finally {
      store.client.off('commandStarted', listen);
    }
    return commands;
  }

  const namesOf = async (work: () => Promise<unknown>) =>
    (await commandsOf(work)).map((command) => command.commandName);

  const charge = { apiKeyId: 'k', limits: { perMinute: 99, perDay: 99 }, cost: 1, now: Date.now() };

  it('adds the requests of all keys of a second with one command', async () => {
    const log = new RequestLog({ store, now: Date.now, report: console.error, isKept: true });
    const answered = { transport: 'rest', operation: 'pet', method: 'GET', status: 200 } as const;
    for (let n = 0; n < 600; n++) {
      const id = `key_${n % 300}`;
      log.add({ id, account: id } as never, { ...answered, id: `${n}`, path: '/pets/1', units: 1, ms: 1 });
    }
    expect(await namesOf(() => log.close())).toEqual(['update']);
    expect(await store.objects(REQUESTS).all()).toHaveLength(300);
  });

  it('reads the pages of 50 parents with one command', async () => {
    let pages: Page<Pet>[] = [];
    const names = await namesOf(async () => {
      pages = await pets().pagesByParent('categoryId', [...ids, '1', '77'], {}, { limit: 2 });
    });
    expect(names).toEqual(['aggregate']);
    expect(pages).toHaveLength(52);
    expect(pages[6]!.items.map((pet) => pet.id)).toEqual(['7', '57']);
    expect(pages[6]!.hasMore).toBe(true);
    expect(pages[50]).toEqual(pages[0]);
    expect(pages[51]).toEqual({ items: [], hasMore: false });
  });

  it('reads the pages of 500 parents with one command, more than the default first batch', async () => {
    const parents = Array.from({ length: 500 }, (_, i) => String(i + 1));
    expect(
      await namesOf(async () => pets().pagesByParent('categoryId', parents, {}, { limit: 100 })),
    ).toEqual(['aggregate']);
  });

  it.each<[string, string[], () => Promise<unknown>]>([
    [
      'records by id',
      ['find'],
      async () => pets().byIds(Array.from({ length: 150 }, (_, i) => String(i + 1))),
    ],
    ['a page', ['aggregate'], async () => pets().page({ status: ['available', 'sold'] }, { limit: 100 })],
    [
      'a page backward',
      ['aggregate'],
      async () => pets().page({}, { limit: 5, backward: true, before: '9' }),
    ],
    ['a count', ['aggregate'], async () => pets().count({ categoryId: '1' })],
    [
      'counts per parent',
      ['aggregate'],
      async () => pets().countsByParent('categoryId', ids, { status: ['available'] }),
    ],
    ['an empty list of ids', [], async () => pets().byIds([])],
    ['an empty status filter', [], async () => pets().page({ status: [] }, { limit: 5 })],
    ['a charge', ['findAndModify'], async () => store.charge(charge)],
    ['an API key', ['find'], async () => store.apiKeyBySecretHash('0'.repeat(64))],
    ['a stock update', ['find', 'update'], async () => pets().update('1', { quantity: 5 })],
    ['a patch that changes nothing', ['find'], async () => pets().update('2', { name: 'P' })],
    ['a deletion of nothing', ['find'], async () => codeOf(pets().remove('99999'))],
    [
      'a new category',
      ['findAndModify', 'insert'],
      async () => store.table(Category).insert({ name: 'New' }),
    ],
  ])('sends for %s: %j', async (_, names, work) => {
    // The first charge of a key creates its document and starts its windows.
    await store.charge(charge);
    expect(await namesOf(work)).toEqual(names);
  });

  it('combines the reads of one turn', async () => {
    let lists: string[][] = [];
    const wanted = [['1', '2'], ['2'], ['3', '1']];
    const find = await namesOf(async () => {
      const read = await Promise.all(wanted.map((ids) => pets().byIds(ids)));
      lists = read.map((records) => records.map((pet) => pet!.id));
    });
    expect([find, lists]).toEqual([['find'], wanted]);
  });

  it('sends the commands of a transaction one after the other, as MongoDB wants it', async () => {
    const sent = new Set<number>();
    let most = 0;
    const start = ({ requestId, command }: CommandStartedEvent) => {
      if (command.autocommit === false) most = Math.max(most, sent.add(requestId).size);
    };
    const end = ({ requestId }: CommandSucceededEvent) => void sent.delete(requestId);
    store.client.on('commandStarted', start).on('commandSucceeded', end);
    await store.transaction(async ({ table }) => {
      await Promise.all([table(Pet).byIds(['1']), table(Category).byIds(['1']), table(Pet).count({})]);
    });
    store.client.off('commandStarted', start).off('commandSucceeded', end);
    expect(most).toBe(1);
  });

  it('sends nothing of a transaction that has ended, whose session another may use', async () => {
    let left: Promise<unknown> | undefined;
    const failing = store.transaction(async ({ table }) => {
      left = Promise.resolve(table(Pet).byIds(['1']));
      left.catch(() => {});
      throw new Error('Taken back.');
    });
    await expect(failing).rejects.toThrow('Taken back.');
    await expect(left).rejects.toThrow('The transaction has ended.');
  });

  it('reads equal pages of one turn once', async () => {
    const page = (limit: number) => pets().page({ categoryId: '3' }, { limit });
    let lengths: number[] = [];
    const names = await namesOf(async () => {
      const pages = await Promise.all([page(1), page(2), page(1), page(2)]);
      lengths = pages.map(({ items }) => items.length);
      await page(1);
    });
    expect([names, lengths]).toEqual([Array(3).fill('aggregate'), [1, 2, 1, 2]]);
  });

  it('writes of one record take turns once they have lost, so that each is made at most twice', async () => {
    const quantities = Array.from({ length: 20 }, (_, n) => n + 100);
    const names = await namesOf(() =>
      Promise.all(quantities.map((quantity) => pets().update('3', { quantity }))),
    );
    const updates = names.filter((name) => name === 'update').length;
    expect(updates).toBeGreaterThanOrEqual(quantities.length);
    expect(updates).toBeLessThanOrEqual(2 * quantities.length);
  });

  it('counts what is there at one moment, and reads no more groups than it takes to refuse them', async () => {
    const [count] = await commandsOf(async () => pets().countsBy(['status'], {}));
    expect(count!.command).toMatchObject({
      readConcern: { level: 'snapshot' },
      pipeline: expect.arrayContaining([{ $limit: 1_001 }]),
    });
    await store.transaction(async ({ table }) => {
      expect(await table(Pet).count({ categoryId: '1' })).toBe(3);
    });
  });

  it('limits the documents, fields and time of a read', async () => {
    const [page] = await commandsOf(async () => pets().page({ categoryId: '3' }, { limit: 7, after: '2' }));
    const projection = { name: 1, categoryId: 1, status: 1, quantity: 1 };
    expect(page!.command.pipeline).toEqual([
      { $match: { categoryId: 3n, _id: { $gt: 2n } } },
      { $sort: { _id: 1 } },
      { $limit: 8 },
      { $project: projection },
    ]);
    expect(page!.command.maxTimeMS).toBeGreaterThan(0);
  });

  it('loads a file with a command for every 20 rows at most', async () => {
    const file = join(home, 'pets.csv');
    const rows = 1_000;
    writeFileSync(
      file,
      'name,categoryId\n'.concat(...Array.from({ length: rows }, (_, n) => `Pet ${n},${(n % 5) + 1}\n`)),
    );
    const options = { record: Pet, file, onProgress: () => {} };
    const commands = await commandsOf(async () => {
      const { lines } = await load(store, options);
      expect(lines).toEqual(['Loaded 1,000 pets.']);
    });
    expect(commands.length / rows).toBeLessThanOrEqual(0.05);
  });
});
