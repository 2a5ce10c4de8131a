import { filterParameter, listParameters } from '../../rows/parameter.ts';
import { listSelection, recordRoutes } from '../../rows/record-routes.ts';
import type { Resource } from '../../rows/route.ts';
import { choicesSchema, shapeOf } from '../../rows/shape.ts';
import { Pet, PetStatus } from './pet.ts';

const shape = shapeOf(Pet);

/** Filters lists of pets by status. */
export const petStatusParameter = filterParameter(Pet, 'status', 'Only pets with this status.');

const routes = recordRoutes(Pet, shape, {
  tag: 'Pets',
  query: [
    petStatusParameter,
    filterParameter(Pet, 'categoryId', 'Only pets in this category.'),
    ...listParameters(Pet),
  ],
  example: { status: 'sold' },
});

const queryOfCategory = [petStatusParameter, ...listParameters(Pet, { below: 'categoryId' })];
const ofCategory = listSelection('pets', shape, queryOfCategory);

export const pets: Resource = {
  scope: 'pets',
  shape,
  tags: { Pets: 'Pets and the categories they belong to.' },
  schemas: { PetStatus: choicesSchema(PetStatus) },
  routes: [
    routes.list,
    { ...routes.create, description: 'The stock of the pet is 0 until it is set.' },
    {
      ...routes.get,
      deprecation: { replacement: '`pet(id:)` of the GraphQL API', successor: '/graphql' },
    },
    routes.replace,
    routes.update,
    routes.delete,
    {
      ...routes.list,
      kind: 'category',
      stability: 'experimental',
      operationId: 'listPetsOfCategory',
      path: '/categories/{categoryId}/pets',
      pathParameter: 'categoryId',
      summary: 'List the pets in a category',
      document: `query listPetsOfCategory($categoryId: ID!, ${ofCategory.variables}) {
        parent: category(id: $categoryId) { ${ofCategory.page} }
      }`,
      query: queryOfCategory,
    },
  ],
};
