import { builder } from '../../graphql/builder.ts';
import { connect } from '../../graphql/connection.ts';
import { RecordSource } from '../../graphql/loaders.ts';
import { NODE_ID, NodeInterface, nodeType } from '../../graphql/node.ts';
import { write } from '../../graphql/write.ts';
import type { Domain } from '../domain.ts';
import { graphqlDialect, MAX_NAME_LENGTH } from '../validation.ts';
import { categories } from './category.routes.ts';
import { categorySample } from './category.sample.ts';
import {
  type Category,
  type CategoryPatch,
  categoryPatch,
  MAX_DESCRIPTION_LENGTH,
  type NewCategory,
  newCategory,
} from './category.ts';

export const categorySource = new RecordSource<Category>(
  (store, ids) => store.categoriesById(ids),
  (store, id) => store.peekCategory?.(id),
);

export const CategoryType = builder.objectRef<Category>('Category').implement({
  interfaces: [NodeInterface],
  description: 'A kind of animals.',
  fields: (t) => ({
    nodeId: t.id({
      description: NODE_ID,
      resolve: nodeType('Category', (id, { loaders }) => loaders.record(categorySource, id)),
    }),
    id: t.exposeID('id', { description: 'Unique identifier, assigned on creation.' }),
    name: t.exposeString('name', {
      description: 'The category name, for example a kind of animal.',
      extensions: { maxLength: MAX_NAME_LENGTH },
    }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'A short description of the category.',
      extensions: { maxLength: MAX_DESCRIPTION_LENGTH },
    }),
  }),
});

const NewCategoryInput = builder.inputType('NewCategory', {
  description: 'A category to create.',
  validate: newCategory(graphqlDialect),
  fields: (t) => ({
    name: t.string({ required: true, description: 'The category name, 1 to 200 characters.' }),
    description: t.string({ description: 'A short description, at most 2,000 characters.' }),
  }),
});

const CategoryPatchInput = builder.inputType('CategoryPatch', {
  description: 'Changes to a category; fields that are left out stay as they are.',
  validate: categoryPatch(),
  fields: (t) => ({
    name: t.string({ description: 'The category name, 1 to 200 characters.' }),
    description: t.string({ description: 'A short description, at most 2,000 characters; null removes it.' }),
  }),
});

builder.queryFields((t) => ({
  category: t.field({
    type: CategoryType,
    nullable: true,
    description: 'One category; null if there is none.',
    args: { id: t.arg.id({ required: true, description: 'Id of the category.' }) },
    resolve: (_root, { id }, { loaders }) => loaders.record(categorySource, id),
  }),
  categories: t.connection({
    type: CategoryType,
    description: 'All categories, ordered by id.',
    resolve: (_root, args, { loaders, store }) =>
      connect<Category>(args, {
        idOf: (category) => category.id,
        // Spares their pets from loading them again.
        pageOf: (page) => loaders.prime(categorySource, loaders.store.categoryPage(page)),
        count: () => store.categoryCount(),
      }),
  }),
}));

builder.mutationFields((t) => ({
  createCategory: t.field({
    type: CategoryType,
    description: 'Adds a category.',
    args: { input: t.arg({ type: NewCategoryInput, required: true, description: 'The category.' }) },
    resolve: write((writes, { input }) => writes.createCategory(input as NewCategory)),
  }),
  updateCategory: t.field({
    type: CategoryType,
    description: 'Changes a category.',
    args: {
      id: t.arg.id({ required: true, description: 'Id of the category.' }),
      input: t.arg({ type: CategoryPatchInput, required: true, description: 'The changes.' }),
    },
    resolve: write((writes, { id, input }, { precondition }) =>
      writes.updateCategory(
        id,
        input as CategoryPatch,
        precondition && ((category) => precondition('Category', category)),
      ),
    ),
  }),
  deleteCategory: t.id({
    description: 'Deletes a category; refused while a pet is in it. Gives the id.',
    args: { id: t.arg.id({ required: true, description: 'Id of the category.' }) },
    resolve: write((writes, { id }, { precondition }) =>
      writes.deleteCategory(id, precondition && ((category) => precondition('Category', category))),
    ),
  }),
}));

export const category: Domain<Category, 'category'> = {
  resource: categories,
  type: CategoryType,
  source: categorySource,
  events: {
    'category.created': 'A category was added.',
    'category.updated': 'A category was changed.',
    'category.deleted': 'A category was deleted.',
  },
  eventField: {
    name: 'category',
    description: 'The category of a `category_…` event as it is now; null once it is deleted.',
  },
  sample: categorySample,
};
