import { builder } from '../../schema/builder.ts';
import type { Domain } from '../../schema/domain.ts';
import { NODE_ID, NodeInterface, nodeType } from '../../schema/node.ts';
import { write } from '../../schema/write.ts';
import type { Pet, PetFilter } from '../pet/pet.ts';
import { PetStatusType, PetType, petConnection, petSource } from '../pet/pet.type.ts';
import { inventoryItems } from './inventory.routes.ts';
import { inventoryUpdate } from './inventory.ts';

/** An inventory entry is a view of its pet, so the two cannot disagree. */
const InventoryItemType = builder.objectRef<Pet>('InventoryItem').implement({
  interfaces: [NodeInterface],
  description: 'The stock of a pet.',
  fields: (t) => ({
    nodeId: t.id({
      description: NODE_ID,
      resolve: nodeType('InventoryItem', (id, { loaders }) => loaders.record(petSource, id)),
    }),
    id: t.exposeID('id', { description: 'The same as petId, for clients that cache records by id.' }),
    petId: t.exposeID('id', { description: 'The id of the animal this entry tracks.' }),
    quantity: t.exposeInt('quantity', { description: 'Current stock count.' }),
    status: t.expose('status', { type: PetStatusType, description: 'Status of the tracked animal.' }),
    pet: t.field({ type: PetType, description: 'The tracked animal.', resolve: (pet) => pet }),
  }),
});

/** The REST form of an entry, which its ETag is computed from. */
const inventoryItem = ({ id, quantity, status }: Pet) => ({ petId: id, quantity, status });

const InventoryFilterInput = builder.inputType('InventoryFilter', {
  description: 'Selects inventory entries.',
  fields: (t) => ({
    status: t.field({ type: [PetStatusType], description: 'Entries of pets with any of these statuses.' }),
  }),
});

const InventoryUpdateInput = builder.inputType('InventoryUpdate', {
  description: 'A new stock count.',
  validate: inventoryUpdate(),
  fields: (t) => ({
    quantity: t.int({ required: true, description: 'The new stock count, 0 to 2147483647.' }),
  }),
});

builder.objectField(PetType, 'inventory', (t) =>
  t.field({ type: InventoryItemType, description: 'The stock of this pet.', resolve: (pet) => pet }),
);

builder.queryFields((t) => ({
  inventoryItem: t.field({
    type: InventoryItemType,
    nullable: true,
    description: 'Looks up the inventory entry of a pet; null if there is no such pet.',
    args: { petId: t.arg.id({ required: true, description: 'The id of the pet.' }) },
    resolve: (_root, { petId }, { loaders }) => loaders.record(petSource, petId),
  }),
  inventory: t.connection({
    type: InventoryItemType,
    description: 'All inventory entries, ordered by petId.',
    args: { filter: t.arg({ type: InventoryFilterInput, description: 'Which entries to return.' }) },
    resolve: (_root, args, context) => {
      const filter: PetFilter =
        args.filter?.status != null ? { status: [...new Set(args.filter.status)] } : {};
      return petConnection(args, filter, context);
    },
  }),
}));

builder.mutationFields((t) => ({
  updateInventory: t.field({
    type: InventoryItemType,
    description: 'Sets the stock of a pet.',
    args: {
      petId: t.arg.id({ required: true, description: 'The id of the pet.' }),
      input: t.arg({ type: InventoryUpdateInput, required: true, description: 'The new stock count.' }),
    },
    resolve: write((writes, { petId, input }, { precondition }) =>
      writes.updatePet(
        petId,
        { quantity: input.quantity },
        precondition && ((pet) => precondition('InventoryItem', inventoryItem(pet))),
      ),
    ),
  }),
}));

export const inventory: Domain<Pet, 'inventory'> = {
  resource: inventoryItems,
  type: InventoryItemType,
  source: petSource,
  events: { 'inventory.updated': 'The stock of a pet changed.' },
  eventField: {
    name: 'inventoryItem',
    description:
      'For `inventory_…` events: the entry in its current state; null if the pet has been deleted.',
  },
  represent: inventoryItem,
};
