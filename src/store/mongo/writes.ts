import type { Document, UpdateFilter } from 'mongodb';
import { categoryInUse, notFound, orderIdTaken, petOnOrder, unknownReference } from '../../errors.ts';
import type { PetstoreWrites } from '../store.ts';
import type { CategoryDocument, Key, OrderDocument, PetDocument } from './collections.ts';
import type { Database, RunUnit, Unit } from './database.ts';
import { writtenBy } from './events.ts';
import { isDuplicateKey, LostRace } from './faults.ts';
import { idOf, isReserved, keyOf, nextId, nextOrderId, reserveOrderId } from './ids.ts';
import { orderValues, toCategory, toOrder, toPet } from './records.ts';
import { announceRelease, hold, release, unusedParent } from './references.ts';

/**
 * The writes of the port. Each reads the record, lets `check` see it, and writes under the condition that the record's
 * version is still the same; who loses that race starts again.
 *
 * @param run how to run each write: on its own, or as a part of a transaction that is already open
 */
export function mongoWrites(database: Database, run: RunUnit) {
  const { pets, categories, orders } = database.collections;

  async function requirePet(unit: Unit, key: Key): Promise<void> {
    if (!(await pets.findOne({ _id: key }, { ...unit.options, projection: { _id: 1 } }))) {
      throw unknownReference('petId', idOf(key));
    }
  }

  async function holdCategory(unit: Unit, key: Key): Promise<void> {
    if (!(await hold(database, unit, 'categories', key))) throw unknownReference('categoryId', idOf(key));
  }

  async function holdPet(unit: Unit, key: Key): Promise<void> {
    if (!(await hold(database, unit, 'pets', key))) throw unknownReference('petId', idOf(key));
  }

  async function insertOrder(unit: Unit, order: OrderDocument, chosen: boolean): Promise<void> {
    if (chosen) await reserveOrderId(database, order._id);
    try {
      await orders.insertOne(order, unit.options);
    } catch (fault) {
      if (!isDuplicateKey(fault)) throw fault;
      throw chosen ? orderIdTaken(idOf(order._id)) : new LostRace();
    }
    unit.undo(() => orders.deleteOne({ _id: order._id }, unit.options));
    // The id was free when it was assigned, but a client may have chosen it since, and even deleted its order again.
    if (!chosen && (await isReserved(database, order._id))) throw new LostRace();
  }

  return {
    createPet: ({ name, categoryId, status }) =>
      run(async (unit) => {
        const category = keyOf(categoryId);
        // First, because others wait for the category from `holdCategory` on.
        const _id = await nextId(database, 'pets');
        await holdCategory(unit, category);
        const pet: PetDocument = {
          _id,
          name,
          categoryId: category,
          status,
          quantity: 0,
          version: 0,
          openOrders: 0,
        };
        await pets.insertOne(pet, unit.options).catch(lostIfDuplicate);
        return toPet(pet);
      }),

    updatePet: (id, patch, check) =>
      run(
        async (unit) => {
          const pet = await pets.findOne({ _id: keyOf(id) }, unit.options);
          if (!pet) throw notFound('pet', id);
          check?.(toPet(pet));
          const { categoryId, ...values } = patch;
          const target = categoryId === undefined ? pet.categoryId : keyOf(categoryId);
          const change = changeOf('pets', pet, { ...values, categoryId: target });
          if (!change) return toPet(pet);
          const moves = target !== pet.categoryId;
          if (moves) {
            await holdCategory(unit, target);
            await announceRelease(database, unit, 'categories', pet.categoryId);
          }
          const written = await pets.findOneAndUpdate({ _id: pet._id, version: pet.version }, change, {
            ...unit.options,
            returnDocument: 'after',
          });
          if (!written) throw new LostRace();
          if (moves) await release(database, unit, 'categories', pet.categoryId);
          return toPet(written);
        },
        patch.categoryId === undefined ? 'oneDocument' : undefined,
      ),

    deletePet: (id, check) =>
      run(async (unit) => {
        const pet = await pets.findOne({ _id: keyOf(id) }, unit.options);
        if (!pet) throw notFound('pet', id);
        check?.(toPet(pet));
        const unused = await unusedParent(database, unit, 'pets', pet);
        if (!unused) throw petOnOrder(id);
        await announceRelease(database, unit, 'categories', pet.categoryId);
        const { deletedCount } = await pets.deleteOne(unused, unit.options);
        if (deletedCount === 0) throw new LostRace();
        await release(database, unit, 'categories', pet.categoryId);
        return id;
      }),

    createCategory: ({ name, description }) =>
      run(async (unit) => {
        const category: CategoryDocument = {
          _id: await nextId(database, 'categories'),
          name,
          ...(description !== undefined && { description }),
          version: 0,
          pets: 0,
        };
        await categories.insertOne(category, unit.options).catch(lostIfDuplicate);
        return toCategory(category);
      }, 'oneDocument'),

    updateCategory: (id, patch, check) =>
      run(async (unit) => {
        const category = await categories.findOne({ _id: keyOf(id) }, unit.options);
        if (!category) throw notFound('category', id);
        check?.(toCategory(category));
        const change = changeOf('categories', category, { name: patch.name, description: patch.description });
        if (!change) return toCategory(category);
        const written = await categories.findOneAndUpdate(
          { _id: category._id, version: category.version },
          change,
          { ...unit.options, returnDocument: 'after' },
        );
        if (!written) throw new LostRace();
        return toCategory(written);
      }, 'oneDocument'),

    deleteCategory: (id, check) =>
      run(async (unit) => {
        const category = await categories.findOne({ _id: keyOf(id) }, unit.options);
        if (!category) throw notFound('category', id);
        check?.(toCategory(category));
        const unused = await unusedParent(database, unit, 'categories', category);
        if (!unused) throw categoryInUse(id);
        const { deletedCount } = await categories.deleteOne(unused, unit.options);
        if (deletedCount === 0) throw new LostRace();
        return id;
      }),

    createOrder: (input) =>
      run(
        async (unit) => {
          const { petId, quantity, shipDate, complete } = orderValues(input);
          if (petId != null) await (complete ? requirePet(unit, petId) : holdPet(unit, petId));
          const order: OrderDocument = {
            _id: input.id === undefined ? await nextOrderId(database) : keyOf(input.id),
            ...(petId != null && { petId }),
            ...(quantity != null && { quantity }),
            ...(shipDate != null && { shipDate }),
            complete: complete ?? false,
            version: 0,
          };
          await insertOrder(unit, order, input.id !== undefined);
          return toOrder(order);
        },
        input.petId === undefined || input.complete ? 'oneDocument' : undefined,
      ),

    updateOrder: (id, patch, check) =>
      run(
        async (unit) => {
          const order = await orders.findOne({ _id: keyOf(id) }, unit.options);
          if (!order) throw notFound('order', id);
          check?.(toOrder(order));
          const values = orderValues(patch);
          const change = changeOf('orders', order, values);
          if (!change) return toOrder(order);

          const petId = values.petId === undefined ? order.petId : (values.petId ?? undefined);
          const complete = values.complete ?? order.complete;
          const held = order.complete ? undefined : order.petId;
          const holds = complete ? undefined : petId;
          if (holds !== undefined && holds !== held) await holdPet(unit, holds);
          else if (petId !== undefined && petId !== order.petId) await requirePet(unit, petId);
          const releases = held !== undefined && held !== holds;
          if (releases) await announceRelease(database, unit, 'pets', held);

          const written = await orders.findOneAndUpdate({ _id: order._id, version: order.version }, change, {
            ...unit.options,
            returnDocument: 'after',
          });
          if (!written) throw new LostRace();
          if (releases) await release(database, unit, 'pets', held);
          return toOrder(written);
        },
        patch.petId === undefined && patch.complete === undefined ? 'oneDocument' : undefined,
      ),

    deleteOrder: (id, check) =>
      run(async (unit) => {
        const order = await orders.findOne({ _id: keyOf(id) }, unit.options);
        if (!order) throw notFound('order', id);
        check?.(toOrder(order));
        const held = order.complete ? undefined : order.petId;
        if (held !== undefined) await announceRelease(database, unit, 'pets', held);
        const { deletedCount } = await orders.deleteOne(
          { _id: order._id, version: order.version },
          unit.options,
        );
        if (deletedCount === 0) throw new LostRace();
        if (held !== undefined) await release(database, unit, 'pets', held);
        return id;
      }),
  } satisfies PetstoreWrites;
}

