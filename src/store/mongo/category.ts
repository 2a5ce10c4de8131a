import type { Document } from 'mongodb';
import {
  type Category,
  type CategoryPatch,
  categoryInUse,
  type NewCategory,
} from '../../domains/category/category.ts';
import type { Id } from '../../domains/id.ts';
import { notFound } from '../../errors.ts';
import type { Check, PageRequest } from '../store.ts';
import { changeOf } from './changes.ts';
import type { Database } from './database.ts';
import { LostRace } from './errors.ts';
import type { Holds } from './holds.ts';
import type { Ids } from './ids.ts';
import { insertions } from './inserts.ts';
import { idOf, keyOf } from './keys.ts';
import { type CollectionPlan, ID, type Key, STRING, shape, type Version, WHOLE } from './plan.ts';
import { Records } from './records.ts';
import type { RunUnit, Unit } from './units.ts';

interface CategoryDocument {
  _id: Key;
  name: string;
  description?: string;
  version: Version;
  written?: Document;
}

export const categoriesPlan: CollectionPlan = {
  name: 'categories',
  schema: shape({
    _id: ID,
    name: STRING,
    'description?': { bsonType: 'string' },
    version: WHOLE,
    'written?': { bsonType: 'object' },
  }),
  indexes: [],
};

export const CATEGORY_FIELDS = { name: 1, description: 1 } as const;

export const toCategory = ({ _id, name, description }: CategoryDocument): Category =>
  description === undefined ? { id: idOf(_id), name } : { id: idOf(_id), name, description };

/** Reads and writes of categories. */
export function mongoCategories(database: Database, ids: Ids, holds: Holds) {
  const collection = database.db.collection<CategoryDocument>(categoriesPlan.name);
  const records = new Records({ collection, fields: CATEGORY_FIELDS, toRecord: toCategory }, database);
  const insert = insertions(collection, database);

  async function existing(unit: Unit, id: Id, check: Check<Category> | undefined): Promise<CategoryDocument> {
    const category = await collection.findOne({ _id: keyOf(id) }, unit.options);
    if (!category) throw notFound('category', id);
    check?.(toCategory(category));
    return category;
  }

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
          const category = await existing(unit, id, check);
          const change = changeOf(CATEGORY_FIELDS, category, { name, description });
          if (!change) return toCategory(category);
          const same = { _id: category._id, version: category.version };
          const written = await collection.findOneAndUpdate(same, change, {
            ...unit.options,
            returnDocument: 'after',
          });
          if (!written) throw new LostRace();
          return toCategory(written);
        }),

      deleteCategory: (id: Id, check?: Check<Category>) =>
        run(async (unit) => {
          const { _id, version } = await existing(unit, id, check);
          const deleted = await holds.deleteUnreferred('categories', _id, unit, {
            referrers: 'pets',
            filter: { categoryId: _id },
            remove: async (condition) => {
              const { deletedCount } = await collection.deleteOne(
                { _id, version, ...condition },
                unit.options,
              );
              return deletedCount > 0;
            },
          });
          if (!deleted) throw categoryInUse(id);
          return id;
        }),
    }),
  };
}
