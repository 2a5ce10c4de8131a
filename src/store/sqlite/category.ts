import {
  type Category,
  type CategoryPatch,
  categoryInUse,
  type NewCategory,
} from '../../domains/category/category.ts';
import type { Id } from '../../foundation/id.ts';
import type { Check, PageRequest } from '../store.ts';
import { isForeignKeyViolation } from './connection.ts';
import type { DomainContext, SqliteDomain } from './domain.ts';
import { assignIds } from './ids.ts';

const toCategory = (id: Id, name: string, description: string | null | undefined): Category =>
  description == null ? { id, name } : { id, name, description };

const migrations = {
  1: `
  create table categories (
    id integer primary key autoincrement,
    name text not null,
    description text
  ) strict;
  `,
};

/** Foreign keys prevent the deletion of a category that has pets. */
function open({ db, append, records: recordsOf }: DomainContext) {
  const records = recordsOf<Category>({
    name: 'categories',
    kind: 'category',
    columns: [{ name: 'id', isId: true }, { name: 'name' }, { name: 'description' }],
    decode: ([id, name, description]) => toCategory(id!, name!, description),
    cacheSize: 1_000,
  });
  const nextId = assignIds(db, 'categories');

  return {
    reads: {
      categoriesById: (ids: readonly Id[]) => records.byIds(ids),
      peekCategory: (id: Id) => records.peek(id),
      categoryPage: (page: PageRequest) => records.page({ equal: [] }, page),
      categoryCount: () => db.value('select count(*) from categories') as number,
    },
    writes: {
      createCategory({ name, description }: NewCategory): Category {
        const id = nextId();
        db.run('insert into categories (id, name, description) values (?, ?, ?)', [
          id,
          name,
          description ?? null,
        ]);
        const category = toCategory(id.toString(), name, description);
        append('category.created', category);
        return records.written(category);
      },

      updateCategory(id: Id, patch: CategoryPatch, check?: Check<Category>): Category {
        const current = records.existing(id, check);
        const { name, description } = current;
        const next = toCategory(
          id,
          patch.name ?? name,
          patch.description === undefined ? description : patch.description,
        );
        if (next.name === name && next.description === description) return current;
        db.run('update categories set name = ?, description = ? where id = ?', [
          next.name,
          next.description ?? null,
          BigInt(id),
        ]);
        append('category.updated', next);
        return records.written(next);
      },

      deleteCategory(id: Id, check?: Check<Category>): Id {
        records.existing(id, check);
        try {
          db.run('delete from categories where id = ?', [BigInt(id)]);
        } catch (error) {
          throw isForeignKeyViolation(error) ? categoryInUse(id) : error;
        }
        append('category.deleted', { id });
        records.forget(id);
        return id;
      },
    },
  };
}

export const category = { migrations, open } satisfies SqliteDomain;
