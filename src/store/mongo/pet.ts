import {
  type NewPet,
  PET_STATUSES,
  type Pet,
  type PetFilter,
  type PetPatch,
  type PetStatus,
  petOnOrder,
} from '../../domains/pet/pet.ts';
import { unknownReference } from '../../foundation/errors.ts';
import type { Id } from '../../foundation/id.ts';
import type { Check, PageRequest } from '../store.ts';
import {
  type CollectionDefinition,
  ID,
  type Key,
  type RecordDocument,
  recordSchema,
  STRING,
} from './collection.ts';
import type { ChangeEvents, DomainContext, MongoDomain } from './domain.ts';
import { toId, toKey } from './keys.ts';
import { type ParentReference, Records, type Where } from './records.ts';
import type { RunUnit, Unit } from './units.ts';
import { createWrites } from './writes.ts';

interface PetDocument extends RecordDocument {
  name: string;
  categoryId: Key;
  status: PetStatus;
  quantity: number;
}

const definition: CollectionDefinition = {
  name: 'pets',
  schema: recordSchema({
    name: STRING,
    categoryId: ID,
    status: { enum: [...PET_STATUSES] },
    quantity: { bsonType: 'int', minimum: 0 },
  }),
  // Filtering by several statuses merges index ranges that are each ordered by id, so nothing is sorted in
  // memory.
  indexes: [
    { key: { status: 1, _id: 1 } },
    { key: { categoryId: 1, _id: 1 } },
    { key: { categoryId: 1, status: 1, _id: 1 } },
  ],
};

const FIELDS = { name: 1, categoryId: 1, status: 1, quantity: 1 } as const;

const toPet = (pet: PetDocument): Pet => ({
  id: toId(pet._id),
  name: pet.name,
  categoryId: toId(pet.categoryId),
  status: pet.status,
  quantity: pet.quantity,
});

function toWhere({ status, categoryId }: PetFilter): Where<PetDocument> {
  if (status?.length === 0) return null;
  return {
    ...(status && { status: status.length === 1 ? status[0]! : { $in: [...status] } }),
    ...(categoryId !== undefined && { categoryId: toKey(categoryId) }),
  };
}

const events: ChangeEvents = {
  insert: 'pet.created',
  update: [{ type: 'pet.updated', fields: ['name', 'categoryId', 'status'] }, { type: 'inventory.updated' }],
  delete: 'pet.deleted',
};

function open({ database, ids, holds }: DomainContext) {
  const collection = database.db.collection<PetDocument>(definition.name);
  const kind = { name: 'pet', collection, fields: FIELDS, toRecord: toPet };
  const { insert, existing, change, remove } = createWrites(kind, database);
  const categories: ParentReference<PetDocument> = {
    collection: database.db.collection('categories'),
    field: 'categoryId',
    mayBeDeleted: false,
  };

  async function holdCategory(key: Key, unit: Unit): Promise<void> {
    if (!(await holds.hold('categories', key, unit)))
      throw unknownReference('categoryId', 'category', toId(key));
  }

  return {
    reads: (transaction?: Unit) => {
      const records = new Records(kind, database, transaction);
      return {
        petsById: (ids: readonly Id[]) => records.byId(ids),
        petPage: (filter: PetFilter, page: PageRequest) => records.page(toWhere(filter), page),
        petPagesByCategory: (categoryIds: readonly Id[], filter: PetFilter, page: PageRequest) =>
          records.pagesByParent(categories, categoryIds, toWhere(filter), page),
        petCount: (filter: PetFilter) => records.count(toWhere(filter)),
        petCountsByCategory: (categoryIds: readonly Id[], filter: PetFilter) =>
          records.countsByParent('categoryId', categoryIds, toWhere(filter)),
      };
    },
    /** @param run how to run each write */
    writes: (run: RunUnit) => ({
      createPet: ({ name, categoryId, status }: NewPet) =>
        run(async (unit) => {
          const category = toKey(categoryId);
          const [_id] = await Promise.all([ids.next('pets'), holdCategory(category, unit)]);
          const pet: PetDocument = { _id, name, categoryId: category, status, quantity: 0, version: 0 };
          await insert(pet, unit);
          return toPet(pet);
        }),

      updatePet: (id: Id, patch: PetPatch, check?: Check<Pet>) =>
        run(async (unit) => {
          const pet = await existing(id, check, unit);
          const categoryId = patch.categoryId === undefined ? pet.categoryId : toKey(patch.categoryId);
          // The driver would write -0 as a double.
          const quantity = patch.quantity === undefined ? undefined : patch.quantity + 0;
          if (categoryId !== pet.categoryId) await holdCategory(categoryId, unit);
          return await change(pet, { ...patch, categoryId, quantity }, unit);
        }),

      deletePet: (id: Id, check?: Check<Pet>) =>
        run(async (unit) => {
          const pet = await existing(id, check, unit);
          const deleted = await holds.deleteUnreferenced('pets', pet._id, unit, {
            referrers: 'orders',
            filter: { petId: pet._id, complete: false },
            remove: (condition) => remove(pet, unit, condition),
          });
          if (!deleted) throw petOnOrder(id);
          return id;
        }),
    }),
  };
}

export const pet = { definition, events, toRecord: toPet, open } satisfies MongoDomain;
