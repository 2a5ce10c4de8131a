import { notFound } from '../../foundation/errors.ts';
import type { Id } from '../../foundation/id.ts';
import { andThen } from '../../foundation/maybe-promise.ts';
import { graphqlDialect, MAX_NAME_LENGTH } from '../../foundation/validation.ts';
import { builder } from '../../schema/builder.ts';
import { type ConnectionArguments, connect, emptySource } from '../../schema/connection.ts';
import type { Context } from '../../schema/context.ts';
import type { Domain } from '../../schema/domain.ts';
import { ChildSource, RecordSource } from '../../schema/loaders.ts';
import { NODE_ID, NodeInterface, nodeType } from '../../schema/node.ts';
import { write } from '../../schema/write.ts';
import type { PageRequest } from '../../store/store.ts';
import { CategoryType, categorySource } from '../category/category.type.ts';
import { pets } from './pet.routes.ts';
import { petSample } from './pet.sample.ts';
import { type NewPet, newPet, PET_STATUSES, type Pet, type PetFilter, petPatch } from './pet.ts';

const STATUS_DESCRIPTIONS = {
  available: 'Can be ordered.',
  pending: 'Reserved.',
  sold: 'Sold to a new owner.',
};

export const PetStatusType = builder.enumType('PetStatus', {
  description: 'The status of a pet.',
  values: Object.fromEntries(
    PET_STATUSES.map((status) => [status, { value: status, description: STATUS_DESCRIPTIONS[status] }]),
  ) as Record<(typeof PET_STATUSES)[number], { value: (typeof PET_STATUSES)[number]; description: string }>,
});

export const petSource = new RecordSource<Pet>(
  (store, ids) => store.petsById(ids),
  (store, id) => store.peekPet?.(id),
);
const pagesByCategory = new ChildSource((store, ids, filter: PetFilter, page: PageRequest) =>
  store.petPagesByCategory(ids, filter, page),
);
const countsByCategory = new ChildSource((store, ids, filter: PetFilter) =>
  store.petCountsByCategory(ids, filter),
);

/** A category in use cannot be deleted, but the pet may come from an earlier read or a replayed call. */
const gone = (id: Id): never => {
  throw notFound('category', id);
};

export const PetType = builder.objectRef<Pet>('Pet').implement({
  interfaces: [NodeInterface],
  description: 'An animal in the store.',
  fields: (t) => ({
    nodeId: t.id({
      description: NODE_ID,
      resolve: nodeType('Pet', (id, { loaders }) => loaders.record(petSource, id)),
    }),
    id: t.exposeID('id', { description: 'Unique identifier, assigned on creation.' }),
    name: t.exposeString('name', {
      description: "The animal's name.",
      extensions: { maxLength: MAX_NAME_LENGTH },
    }),
    status: t.expose('status', { type: PetStatusType, description: 'Status of the pet.' }),
    categoryId: t.exposeID('categoryId', { description: 'The id of the category the animal belongs to.' }),
    category: t.field({
      type: CategoryType,
      description: 'The category the animal belongs to.',
      resolve: (pet, _args, { loaders }) =>
        andThen(
          loaders.record(categorySource, pet.categoryId),
          (category) => category ?? gone(pet.categoryId),
        ),
    }),
  }),
});

const PetFilterInput = builder.inputRef<PetFilterShape>('PetFilter').implement({
  description: 'Selects pets that match all given conditions.',
  fields: (t) => ({
    status: t.field({ type: [PetStatusType], description: 'Pets with any of these statuses.' }),
    categoryId: t.id({ description: 'Pets in this category.' }),
  }),
});

interface PetFilterShape {
  status?: Pet['status'][] | null | undefined;
  categoryId?: string | null | undefined;
}

function petFilter(filter: PetFilterShape | null | undefined): PetFilter {
  const wanted: PetFilter = {};
  const status = filter?.status;
  // Deduplicated and in a fixed order, so that thousands of values become at most three and equal filters
  // share one count.
  if (status != null) wanted.status = PET_STATUSES.filter((one) => status.includes(one));
  if (filter?.categoryId != null) wanted.categoryId = filter.categoryId;
  return wanted;
}

