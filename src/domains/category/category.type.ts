import { builder } from '../../kit/builder.ts';
import { type Domain, eventsOf, type SampleOf } from '../../kit/domain.ts';
import { exposed } from '../../kit/fields.ts';
import { finder, sortEnum } from '../../kit/list-arguments.ts';
import { NODE_ID, NodeInterface, nodeType } from '../../kit/node.ts';
import { connectionOf, creation, deletion, inputsOf, list, lookup, update } from '../../kit/record-fields.ts';
import { categories } from './category.routes.ts';
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
  fields: (t) => ({ name: t.string(finder(Category, 'name')) }),
});

const CategorySort = builder.enumType('CategorySort', sortEnum(Category));

const inputs = inputsOf(Category, (t, options) => ({
  name: t.string(options(fields.name)),
  description: t.string(options(fields.description)),
}));

builder.queryFields((t) => ({
  category: t.field(lookup(Category, CategoryType)),
  categories: t.connection(
    list(Category, CategoryType, { filter: CategoryFilterInput, sort: CategorySort }),
    CategoryConnection,
  ),
}));

builder.mutationFields((t) => ({
  createCategory: t.field(creation(Category, CategoryType, inputs.created)),
  updateCategory: t.field(update(Category, CategoryType, inputs.changes)),
  deleteCategory: t.id(deletion(Category)),
}));

export const category: Domain = {
  record: Category,
  resource: categories,
  type: CategoryType,
  ...eventsOf(Category),
  sample: [
    { name: 'Dogs', description: 'Loyal, loud and always hungry' },
    { name: 'Cats', description: 'They let you live with them' },
    { name: 'Birds' },
    { name: 'Fish', description: 'Quiet company for small flats' },
  ] satisfies SampleOf<typeof Category>,
};
