import { graphqlDialect, MAX_NAME_LENGTH } from '../../foundation/validation.ts';
import { builder } from '../../schema/builder.ts';
import { connect } from '../../schema/connection.ts';
import type { Domain } from '../../schema/domain.ts';
import { RecordSource } from '../../schema/loaders.ts';
import { NODE_ID, NodeInterface, nodeType } from '../../schema/node.ts';
import { write } from '../../schema/write.ts';
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
  description: 'A kind of animal.',
  fields: (t) => ({
    nodeId: t.id({
      description: NODE_ID,
      resolve: nodeType('Category', (id, { loaders }) => loaders.record(categorySource, id)),
    }),
    id: t.exposeID('id', { description: 'Unique identifier, assigned on creation.' }),
    name: t.exposeString('name', {
      description: 'The category name (for example a kind of animal).',
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
  description: 'Input for a new category.',
  validate: newCategory(graphqlDialect),
  fields: (t) => ({
    name: t.string({ required: true, description: 'The category name, 1 to 200 characters.' }),
    description: t.string({ description: 'A short description, at most 2,000 characters.' }),
  }),
});

const CategoryPatchInput = builder.inputType('CategoryPatch', {
  description: 'Changes to a category. Omitted fields stay as they are.',
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
    description: 'Looks up a category by id; null if there is none.',
    args: { id: t.arg.id({ required: true, description: 'The id of the category.' }) },
    resolve: (_root, { id }, { loaders }) => loaders.record(categorySource, id),
  }),
  categories: t.connection({
    type: CategoryType,
    description: 'All categories, ordered by id.',
    resolve: (_root, args, { loaders }) =>
      connect<Category>(args, {
        idOf: (category) => category.id,
        // Spares their pets from loading them again.
        pageOf: (page) => loaders.prime(categorySource, loaders.store.categoryPage(page)),
        count: () => loaders.store.categoryCount(),
      }),
  }),
}));

builder.mutationFields((t) => ({
  createCategory: t.field({
    type: CategoryType,
    description: 'Creates a category.',
    args: { input: t.arg({ type: NewCategoryInput, required: true, description: 'The category.' }) },
    resolve: write((writes, { input }) => writes.createCategory(input as NewCategory)),
  }),
  updateCategory: t.field({
    type: CategoryType,
    description: 'Updates a category.',
    args: {
      id: t.arg.id({ required: true, description: 'The id of the category.' }),
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
    description: 'Deletes a category and returns its id. Refused while the category has pets.',
    args: { id: t.arg.id({ required: true, description: 'The id of the category.' }) },
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
    'category.created': 'A category was created.',
    'category.updated': 'A category was updated.',
    'category.deleted': 'A category was deleted.',
  },
  eventField: {
    name: 'category',
    description: 'For `category_…` events: the category in its current state; null if it has been deleted.',
  },
  sample: categorySample,
};
