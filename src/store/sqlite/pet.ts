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
import { type Connection, isForeignKeyViolation } from './connection.ts';
import type { Append } from './event-log.ts';
import { assignIds } from './ids.ts';
import { idList, Records, type Where } from './records.ts';

/** The statuses to look for; undefined: any. */
const wanted = ({ status }: PetFilter): PetStatus[] | undefined => {
  if (!status) return undefined;
  const distinct = PET_STATUSES.filter((one) => status.includes(one));
  return distinct.length === PET_STATUSES.length ? undefined : distinct;
};

function toWhere(filter: PetFilter): Where {
  const statuses = wanted(filter);
  if (statuses?.length === 0) return null;
  const equal: [string, string | bigint][] = [];
  if (filter.categoryId !== undefined) equal.push(['category_id', BigInt(filter.categoryId)]);
  if (statuses?.length === 1) equal.push(['status', statuses[0]!]);
  return statuses && statuses.length > 1
    ? { equal, oneOf: { column: 'status', values: statuses } }
    : { equal };
}

/** Reads and writes of pets. That a pet's category exists is the foreign key's doing. */
export function pets(db: Connection, append: Append, remember: number) {
  const records = new Records<Pet>(db, {
    name: 'pets',
    columns: [
      { name: 'id', isId: true },
      { name: 'name' },
      { name: 'category_id', isId: true },
      { name: 'status' },
      { name: 'quantity' },
    ],
    decode: ([id, name, categoryId, status, quantity]) => ({
      id: id!,
      name: name!,
      categoryId: categoryId!,
      status: status!,
      quantity: quantity!,
    }),
    remember,
  });
  const nextId = assignIds(db, 'pets');

  const existing = (id: Id, check: Check<Pet> | undefined): Pet => {
    const current = records.find(id);
    if (!current) throw notFound('pet', id);
    check?.(current);
    return current;
  };

  /** Runs a write that fails on an unknown category. */
  const inCategory = (categoryId: Id, write: () => void): void => {
    try {
      write();
    } catch (error) {
      throw isForeignKeyViolation(error) ? unknownReference('categoryId', 'category', categoryId) : error;
    }
  };

  return {
    find: (id: Id) => records.find(id),
    reads: {
      petsById: (ids: readonly Id[]) => records.byIds(ids),
      peekPet: (id: Id) => records.peek(id),
      petPage: (filter: PetFilter, page: PageRequest) => records.page(toWhere(filter), page),
      petPagesByCategory: (categoryIds: readonly Id[], filter: PetFilter, page: PageRequest) =>
        records.pagesByParent('category_id', categoryIds, toWhere(filter), page),

      petCount(filter: PetFilter): number {
        return db.value(
          `select coalesce(sum(pets), 0) from pet_counts
           where category_id = ? and status in (select value from json_each(?))`,
          [BigInt(filter.categoryId ?? 0), JSON.stringify(wanted(filter) ?? PET_STATUSES)],
        ) as number;
      },

      petCountsByCategory(categoryIds: readonly Id[], filter: PetFilter): number[] {
        const counts = db.value(
          `select json_group_array(pets) from (
             select (
               select coalesce(sum(pets), 0) from pet_counts
               where category_id = parent.value and status in (select value from json_each(?2))
             ) as pets
             from json_each(?1) as parent order by parent.key
           )`,
          [idList(categoryIds), JSON.stringify(wanted(filter) ?? PET_STATUSES)],
        );
        const all = JSON.parse(counts as string) as number[];
        const { categoryId } = filter;
        return categoryId === undefined ? all : all.map((n, i) => (categoryIds[i] === categoryId ? n : 0));
      },
    },
    writes: {
      createPet({ name, categoryId, status }: NewPet): Pet {
        const id = nextId();
        inCategory(categoryId, () =>
          db.run('insert into pets (id, name, category_id, status, quantity) values (?, ?, ?, ?, 0)', [
            id,
            name,
            BigInt(categoryId),
            status,
          ]),
        );
        const pet = { id: id.toString(), name, categoryId, status, quantity: 0 };
        append('pet.created', pet);
        return records.wrote(pet);
      },

      updatePet(id: Id, patch: PetPatch, check?: Check<Pet>): Pet {
        const current = existing(id, check);
        const next: Pet = {
          id,
          name: patch.name ?? current.name,
          categoryId: patch.categoryId ?? current.categoryId,
          status: patch.status ?? current.status,
          // Not -0.
          quantity: (patch.quantity ?? current.quantity) + 0,
        };
        const isSameButStock =
          next.name === current.name &&
          next.categoryId === current.categoryId &&
          next.status === current.status;
        if (isSameButStock && next.quantity === current.quantity) return current;
        if (next.categoryId === current.categoryId && next.status === current.status) {
          // Leaves the indexes alone, which SQLite rewrites for every column that is set.
          db.run('update pets set name = ?, quantity = ? where id = ?', [
            next.name,
            next.quantity,
            BigInt(id),
          ]);
        } else {
          inCategory(next.categoryId, () =>
            db.run('update pets set name = ?, quantity = ?, category_id = ?, status = ? where id = ?', [
              next.name,
              next.quantity,
              BigInt(next.categoryId),
              next.status,
              BigInt(id),
            ]),
          );
        }
        append(isSameButStock ? 'inventory.updated' : 'pet.updated', next);
        return records.wrote(next);
      },

      deletePet(id: Id, check?: Check<Pet>): Id {
        existing(id, check);
        const ordered = 'select 1 from orders where pet_id = ? and complete = 0 limit 1';
        if (db.value(ordered, [BigInt(id)]) !== undefined) throw petOnOrder(id);
        db.run('delete from pets where id = ?', [BigInt(id)]);
        append('pet.deleted', { id });
        records.forget(id);
        return id;
      },
    },
  };
}
