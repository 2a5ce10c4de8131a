import {
  type Category,
  type CategoryPatch,
  categoryInUse,
  type NewCategory,
} from '../../domains/category/category.ts';
import type { Id } from '../../foundation/id.ts';
import type { Check, PageRequest } from '../store.ts';
import { type CollectionDefinition, type RecordDocument, recordSchema, STRING } from './collection.ts';
import type { ChangeEvents, DomainContext, MongoDomain } from './domain.ts';
import { toId } from './keys.ts';
import { Records } from './records.ts';
import type { RunUnit, Unit } from './units.ts';
import { createWrites } from './writes.ts';

interface CategoryDocument extends RecordDocument {
  name: string;
  description?: string;
}

const definition: CollectionDefinition = {
  name: 'categories',
  schema: recordSchema({
    name: STRING,
    'description?': { bsonType: 'string' },
  }),
  indexes: [],
};

const FIELDS = { name: 1, description: 1 } as const;

const toCategory = ({ _id, name, description }: CategoryDocument): Category =>
  description === undefined ? { id: toId(_id), name } : { id: toId(_id), name, description };

const events: ChangeEvents = {
  insert: 'category.created',
  update: [{ type: 'category.updated' }],
  delete: 'category.deleted',
};

function open({ database, ids, holds }: DomainContext) {
  const collection = database.db.collection<CategoryDocument>(definition.name);
  const kind = { name: 'category', collection, fields: FIELDS, toRecord: toCategory };
  const { insert, existing, change, remove } = createWrites(kind, database);

  return {
    reads: (transaction?: Unit) => {
      const records = new Records(kind, database, transaction);
      return {
        categoriesById: (ids: readonly Id[]) => records.byId(ids),
        categoryPage: (page: PageRequest) => records.page({}, page),
        categoryCount: () => records.count({}),
      };
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
          const deleted = await holds.deleteUnreferenced('categories', category._id, unit, {
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

export const category = { definition, events, toRecord: toCategory, open } satisfies MongoDomain;
