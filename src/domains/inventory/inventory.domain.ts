import { integer, ownId } from '../../foundation/fields.ts';
import { MAX_INT32 } from '../../foundation/id.ts';
import { andThen, type MaybePromise } from '../../foundation/turns.ts';
import { graphqlDialect, inputObject, restDialect } from '../../foundation/validation.ts';
import type { Builder } from '../../schema/builder.ts';
import type { Context } from '../../schema/context.ts';
import type { Domain } from '../domain.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { implementNode } from '../../schema/node.ts';
import { addLists, enumOf, exposed, typeOfRecord } from '../../schema/record-types.ts';
import { unchanged, writeTo } from '../../schema/write.ts';
import { filterParameter, listParameters } from '../../rest-routes/parameter.ts';
import { listQuery } from '../../rest-routes/record-routes.ts';
import { declaredShape, selectionOf, shapeOf } from '../../rest-routes/shape.ts';
import { Pet, PetStatus } from '../pet/pet.ts';

const { quantity, status } = Pet.fields;

/** The pet. A replay has the pet as it was written, and reads it again for subfields while it exists. */
const current = (pet: Pet, _args: object, { idempotency, loaders }: Context): MaybePromise<Pet> =>
  idempotency?.request.replayed ? andThen(loaders.record(Pet, pet.id), (now) => now ?? pet) : pet;

/** The rules for a pet's stock, common to REST and GraphQL. */
const rules = inputObject({ quantity: quantity.rule(graphqlDialect) });

/** The change in stock. */
const by = integer(-MAX_INT32, MAX_INT32, 'How much the stock changes; negative when something is sold', -1);

/** Adds the stock of pets. An inventory entry is a view of a pet, so the two cannot disagree. */
function addTypes(builder: Builder): void {
  const PetType = typeOfRecord(builder, Pet);
  const { interfaces, nodeId } = implementNode(builder, Pet, 'InventoryItem');
  const InventoryItemType = builder.objectRef<Pet>('InventoryItem').implement({
    interfaces,
    description: 'The stock of a pet.',
    fields: (t) => ({
      nodeId: t.id(nodeId),
      id: t.exposeID('id', { description: 'The same as petId, for clients that cache records by id.' }),
      petId: t.exposeID('id', { description: 'The id of the animal this entry tracks.' }),
      quantity: t.exposeInt('quantity', exposed(quantity)),
      status: t.expose('status', {
        type: enumOf(builder, PetStatus),
        description: 'Status of the tracked animal.',
      }),
      pet: t.field({ type: PetType, description: 'The tracked animal.', resolve: current }),
    }),
  });

  builder.objectField(PetType, 'inventory', (t) =>
    t.field({ type: InventoryItemType, description: 'The stock of this pet.', resolve: current }),
  );

  const InventoryUpdateInput = builder.inputType('InventoryUpdate', {
    description: 'A new stock count.',
    ...checkedBy(rules.partial()),
    fields: (t) => ({
      quantity: t.int({ description: `The new stock count, ${quantity.limits}.` }),
    }),
  });

  addLists(
    builder,
    Pet,
    InventoryItemType,
    {
      InventoryFilter: 'Selects inventory entries.',
      'InventoryFilter.status': 'Entries of pets with any of these statuses.',
      'Query.inventory': 'All inventory entries, by default ordered by petId.',
    },
    { view: 'inventory', filters: ['status'], items: 'entries' },
  );

  const petId = builder.args((t) => ({
    petId: t.id({ required: true, description: 'The id of the pet.' }),
  }));

  builder.queryField('inventoryItem', (t) =>
    t.field({
      type: InventoryItemType,
      nullable: true,
      description: 'Looks up the inventory entry of a pet; null if there is no such pet.',
      args: petId,
      resolve: (_root, { petId }, { loaders }) => loaders.record(Pet, petId),
    }),
  );

  builder.mutationField('updateInventory', (t) =>
    t.field({
      type: InventoryItemType,
      description: 'Sets the stock of a pet.',
      args: {
        ...petId,
        input: t.arg({ type: InventoryUpdateInput, required: true, description: 'The new stock count.' }),
      },
      resolve: writeTo(Pet, (pets, { petId, input }, context) =>
        pets.update(petId, { quantity: input.quantity ?? undefined }, unchanged('InventoryItem', context)),
      ),
    }),
  );

  builder.mutationField('adjustInventory', (t) =>
    t.field({
      type: InventoryItemType,
      description:
        'Changes the stock of a pet by a difference. Concurrent ones add up. Refused where the stock would be negative or beyond its maximum.',
      args: { ...petId, by: t.arg.int({ required: true, description: `${by.description}.` }) },
      resolve: writeTo(Pet, (pets, { petId, by }, context) =>
        pets.adjust(petId, 'quantity', by, unchanged('InventoryItem', context)),
      ),
    }),
  );
}

