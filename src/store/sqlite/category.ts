import {
  type Category,
  type CategoryPatch,
  categoryInUse,
  type NewCategory,
} from '../../domains/category/category.ts';
import type { Id } from '../../domains/id.ts';
import { notFound } from '../../errors.ts';
import type { Check, PageRequest } from '../store.ts';
import { type Connection, isForeignKeyViolation } from './connection.ts';
import type { Append } from './event-log.ts';
import { assignIds } from './ids.ts';
import { Records } from './records.ts';

const toCategory = (id: Id, name: string, description: string | null | undefined): Category =>
  description == null ? { id, name } : { id, name, description };

/** Reads and writes of categories. That none is deleted with pets in it is the foreign key's doing. */
export function categories(db: Connection, append: Append, remember: number) {
  const records = new Records<Category>(db, {
    name: 'categories',
    columns: [{ name: 'id', isId: true }, { name: 'name' }, { name: 'description' }],
    decode: ([id, name, description]) => toCategory(id!, name!, description),
    remember,
  });
  const nextId = assignIds(db, 'categories');

  const existing = (id: Id, check: Check<Category> | undefined): Category => {
    const current = records.find(id);
    if (!current) throw notFound('category', id);
    check?.(current);
    return current;
  };

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
        return records.wrote(category);
      },

      updateCategory(id: Id, patch: CategoryPatch, check?: Check<Category>): Category {
        const current = existing(id, check);
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
        return records.wrote(next);
      },

      deleteCategory(id: Id, check?: Check<Category>): Id {
        existing(id, check);
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
