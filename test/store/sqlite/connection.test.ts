import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Connection } from '../../../src/store/sqlite/connection.ts';

let home: string;
let file: string;
let db: Connection;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'petstore-connection-'));
  file = join(home, 'petstore.db');
  db = new Connection(file, 10);
  db.exec(`
    create table parents (id integer primary key);
    create table children (parent integer references parents (id) deferrable initially deferred);
  `);
});
afterEach(() => {
  db.close();
  rmSync(home, { recursive: true });
});

const children = () => db.value('select count(*) from children');
const addOrphan = () => db.run('insert into children values (?)', [9n]);
const addChild = () => db.run('insert into children values (?)', [null]);

describe('A commit that fails', () => {
  it('undoes its transaction, says why, and lets the next one pass', () => {
    const forget = vi.fn();
    db.onRollback(forget);
    expect(() => db.transaction(addOrphan)).toThrow(/FOREIGN KEY/);
    expect(forget).toHaveBeenCalledOnce();
    expect(children()).toBe(0);
    db.transaction(addChild);
    expect(children()).toBe(1);
  });

  it('undoes all writes that were to be committed together, and none is acknowledged', async () => {
    const forget = vi.fn();
    db.onRollback(forget);
    const writes = await Promise.allSettled([db.groupCommit(addChild), db.groupCommit(addOrphan)]);
    expect(writes.map((write) => (write as PromiseRejectedResult).reason.message)).toEqual([
      expect.stringContaining('FOREIGN KEY'),
      expect.stringContaining('FOREIGN KEY'),
    ]);
    expect(forget).toHaveBeenCalledOnce();
    expect(children()).toBe(0);
    await db.groupCommit(addChild);
    expect(children()).toBe(1);
  });
});

describe('A write of its own', () => {
  it('between others that wait for their commit is committed at once, and they with it', async () => {
    const reader = new Connection(file, 10);
    const seen = () => reader.value('select count(*) from children');
    const waiting = db.groupCommit(addChild);
    expect(seen()).toBe(0);
    db.transaction(addChild);
    expect(seen()).toBe(2);
    const next = db.groupCommit(addChild);
    expect(seen()).toBe(2);
    addChild();
    expect(seen()).toBe(4);
    await Promise.all([waiting, next]);
    reader.close();
  });
});

describe('A transaction', () => {
  it('keeps other programs from writing from its beginning, so that what it has read stays so', () => {
    const other = new Connection(file, 10);
    db.transaction(() => {
      expect(() => other.run('insert into children values (null)', [])).toThrow(
        expect.objectContaining({ code: 'UNAVAILABLE' }),
      );
    });
    other.run('insert into children values (null)', []);
    expect(children()).toBe(1);
    other.close();
  });
});

describe('A savepoint', () => {
  it('that fails undoes its own writes alone', () => {
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

describe('Closing', () => {
  it('leaves all data in the one file, and may be repeated', () => {
    addChild();
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    db.close();
    db.close();
    copyFileSync(file, join(home, 'copy.db'));
    const copy = new Connection(join(home, 'copy.db'), 10);
    expect(copy.value('select count(*) from children')).toBe(1);
    copy.close();
  });
});