const shape = shapeOf(Pet, {
  type: 'InventoryItem',
  listName: 'InventoryItems',
  description: 'The stock of one animal.',
  fields: {
    petId: ownId('ID of the animal this entry tracks'),
    quantity,
    status: { ...status, description: 'Status of the tracked animal' },
  },
});

const query = [
  filterParameter(Pet, 'status', 'Only pets with this status.'),
  ...listParameters(Pet, { view: 'inventory' }),
];
const list = listQuery('inventory', shape, query);
const common = { tag: 'Store', kind: 'pet', stability: 'stable', status: 200, shape } as const;
const one = { ...common, path: '/store/inventory/{petId}', pathParameter: 'petId' } as const;
const document = `mutation updateInventory($petId: ID!, $input: InventoryUpdate!) {
  result: updateInventory(petId: $petId, input: $input) ${selectionOf(shape)}
}`;

export const inventory: Domain = {
  record: Pet,
  addTypes,
  resource: {
    scope: 'inventory',
    shapes: [shape],
    routes: [
      {
        ...common,
        operationId: 'listInventory',
        method: 'GET',
        path: '/store/inventory',
        summary: 'List the inventory',
        document: `query listInventory(${list.variables}) { ${list.page} }`,
        list: 'pages',
        query,
      },
      {
        ...one,
        operationId: 'getInventoryItem',
        method: 'GET',
        summary: 'Get the inventory entry of a pet',
        document: `query getInventoryItem($petId: ID!) {
          result: inventoryItem(petId: $petId) ${selectionOf(shape)}
        }`,
      },
      {
        ...one,
        operationId: 'replaceInventory',
        method: 'PUT',
        summary: 'Set the stock of a pet',
        document,
        body: { name: 'InventoryUpdate', rules },
      },
      {
        ...one,
        operationId: 'updateInventory',
        method: 'PATCH',
        stability: 'beta',
        summary: 'Update the stock of a pet',
        document,
        body: { name: 'InventoryPatch', rules: rules.partial(), example: { quantity: 5 } },
      },
      {
        ...one,
        operationId: 'adjustInventory',
        method: 'POST',
        path: '/store/inventory/{petId}/adjust',
        stability: 'beta',
        summary: 'Change the stock of a pet by a difference',
        description:
          'Concurrent ones add up, without reading the stock first. Refused where the stock would be negative or beyond its maximum.',
        document: `mutation adjustInventory($petId: ID!, $by: Int!) {
          result: adjustInventory(petId: $petId, by: $by) ${selectionOf(shape)}
        }`,
        body: {
          name: 'InventoryAdjustment',
          rules: inputObject({ by: by.rule(restDialect) }),
          description: 'A difference.',
          fields: declaredShape({ type: 'InventoryItem', description: '', fields: { by } }).fields,
          example: { by: 5 },
        },
        errors: ['CONFLICT', 'PRECONDITION_FAILED'],
      },
    ],
  },
  events: { 'inventory.updated': 'The stock of a pet changed.' },
  eventField: {
    name: 'inventoryItem',
    description:
      'For `inventory_…` events: the entry in its current state; null if the pet has been deleted.',
  },
};
