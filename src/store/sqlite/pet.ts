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
import { isForeignKeyViolation } from './connection.ts';
import type { DomainContext, SqliteDomain } from './domain.ts';
import { assignIds } from './ids.ts';
import { idList, type Where } from './records.ts';

/** The statuses to filter by; undefined for any. */
const wanted = ({ status }: PetFilter): PetStatus[] | undefined => {
  if (!status) return undefined;
  const distinct = PET_STATUSES.filter((one) => status.includes(one));
  return distinct.length === PET_STATUSES.length ? undefined : distinct;
};

function toWhere(filter: PetFilter): Where {
  const statuses = wanted(filter);
  if (statuses?.length === 0) return null;
  const equal: [string, bigint][] = [];
  if (filter.categoryId !== undefined) equal.push(['category_id', BigInt(filter.categoryId)]);
  return statuses ? { equal, oneOf: { column: 'status', values: statuses } } : { equal };
}

/**
 * `pet_counts` caches counts for `totalCount`, because counting in SQLite reads the whole index. Category 0
 * has the sum over all categories.
 */
const migrations = {
  1: `
  create table pets (
    id integer primary key autoincrement,
    name text not null,
    category_id integer not null references categories (id),
    status text not null check (status in ('available', 'pending', 'sold')),
    quantity integer not null check (quantity between 0 and 2147483647)
  ) strict;
  create index pets_by_category on pets (category_id, id);
  create index pets_by_status on pets (status, id);
  create index pets_by_category_and_status on pets (category_id, status, id);

  create table pet_counts (
    category_id integer not null,
    status text not null,
    pets integer not null,
    primary key (category_id, status)
  ) strict, without rowid;
  create trigger count_new_pet after insert on pets begin
    insert into pet_counts values (0, new.status, 1), (new.category_id, new.status, 1)
      on conflict do update set pets = pets + 1;
  end;
  create trigger count_deleted_pet after delete on pets begin
    update pet_counts set pets = pets - 1 where category_id in (0, old.category_id) and status = old.status;
  end;
  create trigger count_moved_pet after update of category_id, status on pets
  when old.category_id <> new.category_id or old.status <> new.status begin
    update pet_counts set pets = pets - 1 where category_id in (0, old.category_id) and status = old.status;
    insert into pet_counts values (0, new.status, 1), (new.category_id, new.status, 1)
      on conflict do update set pets = pets + 1;
  end;
  create trigger forget_counts_of_category after delete on categories begin
    delete from pet_counts where category_id = old.id;
  end;
  `,
};

/** A foreign key ensures that a pet's category exists. */
function open({ db, append, records: recordsOf }: DomainContext) {
  const records = recordsOf<Pet>({
    name: 'pets',
    kind: 'pet',
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
    cacheSize: 10_000,
  });
  const nextId = assignIds(db, 'pets');

  /** Translates the violation of the foreign key. */
  const inCategory = (categoryId: Id, write: () => void): void => {
    try {
      write();
    } catch (error) {
      throw isForeignKeyViolation(error) ? unknownReference('categoryId', 'category', categoryId) : error;
    }
  };

  return {
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
        return records.written(pet);
      },

      updatePet(id: Id, patch: PetPatch, check?: Check<Pet>): Pet {
        const current = records.existing(id, check);
        const next: Pet = {
          id,
          name: patch.name ?? current.name,
          categoryId: patch.categoryId ?? current.categoryId,
          status: patch.status ?? current.status,
          // Normalises -0.
          quantity: (patch.quantity ?? current.quantity) + 0,
        };
        const detailsUnchanged =
          next.name === current.name &&
          next.categoryId === current.categoryId &&
          next.status === current.status;
        if (detailsUnchanged && next.quantity === current.quantity) return current;
        if (next.categoryId === current.categoryId && next.status === current.status) {
          // Leaves the indexes alone, which SQLite rewrites for every column in the statement.
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
        append(detailsUnchanged ? 'inventory.updated' : 'pet.updated', next);
        return records.written(next);
      },

      deletePet(id: Id, check?: Check<Pet>): Id {
        records.existing(id, check);
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

export const pet = { migrations, open } satisfies SqliteDomain;
