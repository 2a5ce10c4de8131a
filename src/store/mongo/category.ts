import {
  type Category,
  type CategoryPatch,
  categoryInUse,
  type NewCategory,
} from '../../domains/category/category.ts';
import type { Id } from '../../domains/id.ts';
import type { Check, PageRequest } from '../store.ts';
import type { ChangeEvents, MongoDomain, Tools } from './domain.ts';
import { idOf } from './keys.ts';
import { type CollectionPlan, type RecordDocument, recordShape, STRING } from './plan.ts';
import { Records } from './records.ts';
import type { RunUnit } from './units.ts';
import { writesOf } from './writes.ts';

interface CategoryDocument extends RecordDocument {
  name: string;
  description?: string;
}

const plan: CollectionPlan = {
  name: 'categories',
  schema: recordShape({
    name: STRING,
    'description?': { bsonType: 'string' },
  }),
  indexes: [],
};

const FIELDS = { name: 1, description: 1 } as const;

const toCategory = ({ _id, name, description }: CategoryDocument): Category =>
  description === undefined ? { id: idOf(_id), name } : { id: idOf(_id), name, description };

const events: ChangeEvents = {
  insert: 'category.created',
  update: [{ type: 'category.updated' }],
  delete: 'category.deleted',
};

/** Reads and writes of categories. */
function open({ database, ids, holds }: Tools) {
  const collection = database.db.collection<CategoryDocument>(plan.name);
  const kind = { name: 'category', collection, fields: FIELDS, toRecord: toCategory };
  const records = new Records(kind, database);
  const { insert, existing, change, remove } = writesOf(kind, database);

  return {
    reads: {
      categoriesById: (ids: readonly Id[]) => records.byId(ids),
      categoryPage: (page: PageRequest) => records.page({}, page),
      categoryCount: () => records.count({}),
    },
    /** @param run how to run each write */
    writes: (run: RunUnit) => ({
      createCategory: ({ name, description }: NewCategory) =>
        run(async (unit) => {
          const category: CategoryDocument = {
            _id: await ids.next('categories'),
            name,
            ...(description !== undefined && { description }),
            version: 0,
          };
          await insert(category, unit);
          return toCategory(category);
        }),

      updateCategory: (id: Id, { name, description }: CategoryPatch, check?: Check<Category>) =>
        run(async (unit) => {
          const category = await existing(id, check, unit);
          return await change(category, { name, description }, unit);
        }),

      deleteCategory: (id: Id, check?: Check<Category>) =>
        run(async (unit) => {
          const category = await existing(id, check, unit);
          const deleted = await holds.deleteUnreferred('categories', category._id, unit, {
            referrers: 'pets',
            filter: { categoryId: category._id },
            remove: (condition) => remove(category, unit, condition),
          });
          if (!deleted) throw categoryInUse(id);
          return id;
        }),
    }),
  };
}

export const category = { plan, events, toRecord: toCategory, open } satisfies MongoDomain;
