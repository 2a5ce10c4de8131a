import { ownId } from '../../foundation/fields.ts';
import { graphqlDialect, inputObject } from '../../foundation/validation.ts';
import { listParameters } from '../../rows/parameter.ts';
import { listSelection } from '../../rows/record-routes.ts';
import type { Resource } from '../../rows/route.ts';
import { selectionOf, shapeOf } from '../../rows/shape.ts';
import { petStatusParameter } from '../pet/pet.routes.ts';
import { Pet } from '../pet/pet.ts';

const shape = shapeOf(Pet, {
  type: 'InventoryItem',
  listName: 'InventoryItems',
  description: 'The stock of one animal.',
  fields: {
    petId: ownId('ID of the animal this entry tracks'),
    quantity: Pet.fields.quantity,
    status: { ...Pet.fields.status, description: 'Status of the tracked animal' },
  },
});

/** The rules for the stock of a pet, which both interfaces take alike. */
export const inventoryUpdate = () => inputObject({ quantity: Pet.fields.quantity.rule(graphqlDialect) });

const getInventoryItem = `query getInventoryItem($petId: ID!) {
  result: inventoryItem(petId: $petId) ${selectionOf(shape)}
}`;

const updateInventory = `mutation updateInventory($petId: ID!, $input: InventoryUpdate!) {
  result: updateInventory(petId: $petId, input: $input) ${selectionOf(shape)}
}`;

const query = [petStatusParameter, ...listParameters(Pet, { view: 'inventory' })];
const list = listSelection('inventory', shape, query);

const common = { tag: 'Store', kind: 'pet', stability: 'stable', status: 200, shape } as const;
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
      list: 'pages',
      query,
    },
    {
      ...one,
      operationId: 'getInventoryItem',
      method: 'GET',
      summary: 'Get the inventory entry of a pet',
      document: getInventoryItem,
    },
    {
      ...one,
      operationId: 'replaceInventory',
      method: 'PUT',
      summary: 'Set the stock of a pet',
      document: updateInventory,
      body: { name: 'InventoryUpdate', rules: inventoryUpdate() },
    },
    {
      ...one,
      operationId: 'updateInventory',
      method: 'PATCH',
      stability: 'beta',
      summary: 'Update the stock of a pet',
      document: updateInventory,
      body: {
        name: 'InventoryPatch',
        rules: inventoryUpdate().partial(),
        example: { quantity: 5 },
      },
    },
  ],
};
