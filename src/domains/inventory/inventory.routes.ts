import { PAGE_PARAMETERS } from '../../schema/parameter.ts';
import type { Resource } from '../../schema/route.ts';
import { id, pageOf, quantity, type Shape, schemaRef, selectionOf } from '../../schema/shape.ts';
import { petStatusParameter } from '../pet/pet.routes.ts';
import { petStatus } from '../pet/pet.ts';
import { inventoryUpdate } from './inventory.ts';

const InventoryItem: Shape = {
  type: 'InventoryItem',
  name: 'InventoryItem',
  listName: 'InventoryItems',
  description: 'The stock of one animal.',
  idField: 'petId',
  fields: {
    petId: id('ID of the animal this entry tracks'),
    quantity: quantity(0, 'Current stock count'),
    status: schemaRef('PetStatus', 'Status of the tracked animal'),
  },
  example: { petId: 1, quantity: 3, status: 'available' },
};

const getInventoryItem = `query getInventoryItem($petId: ID!) {
  result: inventoryItem(petId: $petId) ${selectionOf(InventoryItem)}
}`;

const updateInventory = `mutation updateInventory($petId: ID!, $input: InventoryUpdate!) {
  result: updateInventory(petId: $petId, input: $input) ${selectionOf(InventoryItem)}
}`;

const common = { tag: 'Store', kind: 'pet', stability: 'stable' } as const;
const one = { ...common, path: '/store/inventory/{petId}', pathParameter: 'petId' } as const;

/** The status is the pet's own: a body may repeat it but not change it. */
const bodyRules = inventoryUpdate().extend({ status: petStatus().optional() });
const stockOf = ({ quantity }: { quantity?: number }) => (quantity === undefined ? {} : { quantity });

export const inventoryItems: Resource = {
  scope: 'inventory',
  shape: InventoryItem,
  routes: [
    {
      ...common,
      operationId: 'listInventory',
      method: 'GET',
      path: '/store/inventory',
      summary: 'List the inventory',
      document: `query listInventory($status: [PetStatus!], $limit: Int, $after: String) {
        page: inventory(filter: { status: $status }, first: $limit, after: $after) ${pageOf(InventoryItem)}
      }`,
      status: 200,
      shape: InventoryItem,
      list: true,
      query: [petStatusParameter, ...PAGE_PARAMETERS],
    },
    {
      ...one,
      operationId: 'getInventoryItem',
      method: 'GET',
      summary: 'Get the inventory entry of a pet',
      document: getInventoryItem,
      status: 200,
      shape: InventoryItem,
    },
    {
      ...one,
      operationId: 'replaceInventory',
      method: 'PUT',
      summary: 'Set the stock of a pet',
      document: updateInventory,
      status: 200,
      shape: InventoryItem,
      body: {
        name: 'InventoryUpdate',
        rules: bodyRules,
        toInput: stockOf,
        mirrors: ['status'],
        ownId: 'petId',
      },
    },
    {
      ...one,
      operationId: 'updateInventory',
      method: 'PATCH',
      stability: 'beta',
      summary: 'Update the stock of a pet',
      document: updateInventory,
      unchanged: getInventoryItem,
      status: 200,
      shape: InventoryItem,
      body: {
        name: 'InventoryPatch',
        rules: bodyRules.partial(),
        toInput: stockOf,
        mirrors: ['status'],
        ownId: 'petId',
        example: { quantity: 5 },
      },
    },
  ],
};
