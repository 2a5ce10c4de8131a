import { newRules, patchRules } from '../../foundation/record.ts';
import { graphqlDialect } from '../../foundation/validation.ts';
import { builder } from '../../schema/builder.ts';
import { recordConnection } from '../../schema/connection.ts';
import { connectionOf } from '../../schema/connection-type.ts';
import { type Domain, deletionDescription, eventsOf } from '../../schema/domain.ts';
import { changed, exposed, filterOf, given } from '../../schema/fields.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { NODE_ID, NodeInterface, nodeType } from '../../schema/node.ts';
import { FINDER, sortArgument, sortEnum } from '../../schema/sort.ts';
import { creating, deleting, updating } from '../../schema/write.ts';
import { categories } from './category.routes.ts';
import { categorySample } from './category.sample.ts';
import { Category } from './category.ts';

const { fields } = Category;

export const CategoryType = builder.objectRef<Category>(Category.type).implement({
  interfaces: [NodeInterface],
  description: Category.description,
  fields: (t) => ({
    nodeId: t.id({ description: NODE_ID, resolve: nodeType(Category) }),
    id: t.exposeID('id', exposed(Category.id)),
    name: t.exposeString('name', exposed(fields.name)),
    description: t.exposeString('description', exposed(fields.description)),
  }),
});

const CategoryConnection = connectionOf(CategoryType);

const CategoryFilterInput = builder.inputType('CategoryFilter', {
  description: 'Selects categories.',
  fields: (t) => ({ name: t.string({ description: FINDER }) }),
});

const CategorySort = builder.enumType('CategorySort', sortEnum(Category));

const NewCategoryInput = builder.inputType('NewCategory', {
  description: 'Input for a new category.',
  ...checkedBy(newRules(Category, graphqlDialect)),
  fields: (t) => ({
    name: t.string(given(fields.name)),
    description: t.string(given(fields.description)),
  }),
});

const CategoryPatchInput = builder.inputType('CategoryPatch', {
  description: 'Changes to a category. Omitted fields stay as they are.',
  ...checkedBy(patchRules(Category, graphqlDialect)),
  fields: (t) => ({
    name: t.string(changed(fields.name)),
    description: t.string(changed(fields.description)),
  }),
});

builder.queryFields((t) => ({
  category: t.field({
    type: CategoryType,
    nullable: true,
    description: 'Looks up a category by id; null if there is none.',
    args: { id: t.arg.id({ required: true, description: 'The id of the category.' }) },
    resolve: (_root, { id }, { loaders }) => loaders.record(Category, id),
  }),
  categories: t.connection(
    {
      type: CategoryType,
      description: 'All categories, by default ordered by id.',
      args: {
        filter: t.arg({ type: CategoryFilterInput, description: 'Which categories to return.' }),
        sort: t.arg({ type: CategorySort, ...sortArgument(Category) }),
      },
      resolve: (_root, args, context) => recordConnection(Category, args, filterOf(args.filter), context),
    },
    CategoryConnection,
  ),
}));

builder.mutationFields((t) => ({
  createCategory: t.field({
    type: CategoryType,
    description: 'Creates a category.',
    args: { input: t.arg({ type: NewCategoryInput, required: true, description: 'The category.' }) },
    resolve: creating(Category),
  }),
  updateCategory: t.field({
    type: CategoryType,
    description: 'Updates a category.',
    args: {
      id: t.arg.id({ required: true, description: 'The id of the category.' }),
      input: t.arg({ type: CategoryPatchInput, required: true, description: 'The changes.' }),
    },
    resolve: updating(Category),
  }),
  deleteCategory: t.id({
    description: `Deletes a category and returns its id. ${deletionDescription(Category)}`,
    args: { id: t.arg.id({ required: true, description: 'The id of the category.' }) },
    resolve: deleting(Category),
  }),
}));

export const category: Domain = {
  record: Category,
  resource: categories,
  type: CategoryType,
  ...eventsOf(Category),
  sample: categorySample,
};
