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
import {
  type CollectionDefinition,
  DATE,
  ID,
  type Key,
  type RecordDocument,
  recordSchema,
} from './collection.ts';
import type { ChangeEvents, DomainContext, MongoDomain } from './domain.ts';
import { WriteConflict } from './errors.ts';
import { toId, toKey } from './keys.ts';
import { createOrderIds } from './order-ids.ts';
import { type ParentReference, Records, type Where } from './records.ts';
import type { RunUnit, Unit } from './units.ts';
import { createWrites } from './writes.ts';

interface OrderDocument extends RecordDocument {
  petId?: Key;
  quantity?: number;
  shipDate?: Date;
  complete: boolean;
}

const definition: CollectionDefinition = {
  name: 'orders',
  schema: recordSchema({
    'petId?': ID,
    'quantity?': { bsonType: 'int', minimum: 1 },
    'shipDate?': DATE,
    complete: { bsonType: 'bool' },
  }),
  indexes: [
    { key: { complete: 1, _id: 1 } },
    { key: { petId: 1, _id: 1 } },
    { key: { petId: 1, complete: 1, _id: 1 } },
  ],
};

const FIELDS = { petId: 1, quantity: 1, shipDate: 1, complete: 1 } as const;

function toOrder(order: OrderDocument): Order {
  const record: Order = { id: toId(order._id), complete: order.complete };
  if (order.petId !== undefined) record.petId = toId(order.petId);
  if (order.quantity !== undefined) record.quantity = order.quantity;
  if (order.shipDate !== undefined) record.shipDate = formatInstant(order.shipDate.getTime());
  return record;
}

/** Converts an order's values for its document; undefined and null are kept. */
function valuesOf({ petId, quantity, shipDate, complete }: NewOrder | OrderPatch) {
  return {
    petId: petId == null ? petId : toKey(petId),
    quantity,
    shipDate: shipDate == null ? shipDate : dateOf(shipDate),
    complete,
  };
}

function dateOf(text: string): Date {
  const instant = parseInstant(text);
  if (instant === null) throw new TypeError(`Not an instant: ${text}`);
  return new Date(instant);
}

const toWhere = ({ petId, complete }: OrderFilter): Where<OrderDocument> => ({
  ...(petId !== undefined && { petId: toKey(petId) }),
  ...(complete !== undefined && { complete }),
});

const events: ChangeEvents = {
  insert: 'order.created',
  update: [{ type: 'order.updated' }],
  delete: 'order.deleted',
};

function open({ database, ids, holds }: DomainContext) {
  const collection = database.db.collection<OrderDocument>(definition.name);
  const kind = { name: 'order', collection, fields: FIELDS, toRecord: toOrder };
  const { insert, existing, change, remove } = createWrites(kind, database);
  const orderIds = createOrderIds(database, ids);
  const pets: ParentReference<OrderDocument> = {
    collection: database.db.collection('pets'),
    field: 'petId',
    // Complete orders may outlive their pet.
    mayBeDeleted: true,
  };

  /** @param complete a complete order does not protect its pet from deletion */
  async function requirePet(key: Key, complete: boolean, unit: Unit): Promise<void> {
    const found = complete ? await exists(key, unit) : await holds.hold('pets', key, unit);
    if (!found) throw unknownReference('petId', 'pet', toId(key));
  }

  const exists = async (key: Key, unit: Unit): Promise<boolean> =>
    (await pets.collection.findOne({ _id: key }, { ...unit.options, projection: { _id: 1 } })) !== null;

  /**
   * Inserts an order with an assigned id. If a client has chosen the same id and deleted that order between
   * two of our commands, the insert is undone. Outside of a transaction, the log then has both events.
   */
  async function insertAssigned(order: OrderDocument, unit: Unit): Promise<void> {
    await insert(order, unit);
    if (!(await orderIds.wasUsed(order._id))) return;
    if (!unit.session) await remove(order, unit);
    throw new WriteConflict();
  }

  return {
    reads: (transaction?: Unit) => {
      const records = new Records(kind, database, transaction);
      return {
        ordersById: (ids: readonly Id[]) => records.byId(ids),
        orderPage: (filter: OrderFilter, page: PageRequest) => records.page(toWhere(filter), page),
        orderPagesByPet: (petIds: readonly Id[], filter: OrderFilter, page: PageRequest) =>
          records.pagesByParent(pets, petIds, toWhere(filter), page),
        orderCount: (filter: OrderFilter) => records.count(toWhere(filter)),
        orderCountsByPet: (petIds: readonly Id[], filter: OrderFilter) =>
          records.countsByParent('petId', petIds, toWhere(filter)),
      };
    },
    /** @param run how to run each write */
    writes: (run: RunUnit) => ({
      createOrder: (input: NewOrder) =>
        run(async (unit) => {
          const { petId, quantity, shipDate, complete } = valuesOf(input);
          if (petId != null) await requirePet(petId, complete ?? false, unit);
          const order: OrderDocument = {
            _id: input.id === undefined ? await orderIds.next() : toKey(input.id),
            ...(petId != null && { petId }),
            ...(quantity != null && { quantity }),
            ...(shipDate != null && { shipDate }),
            complete: complete ?? false,
            version: 0,
          };
          if (input.id === undefined) await insertAssigned(order, unit);
          else {
            await orderIds.reserve(order._id);
            await insert(order, unit, orderIdTaken(input.id));
          }
          return toOrder(order);
        }),

      updateOrder: (id: Id, patch: OrderPatch, check?: Check<Order>) =>
        run(async (unit) => {
          const order = await existing(id, check, unit);
          const values = valuesOf(patch);
          const petId = values.petId === undefined ? order.petId : (values.petId ?? undefined);
          const complete = values.complete ?? order.complete;
          const names = petId !== undefined && petId !== order.petId;
          const reopens = petId !== undefined && order.complete && !complete;
          if (names || reopens) await requirePet(petId, complete, unit);
          return await change(order, values, unit);
        }),

      deleteOrder: (id: Id, check?: Check<Order>) =>
        run(async (unit) => {
          const order = await existing(id, check, unit);
          await orderIds.noteDeletion(order._id);
          if (!(await remove(order, unit))) throw new WriteConflict();
          return id;
        }),
    }),
  };
}

export const order = { definition, events, toRecord: toOrder, choosesIds: true, open } satisfies MongoDomain;
