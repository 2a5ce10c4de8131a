import { builder } from '../../kit/builder.ts';
import type { Domain } from '../../kit/domain.ts';
import { exposed } from '../../kit/fields.ts';
import { checkedBy } from '../../kit/input-rules.ts';
import { sortEnum } from '../../kit/list-arguments.ts';
import { NODE_ID, NodeInterface, nodeType } from '../../kit/node.ts';
import { connectionOf, list } from '../../kit/record-fields.ts';
import { unchanged, write } from '../../kit/write.ts';
import { Pet } from '../pet/pet.ts';
import { PetStatusType, PetType } from '../pet/pet.type.ts';
import { inventoryItems, inventoryUpdate } from './inventory.routes.ts';

const { quantity } = Pet.fields;

/** An inventory entry is a view of its pet, so the two cannot disagree. */
const InventoryItemType = builder.objectRef<Pet>('InventoryItem').implement({
  interfaces: [NodeInterface],
  description: 'The stock of a pet.',
  fields: (t) => ({
    nodeId: t.id({ description: NODE_ID, resolve: nodeType(Pet, 'InventoryItem') }),
    id: t.exposeID('id', { description: 'The same as petId, for clients that cache records by id.' }),
    petId: t.exposeID('id', { description: 'The id of the animal this entry tracks.' }),
    quantity: t.exposeInt('quantity', exposed(quantity)),
    status: t.expose('status', { type: PetStatusType, description: 'Status of the tracked animal.' }),
    pet: t.field({ type: PetType, description: 'The tracked animal.', resolve: (pet) => pet }),
  }),
});

const InventoryItemConnection = connectionOf(InventoryItemType);

const InventoryFilterInput = builder.inputType('InventoryFilter', {
  description: 'Selects inventory entries.',
  fields: (t) => ({
    status: t.field({ type: [PetStatusType], description: 'Entries of pets with any of these statuses.' }),
  }),
});

const InventorySort = builder.enumType('InventorySort', sortEnum(Pet, 'inventory'));

const InventoryUpdateInput = builder.inputType('InventoryUpdate', {
  description: 'A new stock count.',
  ...checkedBy(inventoryUpdate().partial()),
  fields: (t) => ({
    quantity: t.int({ description: `The new stock count, ${quantity.limits}.` }),
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
    resolve: (_root, { petId }, { loaders }) => loaders.record(Pet, petId),
  }),
  inventory: t.connection(
    list(Pet, InventoryItemType, {
      filter: InventoryFilterInput,
      sort: InventorySort,
      description: 'All inventory entries, by default ordered by petId.',
      items: 'entries',
      view: 'inventory',
    }),
    InventoryItemConnection,
  ),
}));

builder.mutationFields((t) => ({
  updateInventory: t.field({
    type: InventoryItemType,
    description: 'Sets the stock of a pet.',
    args: {
      petId: t.arg.id({ required: true, description: 'The id of the pet.' }),
      input: t.arg({ type: InventoryUpdateInput, required: true, description: 'The new stock count.' }),
    },
    resolve: write((tables, { petId, input }, context) =>
      tables
        .table(Pet)
        .update(petId, { quantity: input.quantity ?? undefined }, unchanged('InventoryItem', context)),
    ),
  }),
}));

export const inventory: Domain = {
  record: Pet,
  resource: inventoryItems,
  type: InventoryItemType,
  events: { 'inventory.updated': 'The stock of a pet changed.' },
  eventField: {
    name: 'inventoryItem',
    description:
      'For `inventory_…` events: the entry in its current state; null if the pet has been deleted.',
  },
};
