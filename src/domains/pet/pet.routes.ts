import { newRules, patchRules } from '../../foundation/record.ts';
import { restDialect } from '../../foundation/validation.ts';
import { choiceParameter, idParameter, listParameters } from '../../schema/parameter.ts';
import type { Resource } from '../../schema/route.ts';
import { choicesSchema, pageOf, selectionOf, shapeOf } from '../../schema/shape.ts';
import { Pet, PetStatus } from './pet.ts';

const shape = shapeOf(Pet);

/** Filters lists of pets by status. */
export const petStatusParameter = choiceParameter('status', PetStatus, 'Only pets with this status.');

const updatePet = `mutation updatePet($petId: ID!, $input: PetPatch!) {
  result: updatePet(id: $petId, input: $input) ${selectionOf(shape)}
}`;

const common = { tag: 'Pets', kind: 'pet', stability: 'stable' } as const;
const one = { ...common, path: '/pets/{petId}', pathParameter: 'petId' } as const;

export const pets: Resource = {
  scope: 'pets',
  shape,
  tags: { Pets: 'Pets and the categories they belong to.' },
  schemas: { PetStatus: choicesSchema(PetStatus) },
  routes: [
    {
      ...common,
      operationId: 'listPets',
      method: 'GET',
      path: '/pets',
      summary: 'List pets',
      document: `query listPets($status: [PetStatus!], $categoryId: ID, $name: String, $sort: PetSort, $limit: Int, $after: String) {
        page: pets(filter: { status: $status, categoryId: $categoryId, name: $name }, sort: $sort, first: $limit, after: $after) ${pageOf(shape)}
      }`,
      status: 200,
      shape,
      list: 'pages',
      query: [
        petStatusParameter,
        idParameter('categoryId', 'Only pets in this category.'),
        ...listParameters(Pet),
      ],
    },
    {
      ...common,
      operationId: 'createPet',
      method: 'POST',
      path: '/pets',
      summary: 'Create a pet',
      description: 'The stock of the pet is 0 until it is set.',
      document: `mutation createPet($input: NewPet!) { result: createPet(input: $input) ${selectionOf(shape)} }`,
      status: 201,
      shape,
      body: { name: 'NewPet', rules: newRules(Pet, restDialect) },
    },
    {
      ...one,
      operationId: 'getPet',
      method: 'GET',
      summary: 'Get a pet',
      document: `query getPet($petId: ID!) {
        result: pet(id: $petId) ${selectionOf(shape)}
      }`,
      status: 200,
      shape,
      deprecation: { replacement: '`pet(id:)` of the GraphQL API', successor: '/graphql' },
    },
    {
      ...one,
      operationId: 'replacePet',
      method: 'PUT',
      summary: 'Replace a pet',
      document: updatePet,
      status: 200,
      shape,
      body: { name: 'NewPet', rules: newRules(Pet, restDialect) },
    },
    {
      ...one,
      operationId: 'updatePet',
      method: 'PATCH',
      stability: 'beta',
      summary: 'Update a pet',
      document: updatePet,
      status: 200,
      shape,
      body: {
        name: 'PetPatch',
        rules: patchRules(Pet, restDialect),
        example: { status: 'sold' },
      },
    },
    {
      ...one,
      operationId: 'deletePet',
      method: 'DELETE',
      summary: 'Delete a pet',
      document: 'mutation deletePet($petId: ID!) { deleted: deletePet(id: $petId) }',
      status: 204,
    },
    {
      tag: 'Pets',
      kind: 'category',
      stability: 'experimental',
      operationId: 'listPetsOfCategory',
      method: 'GET',
      path: '/categories/{categoryId}/pets',
      pathParameter: 'categoryId',
      summary: 'List the pets in a category',
      document: `query listPetsOfCategory($categoryId: ID!, $status: [PetStatus!], $name: String, $sort: PetSort, $limit: Int, $after: String) {
        parent: category(id: $categoryId) {
          page: pets(filter: { status: $status, name: $name }, sort: $sort, first: $limit, after: $after) ${pageOf(shape)}
        }
      }`,
      status: 200,
      shape,
      list: 'pages',
      query: [petStatusParameter, ...listParameters(Pet)],
    },
  ],
};
