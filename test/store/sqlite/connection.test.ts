import { copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { SqliteConnection } from '../../../src/store/sqlite/connection.ts';
import { useFolder } from './folder.ts';

const folder = useFolder();
let db: SqliteConnection;
beforeEach(() => {
  db = folder.connect();
  db.exec(`
    create table parents (id integer primary key);
    create table children (parent integer references parents (id) deferrable initially deferred);
  `);
});

const children = () => db.value('select count(*) from children');
const addOrphan = () => db.run('insert into children values (?)', [9n]);
const addChild = () => db.run('insert into children values (?)', [null]);

describe('a failed commit', () => {
  it('rolls back its transaction, throws the reason and does not affect the next one', () => {
    const onRollback = vi.fn();
    db.onRollback(onRollback);
    expect(() => db.transaction(addOrphan)).toThrow(/FOREIGN KEY/);
    expect(onRollback).toHaveBeenCalledOnce();
    expect(children()).toBe(0);
    db.transaction(addChild);
    expect(children()).toBe(1);
  });

  it('rolls back and rejects all writes of its group', async () => {
    const onRollback = vi.fn();
    db.onRollback(onRollback);
    const writes = await Promise.allSettled([db.groupCommit(addChild), db.groupCommit(addOrphan)]);
    expect(writes.map((write) => (write as PromiseRejectedResult).reason.message)).toEqual([
      expect.stringContaining('FOREIGN KEY'),
      expect.stringContaining('FOREIGN KEY'),
    ]);
    expect(onRollback).toHaveBeenCalledOnce();
    expect(children()).toBe(0);
    await db.groupCommit(addChild);
    expect(children()).toBe(1);
  });
});

describe('a write outside a group', () => {
  it('commits at once, along with the open group', async () => {
    const reader = folder.connect();
    const visible = () => reader.value('select count(*) from children');
    const waiting = db.groupCommit(addChild);
    expect(visible()).toBe(0);
    db.transaction(addChild);
    expect(visible()).toBe(2);
    const next = db.groupCommit(addChild);
    expect(visible()).toBe(2);
    addChild();
    expect(visible()).toBe(4);
    await Promise.all([waiting, next]);
  });
});

describe('a transaction', () => {
  it('locks out other writers from its start', () => {
    const other = folder.connect();
    db.transaction(() => {
      expect(() => other.run('insert into children values (null)', [])).toThrow(
        expect.objectContaining({ code: 'UNAVAILABLE' }),
      );
    });
    other.run('insert into children values (null)', []);
    expect(children()).toBe(1);
  });
});

describe('a connection that is held for another', () => {
  let other: SqliteConnection;
  beforeEach(() => {
    other = folder.connect();
  });
  /** What an asynchronous transaction of another connection does meanwhile. */
  const holding = async (work: () => Promise<unknown>) => db.hold(() => other.transaction(work));
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

  it('reads the committed state, and runs later writes in their order', async () => {
    const order: string[] = [];
    const note = (what: string) => () => void order.push(what);
    const before = db.groupCommit(addChild).then(note('before'));
    const held = holding(async () => {
      other.run('insert into children values (null)', []);
      await nextTurn();
      expect(children()).toBe(1);
      await nextTurn();
      expect(order).toEqual(['before']);
    }).then(note('held'));
    const writes = [
      db.groupCommit(addChild),
      db.whenFree(addChild),
      holding(async () => {}),
      db.groupCommit(addChild),
    ];
    writes.forEach((write, i) => void Promise.resolve(write).then(note(`${i}`)));
    await Promise.all([before, held, ...writes]);
    await nextTurn();
    expect([order[0], order.slice(1).sort()]).toEqual(['before', ['0', '1', '2', '3', 'held']]);
    expect(children()).toBe(5);
    expect(db.whenFree(children)).toBe(5);
  });

  it('is free again when its work fails, and rolls it back', async () => {
    const failed = holding(async () => {
      other.run('insert into children values (null)', []);
      await nextTurn();
      throw new Error('given up');
    });
    const write = db.groupCommit(addChild);
    await expect(failed).rejects.toThrow('given up');
    await write;
    expect(children()).toBe(1);
  });
});

describe('a savepoint', () => {
  it('rolls back only its own writes if it fails', () => {
    db.transaction(() => {
      addChild();
      db.transaction(addChild);
      const failing = () => {
        addChild();
        throw new Error('no');
      };
      expect(() => db.transaction(failing)).toThrow('no');
    });
    expect(children()).toBe(2);
  });
});

describe('close', () => {
  it('moves all data into the main file and may be called twice', () => {
    addChild();
    expect(statSync(join(folder.home, 'petstore.db-wal')).size).toBeGreaterThan(0);
    db.close();
    db.close();
    const file = join(folder.home, 'copy.db');
    copyFileSync(join(folder.home, 'petstore.db'), file);
    const copy = folder.connect(file);
    expect(copy.value('select count(*) from children')).toBe(1);
  });
});

describe('rows inserted together', () => {
  const one = 'insert into children values (?)';
  const together = { one, many: 'insert into children select value ->> 0 from json_each(?)' };
  const insert = (...parents: (number | null)[]) => {
    for (const parent of parents) db.insert(together, [parent]);
  };
  const rolledBack = vi.fn();
  beforeEach(() => {
    db.exec(`create trigger refused before insert on children when new.parent < 0
      begin select raise(abort, 'refused'); end`);
    db.onRollback(rolledBack.mockClear());
  });

  it('are there for each statement after them, and once they are committed for others', async () => {
    const reader = folder.connect();
    const write = db.groupCommit(() => insert(null, null));
    expect(children()).toBe(2);
    await Promise.all([write, db.groupCommit(() => insert(null)), db.groupCommit(() => insert(null))]);
    expect(reader.value('select count(*) from children')).toBe(4);
  });

  it('are dropped with their transaction, and those before it stay', async () => {
    const before = db.groupCommit(() => insert(null));
    const fail = () =>
      db.transaction(() => {
        insert(null, null);
        throw new Error('given up');
      });
    await expect(db.groupCommit(fail)).rejects.toThrow('given up');
    await before;
    expect(children()).toBe(1);
    expect(fail).toThrow('given up');
    expect(children()).toBe(1);
    expect(rolledBack).toHaveBeenCalledTimes(2);
  });

  it.each<[string, left: number, next: () => unknown]>([
    ['commit', 0, () => {}],
    ['read by another connection', 0, children],
    ['write of the same group', 0, () => db.groupCommit(addChild).catch(() => {})],
    [
      'transaction of the same group',
      0,
      () => db.groupCommit(() => db.transaction(addChild)).catch(() => {}),
    ],
    ['write outside of it', 1, addChild],
  ])('reject all of their group if one is refused at the %s', async (_, left, next) => {
    const writes = [db.groupCommit(() => insert(null)), db.groupCommit(() => insert(null, -1))];
    next();
    for (const write of writes) await expect(write).rejects.toThrow('refused');
    expect(rolledBack).toHaveBeenCalledOnce();
    expect(children()).toBe(left);
    await db.groupCommit(() => insert(null, null));
    expect(children()).toBe(left + 2);
  });
});
