import { restDialect } from '../../foundation/validation.ts';
import { idParameter, PAGE_PARAMETERS, type QueryParameter } from '../../schema/parameter.ts';
import type { Resource } from '../../schema/route.ts';
import { id, pageOf, type Shape, schemaRef, selectionOf, trimmedText } from '../../schema/shape.ts';
import { newPet, PET_STATUSES, petPatch } from './pet.ts';

const Pet: Shape = {
  type: 'Pet',
  name: 'Pet',
  listName: 'Pets',
  description: 'An animal in the store.',
  idField: 'id',
  fields: {
    id: id('Unique identifier assigned on creation'),
    name: trimmedText(200, "The animal's name"),
    categoryId: id('ID of the category the animal belongs to'),
    status: schemaRef('PetStatus', 'Status of the pet'),
  },
  example: { id: 1, name: 'Rex', categoryId: 1, status: 'available' },
};

const statuses: readonly string[] = PET_STATUSES;

/** Filters lists of pets by status. */
export const petStatusParameter: QueryParameter = {
  name: 'status',
  description: 'Only pets with this status. May be repeated.',
  repeatable: true,
  schema: { $ref: '#/components/schemas/PetStatus' },
  rule: `must be one of ${statuses.join(', ')}`,
  read: (text) => (statuses.includes(text) ? text : undefined),
};

const updatePet = `mutation updatePet($petId: ID!, $input: PetPatch!) {
  result: updatePet(id: $petId, input: $input) ${selectionOf(Pet)}
}`;

const common = { tag: 'Pets', kind: 'pet', stability: 'stable' } as const;
const one = { ...common, path: '/pets/{petId}', pathParameter: 'petId' } as const;

export const pets: Resource = {
  scope: 'pets',
  shape: Pet,
  tags: { Pets: 'Pets and the categories they belong to.' },
  schemas: {
    PetStatus: {
      type: 'string',
      enum: [...PET_STATUSES],
      description: 'Status of a pet.',
      example: 'available',
    },
  },
  routes: [
    {
      ...common,
      operationId: 'listPets',
      method: 'GET',
      path: '/pets',
      summary: 'List pets',
      document: `query listPets($status: [PetStatus!], $categoryId: ID, $limit: Int, $after: String) {
        page: pets(filter: { status: $status, categoryId: $categoryId }, first: $limit, after: $after) ${pageOf(Pet)}
      }`,
      status: 200,
      shape: Pet,
      list: true,
      query: [
        petStatusParameter,
        idParameter('categoryId', 'Only pets in this category.'),
        ...PAGE_PARAMETERS,
      ],
    },
    {
      ...common,
      operationId: 'createPet',
      method: 'POST',
      path: '/pets',
      summary: 'Create a pet',
      description: 'The stock of the pet is 0 until it is set.',
      document: `mutation createPet($input: NewPet!) { result: createPet(input: $input) ${selectionOf(Pet)} }`,
      status: 201,
      shape: Pet,
      body: { name: 'NewPet', rules: newPet(restDialect) },
      errors: ['UNKNOWN_REFERENCE'],
    },
    {
      ...one,
      operationId: 'getPet',
      method: 'GET',
      summary: 'Get a pet',
      document: `query getPet($petId: ID!) {
        result: pet(id: $petId) ${selectionOf(Pet)}
      }`,
      status: 200,
      shape: Pet,
      deprecation: { replacement: '`pet(id:)` of the GraphQL API', successor: '/graphql' },
    },
    {
      ...one,
      operationId: 'replacePet',
      method: 'PUT',
      summary: 'Replace a pet',
      document: updatePet,
      status: 200,
      shape: Pet,
      body: { name: 'NewPet', rules: newPet(restDialect), ownId: 'id' },
      errors: ['UNKNOWN_REFERENCE'],
    },
    {
      ...one,
      operationId: 'updatePet',
      method: 'PATCH',
      stability: 'beta',
      summary: 'Update a pet',
      document: updatePet,
      status: 200,
      shape: Pet,
      body: { name: 'PetPatch', rules: petPatch(restDialect), ownId: 'id', example: { status: 'sold' } },
      errors: ['UNKNOWN_REFERENCE'],
    },
    {
      ...one,
      operationId: 'deletePet',
      method: 'DELETE',
      summary: 'Delete a pet',
      description: 'Refused while an incomplete order refers to the pet.',
      document: 'mutation deletePet($petId: ID!) { deleted: deletePet(id: $petId) }',
      status: 204,
      errors: ['CONFLICT'],
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
      document: `query listPetsOfCategory($categoryId: ID!, $status: [PetStatus!], $limit: Int, $after: String) {
        parent: category(id: $categoryId) {
          page: pets(filter: { status: $status }, first: $limit, after: $after) ${pageOf(Pet)}
        }
      }`,
      status: 200,
      shape: Pet,
      list: true,
      query: [petStatusParameter, ...PAGE_PARAMETERS],
    },
  ],
};
