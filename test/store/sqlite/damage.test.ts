import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addSampleData } from '../../../src/sample.ts';
import { findDamage } from '../../../src/store/sqlite/damage.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';

let home: string;
let file: string;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'petstore-damage-'));
  file = join(home, 'petstore.db');
  const store = openSqliteStore({ file, role: 'server' });
  await addSampleData(store);
  store.close();
});
afterEach(() => rmSync(home, { recursive: true }));

/** Flips bits of the file. */
const flip = (position: (bytes: Buffer) => number, length: number): void => {
  const bytes = readFileSync(file);
  const from = position(bytes);
  for (let i = from; i < from + length; i++) bytes[i]! ^= 0x55;
  writeFileSync(file, bytes);
};

describe('The search for damage', () => {
  it('finds none in a sound file, nor in what is no database', () => {
    expect(findDamage(file)).toBeUndefined();
    writeFileSync(file, 'This is a text. '.repeat(100));
    expect(findDamage(file)).toBeUndefined();
  });

  it('names the column of a text that is no UTF-8', () => {
    const db = new Database(file);
    db.exec("update categories set description = cast(x'52ff78' as text) where id = 1");
    db.close();
    expect(findDamage(file)).toBe('categories.description has text that is not valid UTF-8');
  });

  it('says in one line what is wrong with a page', () => {
    // The head of the page that has the pets.
    flip((bytes) => Math.floor(bytes.indexOf('Tweety') / 4_096) * 4_096, 12);
    expect(findDamage(file)).toMatch(/^[^\n]*page \d+[^\n]*$/i);
  });

  it('says so where the schema cannot be read', () => {
    flip(() => 100, 12);
    expect(findDamage(file)).toBe('database disk image is malformed');
  });
});
