import { newRules, patchRules } from '../../foundation/record.ts';
import { graphqlDialect } from '../../foundation/validation.ts';
import { builder } from '../../schema/builder.ts';
import { type Domain, eventsOf } from '../../schema/domain.ts';
import { changed, exposed, given } from '../../schema/fields.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { NODE_ID, NodeInterface, nodeType } from '../../schema/node.ts';
import { connectionOf, creation, deletion, list, lookup, update } from '../../schema/record-fields.ts';
import { finder, sortEnum } from '../../schema/sort.ts';
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
  fields: (t) => ({ name: t.string(finder('name')) }),
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
  category: t.field(lookup(Category, CategoryType)),
  categories: t.connection(
    list(Category, CategoryType, { filter: CategoryFilterInput, sort: CategorySort }),
    CategoryConnection,
  ),
}));

builder.mutationFields((t) => ({
  createCategory: t.field(creation(Category, CategoryType, NewCategoryInput)),
  updateCategory: t.field(update(Category, CategoryType, CategoryPatchInput)),
  deleteCategory: t.id(deletion(Category)),
}));

export const category: Domain = {
  record: Category,
  resource: categories,
  type: CategoryType,
  ...eventsOf(Category),
  sample: categorySample,
};
