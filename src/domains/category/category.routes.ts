import { restDialect } from '../../foundation/validation.ts';
import { PAGE_PARAMETERS } from '../../schema/parameter.ts';
import type { Resource } from '../../schema/route.ts';
import { id, optional, pageOf, type Shape, selectionOf, text, trimmedText } from '../../schema/shape.ts';
import { categoryPatch, newCategory } from './category.ts';

const Category: Shape = {
  type: 'Category',
  name: 'Category',
  listName: 'Categories',
  description: 'A kind of animal.',
  idField: 'id',
  fields: {
    id: id('Unique identifier assigned on creation'),
    name: trimmedText(200, 'The category name (for example a kind of animal)'),
    description: optional(text(2000, 'A short description of the category')),
  },
  example: { id: 1, name: 'Dogs', description: 'Loyal, loud and always hungry' },
};

const updateCategory = `mutation updateCategory($categoryId: ID!, $input: CategoryPatch!) {
  result: updateCategory(id: $categoryId, input: $input) ${selectionOf(Category)}
}`;

const common = { tag: 'Pets', kind: 'category', stability: 'stable' } as const;
const one = { ...common, path: '/categories/{categoryId}', pathParameter: 'categoryId' } as const;

/** PUT replaces the category: a missing description is removed. */
const replacement = (category: { name: string; description?: string }) => ({
  name: category.name,
  description: category.description ?? null,
});

export const categories: Resource = {
  scope: 'categories',
  shape: Category,
  routes: [
    {
      ...common,
      operationId: 'listCategories',
      method: 'GET',
      path: '/categories',
      summary: 'List categories',
      document: `query listCategories($limit: Int, $after: String) {
        page: categories(first: $limit, after: $after) ${pageOf(Category)}
      }`,
      status: 200,
      shape: Category,
      list: true,
      query: PAGE_PARAMETERS,
    },
    {
      ...common,
      operationId: 'createCategory',
      method: 'POST',
      path: '/categories',
      summary: 'Create a category',
      document: `mutation createCategory($input: NewCategory!) {
        result: createCategory(input: $input) ${selectionOf(Category)}
      }`,
      status: 201,
      shape: Category,
      body: { name: 'NewCategory', rules: newCategory(restDialect) },
    },
    {
      ...one,
      operationId: 'getCategory',
      method: 'GET',
      summary: 'Get a category',
      document: `query getCategory($categoryId: ID!) {
        result: category(id: $categoryId) ${selectionOf(Category)}
      }`,
      status: 200,
      shape: Category,
    },
    {
      ...one,
      operationId: 'replaceCategory',
      method: 'PUT',
      summary: 'Replace a category',
      document: updateCategory,
      status: 200,
      shape: Category,
      body: {
        name: 'NewCategory',
        rules: newCategory(restDialect),
        toInput: replacement,
        ownId: 'id',
      },
    },
    {
      ...one,
      operationId: 'updateCategory',
      method: 'PATCH',
      stability: 'beta',
      summary: 'Update a category',
      document: updateCategory,
      status: 200,
      shape: Category,
      body: { name: 'CategoryPatch', rules: categoryPatch(), ownId: 'id', example: { description: null } },
    },
    {
      ...one,
      operationId: 'deleteCategory',
      method: 'DELETE',
      summary: 'Delete a category',
      description: 'Refused while the category has pets.',
      document: 'mutation deleteCategory($categoryId: ID!) { deleted: deleteCategory(id: $categoryId) }',
      status: 204,
      errors: ['CONFLICT'],
    },
  ],
};
