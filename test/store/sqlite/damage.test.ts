import { readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { addSampleData } from '../../../src/sample.ts';
import { findDamage } from '../../../src/store/sqlite/damage.ts';
import { useFolder } from './folder.ts';

const folder = useFolder();
let file: string;
beforeEach(async () => {
  ({ file } = folder);
  const store = folder.open();
  await addSampleData(store);
  store.close();
});

/** Corrupts `length` bytes of the file. */
const flip = (position: (bytes: Buffer) => number, length: number): void => {
  const bytes = readFileSync(file);
  const from = position(bytes);
  for (let i = from; i < from + length; i++) bytes[i]! ^= 0x55;
  writeFileSync(file, bytes);
};

describe('findDamage', () => {
  it('finds nothing in an intact file or in one that is not a database', () => {
    expect(findDamage(file)).toBeUndefined();
    writeFileSync(file, 'This is a text. '.repeat(100));
    expect(findDamage(file)).toBeUndefined();
  });

  it('names the column of a text that is not valid UTF-8', () => {
    const db = folder.outsider();
    db.exec("update categories set description = cast(x'52ff78' as text) where id = 1");
    db.close();
    expect(findDamage(file)).toBe('categories.description has text that is not valid UTF-8');
  });

  it('describes a corrupt page in one line', () => {
    // The header of the page with the pets.
    flip((bytes) => Math.floor(bytes.indexOf('Tweety') / 4_096) * 4_096, 12);
    expect(findDamage(file)).toMatch(/^[^\n]*page \d+[^\n]*$/i);
  });

  it('reports a schema that cannot be read', () => {
    flip(() => 100, 12);
    expect(findDamage(file)).toBe('database disk image is malformed');
  });
});
