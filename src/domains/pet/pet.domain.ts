import { recordDomain } from '../record-domain.ts';
import { filterParameter, listParameters } from '../../rest-routes/parameter.ts';
import { listQuery } from '../../rest-routes/record-routes.ts';
import { Pet } from './pet.ts';

const OF_STATUS = 'Only pets with this status.';
/** The parameters of the pets in a category. */
const query = [filterParameter(Pet, 'status', OF_STATUS), ...listParameters(Pet, { below: 'categoryId' })];

export const pet = recordDomain(Pet, {
  tag: 'Pets',
  tags: { Pets: 'Pets and the categories they belong to.' },
  example: { status: 'sold' },
  descriptions: {
    'Pet.category': 'The category the animal belongs to.',
    'PetFilter.status': 'Pets with any of these statuses.',
    'PetFilter.categoryId': 'Pets in this category.',
    '?status': OF_STATUS,
    '?categoryId': 'Only pets in this category.',
    'Mutation.createPet': 'Creates a pet. Its stock is 0 until it is set.',
    'Mutation.deletePet': 'Deletes a pet and its stock, and returns its id.',
    'pet.updated': 'A pet was updated, apart from its stock.',
    'pet.deleted': 'A pet was deleted together with its stock.',
  },
  routes(rows, shape) {
    const { variables, page } = listQuery('pets', shape, query);
    return [
      rows.list,
      rows.counts!,
      { ...rows.create, description: 'The stock of the pet is 0 until it is set.' },
      {
        ...rows.get,
        deprecation: { replacement: '`pet(id:)` of the GraphQL API', successor: '/graphql' },
      },
      rows.replace,
      rows.update,
      rows.delete,
      {
        ...rows.list,
        kind: 'category',
        stability: 'experimental',
        operationId: 'listPetsOfCategory',
        path: '/categories/{categoryId}/pets',
        pathParameter: 'categoryId',
        summary: 'List the pets in a category',
        document: `query listPetsOfCategory($categoryId: ID!, ${variables}) {
          parent: category(id: $categoryId) { ${page} }
        }`,
        query,
      },
    ];
  },
  sample: [
    { name: 'Rex', categoryId: 0, status: 'available', quantity: 3 },
    { name: 'Bella', categoryId: 0, status: 'pending', quantity: 1 },
    { name: 'Charlie', categoryId: 0, status: 'sold', quantity: 0 },
    { name: 'Mimi', categoryId: 1, status: 'available', quantity: 2 },
    { name: 'Tom', categoryId: 1, status: 'available', quantity: 5 },
    { name: 'Luna', categoryId: 1, status: 'sold', quantity: 0 },
    { name: 'Tweety', categoryId: 2, status: 'available', quantity: 12 },
    { name: 'Kiwi', categoryId: 2, status: 'pending', quantity: 4 },
    { name: 'Nemo', categoryId: 3, status: 'available', quantity: 40 },
    { name: 'Dory', categoryId: 3, status: 'available', quantity: 25 },
  ],
});
