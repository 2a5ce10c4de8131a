import { ownId } from '../../foundation/fields.ts';
import { listParameters } from '../../schema/parameter.ts';
import { listSelection } from '../../schema/record-routes.ts';
import type { Resource } from '../../schema/route.ts';
import { selectionOf, shapeOf } from '../../schema/shape.ts';
import { petStatusParameter } from '../pet/pet.routes.ts';
import { Pet } from '../pet/pet.ts';
import { inventoryUpdate } from './inventory.ts';

const shape = shapeOf(Pet, {
  type: 'InventoryItem',
  name: 'InventoryItem',
  listName: 'InventoryItems',
  description: 'The stock of one animal.',
  idField: 'petId',
  fields: {
    petId: ownId('ID of the animal this entry tracks'),
    quantity: Pet.fields.quantity,
    status: { ...Pet.fields.status, description: 'Status of the tracked animal' },
  },
});

const getInventoryItem = `query getInventoryItem($petId: ID!) {
  result: inventoryItem(petId: $petId) ${selectionOf(shape)}
}`;

const updateInventory = `mutation updateInventory($petId: ID!, $input: InventoryUpdate!) {
  result: updateInventory(petId: $petId, input: $input) ${selectionOf(shape)}
}`;

const query = [petStatusParameter, ...listParameters(Pet, 'inventory')];
const list = listSelection('inventory', shape, query);

const common = { tag: 'Store', kind: 'pet', stability: 'stable' } as const;
const one = { ...common, path: '/store/inventory/{petId}', pathParameter: 'petId' } as const;

export const inventoryItems: Resource = {
  scope: 'inventory',
  shape,
  routes: [
    {
      ...common,
      operationId: 'listInventory',
      method: 'GET',
      path: '/store/inventory',
      summary: 'List the inventory',
      document: `query listInventory(${list.variables}) { ${list.page} }`,
      status: 200,
      shape,
      list: 'pages',
      query,
    },
    {
      ...one,
      operationId: 'getInventoryItem',
      method: 'GET',
      summary: 'Get the inventory entry of a pet',
      document: getInventoryItem,
      status: 200,
      shape,
    },
    {
      ...one,
      operationId: 'replaceInventory',
      method: 'PUT',
      summary: 'Set the stock of a pet',
      document: updateInventory,
      status: 200,
      shape,
      body: { name: 'InventoryUpdate', rules: inventoryUpdate() },
    },
    {
      ...one,
      operationId: 'updateInventory',
      method: 'PATCH',
      stability: 'beta',
      summary: 'Update the stock of a pet',
      document: updateInventory,
      status: 200,
      shape,
      body: {
        name: 'InventoryPatch',
        rules: inventoryUpdate().partial(),
        example: { quantity: 5 },
      },
    },
  ],
};
