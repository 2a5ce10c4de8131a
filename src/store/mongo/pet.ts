import type { Document } from 'mongodb';
import type { Id } from '../../domains/id.ts';
import {
  type NewPet,
  PET_STATUSES,
  type Pet,
  type PetFilter,
  type PetPatch,
  type PetStatus,
  petOnOrder,
} from '../../domains/pet/pet.ts';
import { notFound, unknownReference } from '../../errors.ts';
import type { Check, PageRequest } from '../store.ts';
import { changeOf } from './changes.ts';
import type { Database } from './database.ts';
import { LostRace } from './errors.ts';
import type { Holds } from './holds.ts';
import type { Ids } from './ids.ts';
import { insertions } from './inserts.ts';
import { idOf, keyOf } from './keys.ts';
import { type CollectionPlan, ID, type Key, STRING, shape, type Version, WHOLE } from './plan.ts';
import { type Parents, Records, type Where } from './records.ts';
import type { RunUnit, Unit } from './units.ts';

interface PetDocument {
  _id: Key;
  name: string;
  categoryId: Key;
  status: PetStatus;
  quantity: number;
  version: Version;
  written?: Document;
}

export const petsPlan: CollectionPlan = {
  name: 'pets',
  schema: shape({
    _id: ID,
    name: STRING,
    categoryId: ID,
    status: { enum: [...PET_STATUSES] },
    quantity: { bsonType: 'int', minimum: 0 },
    version: WHOLE,
    'written?': { bsonType: 'object' },
  }),
  // A list of statuses is a merge of index ranges that are each in order of the id: no sort in memory.
  indexes: [
    { key: { status: 1, _id: 1 } },
    { key: { categoryId: 1, _id: 1 } },
    { key: { categoryId: 1, status: 1, _id: 1 } },
  ],
};

export const PET_FIELDS = { name: 1, categoryId: 1, status: 1, quantity: 1 } as const;

export const toPet = (pet: PetDocument): Pet => ({
  id: idOf(pet._id),
  name: pet.name,
  categoryId: idOf(pet.categoryId),
  status: pet.status,
  quantity: pet.quantity,
});

function petsThat({ status, categoryId }: PetFilter): Where<PetDocument> {
  if (status?.length === 0) return null;
  return {
    ...(status && { status: status.length === 1 ? status[0]! : { $in: [...status] } }),
    ...(categoryId !== undefined && { categoryId: keyOf(categoryId) }),
  };
}

/** Reads and writes of pets. */
export function mongoPets(database: Database, ids: Ids, holds: Holds) {
  const collection = database.db.collection<PetDocument>(petsPlan.name);
  const records = new Records({ collection, fields: PET_FIELDS, toRecord: toPet }, database);
  const insert = insertions(collection, database);
  const categories: Parents<PetDocument> = {
    collection: database.db.collection('categories'),
    field: 'categoryId',
    mayBeGone: false,
  };

  async function existing(unit: Unit, id: Id, check: Check<Pet> | undefined): Promise<PetDocument> {
    const pet = await collection.findOne({ _id: keyOf(id) }, unit.options);
    if (!pet) throw notFound('pet', id);
    check?.(toPet(pet));
    return pet;
  }

  async function holdCategory(key: Key, unit: Unit): Promise<void> {
    if (!(await holds.hold('categories', key, unit)))
      throw unknownReference('categoryId', 'category', idOf(key));
  }

  return {
    reads: {
      petsById: (ids: readonly Id[]) => records.byId(ids),
      petPage: (filter: PetFilter, page: PageRequest) => records.page(petsThat(filter), page),
      petPagesByCategory: (categoryIds: readonly Id[], filter: PetFilter, page: PageRequest) =>
        records.pagesByParent(categories, categoryIds, petsThat(filter), page),
      petCount: (filter: PetFilter) => records.count(petsThat(filter)),
      petCountsByCategory: (categoryIds: readonly Id[], filter: PetFilter) =>
        records.countsByParent('categoryId', categoryIds, petsThat(filter)),
    },
    /** @param run how to run each write */
    writes: (run: RunUnit) => ({
      createPet: ({ name, categoryId, status }: NewPet) =>
        run(async (unit) => {
          const category = keyOf(categoryId);
          const [_id] = await Promise.all([ids.next('pets'), holdCategory(category, unit)]);
          const pet: PetDocument = { _id, name, categoryId: category, status, quantity: 0, version: 0 };
          await insert(pet, unit);
          return toPet(pet);
        }),

      updatePet: (id: Id, patch: PetPatch, check?: Check<Pet>) =>
        run(async (unit) => {
          const pet = await existing(unit, id, check);
          const categoryId = patch.categoryId === undefined ? pet.categoryId : keyOf(patch.categoryId);
          // The driver would write -0 as a double.
          const quantity = patch.quantity === undefined ? undefined : patch.quantity + 0;
          const change = changeOf(PET_FIELDS, pet, { ...patch, categoryId, quantity });
          if (!change) return toPet(pet);
          if (categoryId !== pet.categoryId) await holdCategory(categoryId, unit);
          unit.written.add(`pets/${pet._id}`);
          const written = await collection.findOneAndUpdate({ _id: pet._id, version: pet.version }, change, {
            ...unit.options,
            returnDocument: 'after',
          });
          if (!written) throw new LostRace();
          return toPet(written);
        }),

      deletePet: (id: Id, check?: Check<Pet>) =>
        run(async (unit) => {
          const { _id, version } = await existing(unit, id, check);
          const deleted = await holds.deleteUnreferred('pets', _id, unit, {
            referrers: 'orders',
            filter: { petId: _id, complete: false },
            remove: async (condition) => {
              const { deletedCount } = await collection.deleteOne(
                { _id, version, ...condition },
                unit.options,
              );
              return deletedCount > 0;
            },
          });
          if (!deleted) throw petOnOrder(id);
          return id;
        }),
    }),
  };
}
