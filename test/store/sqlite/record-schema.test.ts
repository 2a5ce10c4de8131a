import { join } from 'node:path';
import { expect, it } from 'vitest';
import { boolean, type Field, integer, name, optional, text } from '../../../src/foundation/fields.ts';
import { declareRecord } from '../../../src/foundation/declare-record.ts';
import type { AnyDeclaration } from '../../../src/foundation/record.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { temporaryFolder } from '../../kit/folder.ts';

const home = temporaryFolder();

const thing = (fields: Record<string, Field>): AnyDeclaration =>
  declareRecord({ kind: 'thing', plural: 'things', type: 'Thing', description: 'A thing.', fields });

/** Opens the file with this declaration, as the next version of a program would. */
const open = (record: AnyDeclaration) =>
  openSqliteStore({ records: [record], file: join(home, 'petstore.db'), role: 'server' });

it('lets a field become optional, and refuses one whose stored values are of another kind', async () => {
  const label = name('A name', 'Rex');
  const first = thing({ label, count: integer(1, 5, 'A number', 2) });
  const before = open(first);
  const stored = await before.table(first).insert({ label: 'Rex', count: 2 } as never);
  await before.close();

  const other = thing({ label, count: text(5, 'A text', 'x') });
  expect(() => open(other)).toThrow(
    /things\.count is stored as integer, which no longer fits its kind; give the new field another name/,
  );

  const second = thing({ label: optional(label), count: integer(1, 5, 'A number', 2) });
  const after = open(second);
  expect(await after.table(second).byIds([stored.id])).toEqual([stored]);
  const { id } = await after.table(second).insert({ count: 3 } as never);
  expect(await after.table(second).byIds([id])).toEqual([{ id, count: 3 }]);
  await after.close();
});

it.each([
  ['all filters', 'toys', undefined],
  ['few filters', 'balls', [['soft'], ['loud']]],
] as const)('orders lists without conditions where %s go together', async (_, plural, combinations) => {
  const toy = declareRecord({
    kind: 'toy',
    plural,
    type: 'Toy',
    description: 'A toy.',
    filters: ['soft', 'loud'],
    fields: { label: name('A name', 'Rex'), soft: boolean('Soft', true), loud: boolean('Loud', true) },
    sorts: ['label'],
    ...(combinations && { combinations }),
  });
  const store = open(toy);
  const labels = ['c', 'h', 'a', 'f', 'd', 'b', 'g', 'e'];
  for (const [n, label] of labels.entries())
    await store.table(toy).insert({ label, soft: n % 2 === 0, loud: n % 4 < 2 });
  const order = { field: 'label', descending: false };
  const { items } = await store.table(toy).page({}, { limit: 8, order });
  expect(items.map(({ label }) => label)).toEqual(labels.toSorted());
  await store.close();
});
