import {
  type NewOrder,
  type Order,
  type OrderFilter,
  type OrderPatch,
  orderIdTaken,
} from '../../domains/order/order.ts';
import { unknownReference } from '../../foundation/errors.ts';
import type { Id } from '../../foundation/id.ts';
import { formatInstant, parseInstant } from '../../foundation/instant.ts';
import type { Check, PageRequest } from '../store.ts';
import type { Value } from './connection.ts';
import type { DomainContext, SqliteDomain } from './domain.ts';
import { assignOrderId, noteChosenOrderId } from './order-ids.ts';
import { idList, type Where } from './records.ts';

/** Adds optional properties in a fixed order, so that V8 creates few hidden classes. */
function toOrder(
  id: Id,
  petId: Id | null | undefined,
  quantity: number | null | undefined,
  shipDate: number | null | undefined,
  complete: boolean,
): Order {
  const order: Order = { id, complete };
  if (petId != null) order.petId = petId;
  if (quantity != null) order.quantity = quantity;
  if (shipDate != null) order.shipDate = formatInstant(shipDate);
  return order;
}

/** Applies a patch to an optional value. */
const patched = <T>(current: T | undefined, change: T | null | undefined): T | undefined =>
  change === undefined ? current : (change ?? undefined);

function instantOf(shipDate: string | undefined): number | null {
  if (shipDate === undefined) return null;
  const ms = parseInstant(shipDate);
  if (ms === null) throw new Error(`Not an RFC 3339 date-time: ${shipDate}`);
  return ms;
}

function toWhere({ petId, complete }: OrderFilter): NonNullable<Where> {
  const equal: [string, Value][] = [];
  if (petId !== undefined) equal.push(['pet_id', BigInt(petId)]);
  if (complete !== undefined) equal.push(['complete', complete ? 1 : 0]);
  return { equal };
}

const completeCondition = (complete: boolean | undefined): string =>
  complete === undefined ? '' : `and complete = ${complete ? 1 : 0}`;

const isSame = (a: Order, b: Order): boolean =>
  a.petId === b.petId && a.quantity === b.quantity && a.shipDate === b.shipDate && a.complete === b.complete;

/**
 * `order_counts` caches counts for `totalCount`, because counting in SQLite reads the whole index.
 * `chosen_order_ids` has the ids above the last assigned one that clients have chosen, including those of
 * deleted orders, so that assignment can skip them.
 */
const migrations = {
  1: `
  create table orders (
    id integer primary key,
    pet_id integer,
    quantity integer,
    ship_date integer,
    complete integer not null check (complete in (0, 1))
  ) strict;
  create index orders_by_pet on orders (pet_id, id);
  create index orders_by_complete on orders (complete, id);
  create index orders_by_pet_and_complete on orders (pet_id, complete, id);

  create table order_counts (complete integer primary key, orders integer not null) strict;
  insert into order_counts values (0, 0), (1, 0);
  create trigger count_new_order after insert on orders begin
    update order_counts set orders = orders + 1 where complete = new.complete;
  end;
  create trigger count_deleted_order after delete on orders begin
    update order_counts set orders = orders - 1 where complete = old.complete;
  end;
  create trigger count_completed_order after update of complete on orders when old.complete <> new.complete begin
    update order_counts set orders = orders - 1 where complete = old.complete;
    update order_counts set orders = orders + 1 where complete = new.complete;
  end;

  create table assigned_order_ids (last integer not null) strict;
  insert into assigned_order_ids values (0);
  create table chosen_order_ids (id integer primary key) strict;
  `,
};

/** Orders refer to pets without a foreign key, because a complete order may outlive its pet. */
function open({ db, append, records: recordsOf, exists }: DomainContext) {
  const records = recordsOf<Order>({
    name: 'orders',
    kind: 'order',
    columns: [
      { name: 'id', isId: true },
      { name: 'pet_id', isId: true },
      { name: 'quantity' },
      { name: 'ship_date' },
      { name: 'complete' },
    ],
    decode: ([id, petId, quantity, shipDate, complete]) =>
      toOrder(id!, petId, quantity, shipDate, complete === 1),
    cacheSize: 0,
  });

  const columns = ({ petId, quantity, complete }: Omit<NewOrder, 'id'>, shipDate: number | null): Value[] => [
    petId === undefined ? null : BigInt(petId),
    quantity ?? null,
    shipDate,
    complete ? 1 : 0,
  ];

  return {
    reads: {
      ordersById: (ids: readonly Id[]) => records.byIds(ids),
      orderPage: (filter: OrderFilter, page: PageRequest) => records.page(toWhere(filter), page),
      orderPagesByPet: (petIds: readonly Id[], filter: OrderFilter, page: PageRequest) =>
        records.pagesByParent('pet_id', petIds, toWhere(filter), page),

      orderCount: ({ petId, complete }: OrderFilter): number =>
        (petId === undefined
          ? db.value(`select sum(orders) from order_counts where true ${completeCondition(complete)}`)
          : db.value(`select count(*) from orders where pet_id = ? ${completeCondition(complete)}`, [
              BigInt(petId),
            ])) as number,

      orderCountsByPet(petIds: readonly Id[], { petId, complete }: OrderFilter): number[] {
        const counts = db.value(
          `select json_group_array(n) from (
             select (select count(*) from orders where pet_id = parent.value ${completeCondition(complete)}) as n
             from json_each(?) as parent order by parent.key
           )`,
          [idList(petIds)],
        );
        const all = JSON.parse(counts as string) as number[];
        return petId === undefined ? all : all.map((n, i) => (petIds[i] === petId ? n : 0));
      },
    },
    writes: {
      createOrder(input: NewOrder): Order {
        const shipDate = instantOf(input.shipDate);
        if (input.petId !== undefined && !exists('pets', input.petId))
          throw unknownReference('petId', 'pet', input.petId);
        if (input.id !== undefined && records.find(input.id)) throw orderIdTaken(input.id);
        const id = db.transaction(() => {
          const id = input.id === undefined ? assignOrderId(db) : noteChosenOrderId(db, BigInt(input.id));
          db.run('insert into orders (id, pet_id, quantity, ship_date, complete) values (?, ?, ?, ?, ?)', [
            id,
            ...columns(input, shipDate),
          ]);
          return id;
        });
        const order = toOrder(id.toString(), input.petId, input.quantity, shipDate, input.complete);
        append('order.created', order);
        return order;
      },

      updateOrder(id: Id, patch: OrderPatch, check?: Check<Order>): Order {
        const current = records.existing(id, check);
        const petId = patched(current.petId, patch.petId);
        const quantity = patched(current.quantity, patch.quantity);
        const shipDate = instantOf(patched(current.shipDate, patch.shipDate));
        const complete = patch.complete ?? current.complete;
        if (petId !== undefined && (petId !== current.petId || !complete) && !exists('pets', petId)) {
          throw unknownReference('petId', 'pet', petId);
        }
        const next = toOrder(id, petId, quantity, shipDate, complete);
        if (isSame(current, next)) return current;
        db.run('update orders set pet_id = ?, quantity = ?, ship_date = ?, complete = ? where id = ?', [
          ...columns(next, shipDate),
          BigInt(id),
        ]);
        append('order.updated', next);
        return next;
      },

      deleteOrder(id: Id, check?: Check<Order>): Id {
        records.existing(id, check);
        db.run('delete from orders where id = ?', [BigInt(id)]);
        append('order.deleted', { id });
        return id;
      },
    },
  };
}

export const order = { migrations, open } satisfies SqliteDomain;