/** Only a collection that was filled by other means has an id that the sequence is yet to reach: on to the next one. */
function lostIfDuplicate(fault: unknown): never {
  throw isDuplicateKey(fault) ? new LostRace() : fault;
}

/**
 * The update that gives the document these values (null removes one, undefined leaves it) and a new version;
 * null if it has them already, so that a patch that changes nothing writes nothing.
 */
function changeOf<D extends { version: number | bigint }>(
  collection: 'pets' | 'categories' | 'orders',
  document: D,
  values: Document,
): UpdateFilter<D> | null {
  const set: Document = {};
  const unset: Document = {};
  for (const [name, value] of Object.entries(values)) {
    const current = (document as Document)[name];
    if (value === undefined || sameValue(current, value)) continue;
    if (value === null) unset[name] = true;
    else set[name] = value;
  }
  const unsets = Object.keys(unset).length > 0;
  if (Object.keys(set).length === 0 && !unsets) return null;
  return {
    $inc: { version: 1 },
    $set: { ...set, ...writtenBy(collection, document, values) },
    ...(unsets && { $unset: unset }),
  } as unknown as UpdateFilter<D>;
}

const sameValue = (current: unknown, value: unknown): boolean =>
  current instanceof Date && value instanceof Date
    ? current.getTime() === value.getTime()
    : (current ?? null) === value;