const NewPetInput = builder.inputType('NewPet', {
  description: 'Input for a new pet.',
  validate: newPet(graphqlDialect),
  fields: (t) => ({
    name: t.string({ required: true, description: "The animal's name, 1 to 200 characters." }),
    categoryId: t.id({ required: true, description: 'The id of the category the animal belongs to.' }),
    status: t.field({ type: PetStatusType, description: 'Status of the pet; defaults to available.' }),
  }),
});

const PetPatchInput = builder.inputType('PetPatch', {
  description: 'Changes to a pet. Omitted fields stay as they are.',
  validate: petPatch(graphqlDialect),
  fields: (t) => ({
    name: t.string({ description: "The animal's name, 1 to 200 characters." }),
    categoryId: t.id({ description: 'The id of the category the animal belongs to.' }),
    status: t.field({ type: PetStatusType, description: 'Status of the pet.' }),
  }),
});

/** The pets of the store as a connection. */
export function petConnection(args: ConnectionArguments, filter: PetFilter, { loaders }: Context) {
  return connect<Pet>(args, {
    idOf: (pet) => pet.id,
    pageOf: (page) => loaders.store.petPage(filter, page),
    count: () => loaders.store.petCount(filter),
  });
}

builder.objectField(CategoryType, 'pets', (t) =>
  t.connection({
    type: PetType,
    description: 'The pets of this category, ordered by id.',
    args: { filter: t.arg({ type: PetFilterInput, description: 'Which pets to return.' }) },
    resolve: (category, args, { loaders }) => {
      const { categoryId = category.id, ...filter } = petFilter(args.filter);
      // Otherwise a hundred aliases could count a hundred other categories.
      if (categoryId !== category.id) return connect<Pet>(args, emptySource());
      return connect<Pet>(args, {
        idOf: (pet) => pet.id,
        pageOf: (page) => loaders.forParent(pagesByCategory, category.id, filter, page),
        count: () => loaders.forParent(countsByCategory, category.id, filter),
      });
    },
  }),
);

builder.queryFields((t) => ({
  pet: t.field({
    type: PetType,
    nullable: true,
    description: 'Looks up a pet by id; null if there is none.',
    args: { id: t.arg.id({ required: true, description: 'The id of the pet.' }) },
    resolve: (_root, { id }, { loaders }) => loaders.record(petSource, id),
  }),
  pets: t.connection({
    type: PetType,
    description: 'All pets, ordered by id.',
    args: { filter: t.arg({ type: PetFilterInput, description: 'Which pets to return.' }) },
    resolve: (_root, args, context) => petConnection(args, petFilter(args.filter), context),
  }),
}));

builder.mutationFields((t) => ({
  createPet: t.field({
    type: PetType,
    description: 'Creates a pet. Its stock is 0 until it is set.',
    args: { input: t.arg({ type: NewPetInput, required: true, description: 'The pet.' }) },
    resolve: write((writes, { input }) => writes.createPet(input as NewPet)),
  }),
  updatePet: t.field({
    type: PetType,
    description: 'Updates a pet.',
    args: {
      id: t.arg.id({ required: true, description: 'The id of the pet.' }),
      input: t.arg({ type: PetPatchInput, required: true, description: 'The changes.' }),
    },
    resolve: write((writes, { id, input }, { precondition }) =>
      writes.updatePet(
        id,
        // The rules refuse null for these fields.
        input as { name?: string; categoryId?: string; status?: Pet['status'] },
        precondition && ((pet) => precondition('Pet', pet)),
      ),
    ),
  }),
  deletePet: t.id({
    description:
      'Deletes a pet and its stock, and returns its id. Refused while an incomplete order refers to the pet.',
    args: { id: t.arg.id({ required: true, description: 'The id of the pet.' }) },
    resolve: write((writes, { id }, { precondition }) =>
      writes.deletePet(id, precondition && ((pet) => precondition('Pet', pet))),
    ),
  }),
}));

export const pet: Domain<Pet, 'pet'> = {
  resource: pets,
  type: PetType,
  source: petSource,
  events: {
    'pet.created': 'A pet was created.',
    'pet.updated': 'A pet was updated, apart from its stock.',
    'pet.deleted': 'A pet was deleted together with its stock.',
  },
  eventField: {
    name: 'pet',
    description: 'For `pet_…` events: the pet in its current state; null if it has been deleted.',
  },
  sample: petSample,
};
