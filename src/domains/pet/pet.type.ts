import { builder } from '../../kit/builder.ts';
import { type Domain, eventsOf, type SampleOf } from '../../kit/domain.ts';
import { enumOf, exposed } from '../../kit/fields.ts';
import { finder, sortEnum } from '../../kit/list-arguments.ts';
import { NODE_ID, NodeInterface, nodeType } from '../../kit/node.ts';
import {
  childList,
  connectionOf,
  creation,
  deletion,
  inputsOf,
  list,
  lookup,
  parent,
  update,
} from '../../kit/record-fields.ts';
import { Category } from '../category/category.ts';
import { CategoryType } from '../category/category.type.ts';
import { pets } from './pet.routes.ts';
import { Pet, PetStatus } from './pet.ts';

const { fields } = Pet;

export const PetStatusType = builder.enumType(PetStatus.name, enumOf(PetStatus));

export const PetType = builder.objectRef<Pet>(Pet.type).implement({
  interfaces: [NodeInterface],
  description: Pet.description,
  fields: (t) => ({
    nodeId: t.id({ description: NODE_ID, resolve: nodeType(Pet) }),
    id: t.exposeID('id', exposed(Pet.id)),
    name: t.exposeString('name', exposed(fields.name)),
    status: t.expose('status', { type: PetStatusType, ...exposed(fields.status) }),
    categoryId: t.exposeID('categoryId', exposed(fields.categoryId)),
    category: t.field(
      parent(Pet, 'categoryId', Category, CategoryType, 'The category the animal belongs to.'),
    ),
  }),
});

export const PetConnection = connectionOf(PetType);

const PetFilterInput = builder.inputType('PetFilter', {
  description: 'Selects pets that match all given conditions.',
  fields: (t) => ({
    status: t.field({ type: [PetStatusType], description: 'Pets with any of these statuses.' }),
    categoryId: t.id({ description: 'Pets in this category.' }),
    name: t.string(finder(Pet, 'name')),
  }),
});

export const PetSort = builder.enumType('PetSort', sortEnum(Pet));

const inputs = inputsOf(Pet, (t, options) => ({
  name: t.string(options(fields.name)),
  categoryId: t.id(options(fields.categoryId)),
  status: t.field({ type: PetStatusType, ...options(fields.status) }),
}));

const lists = { filter: PetFilterInput, sort: PetSort };
const ofCategory = { ...lists, description: 'The pets of this category, by default ordered by id.' };

builder.objectField(CategoryType, 'pets', (t) =>
  t.connection(childList(Pet, PetType, 'categoryId', ofCategory), PetConnection),
);

builder.queryFields((t) => ({
  pet: t.field(lookup(Pet, PetType)),
  pets: t.connection(list(Pet, PetType, lists), PetConnection),
}));

builder.mutationFields((t) => ({
  createPet: t.field(creation(Pet, PetType, inputs.created, ' Its stock is 0 until it is set.')),
  updatePet: t.field(update(Pet, PetType, inputs.changes)),
  deletePet: t.id(deletion(Pet, 'a pet and its stock,')),
}));

export const pet: Domain = {
  record: Pet,
  resource: pets,
  type: PetType,
  ...eventsOf(Pet, { updated: ', apart from its stock', deleted: ' together with its stock' }),
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
  ] satisfies SampleOf<typeof Pet>,
};
