import { newRules, patchRules } from '../../foundation/record.ts';
import { restDialect } from '../../foundation/validation.ts';
import { listParameters } from '../../schema/parameter.ts';
import type { Resource } from '../../schema/route.ts';
import { pageOf, selectionOf, shapeOf } from '../../schema/shape.ts';
import { Category } from './category.ts';

const shape = shapeOf(Category);

const updateCategory = `mutation updateCategory($categoryId: ID!, $input: CategoryPatch!) {
  result: updateCategory(id: $categoryId, input: $input) ${selectionOf(shape)}
}`;

const common = { tag: 'Pets', kind: 'category', stability: 'stable' } as const;
const one = { ...common, path: '/categories/{categoryId}', pathParameter: 'categoryId' } as const;

export const categories: Resource = {
  scope: 'categories',
  shape,
  routes: [
    {
      ...common,
      operationId: 'listCategories',
      method: 'GET',
      path: '/categories',
      summary: 'List categories',
      document: `query listCategories($name: String, $sort: CategorySort, $limit: Int, $after: String) {
        page: categories(filter: { name: $name }, sort: $sort, first: $limit, after: $after) ${pageOf(shape)}
      }`,
      status: 200,
      shape,
      list: 'pages',
      query: listParameters(Category),
    },
    {
      ...common,
      operationId: 'createCategory',
      method: 'POST',
      path: '/categories',
      summary: 'Create a category',
      document: `mutation createCategory($input: NewCategory!) {
        result: createCategory(input: $input) ${selectionOf(shape)}
      }`,
      status: 201,
      shape,
      body: { name: 'NewCategory', rules: newRules(Category, restDialect) },
    },
    {
      ...one,
      operationId: 'getCategory',
      method: 'GET',
      summary: 'Get a category',
      document: `query getCategory($categoryId: ID!) {
        result: category(id: $categoryId) ${selectionOf(shape)}
      }`,
      status: 200,
      shape,
    },
    {
      ...one,
      operationId: 'replaceCategory',
      method: 'PUT',
      summary: 'Replace a category',
      document: updateCategory,
      status: 200,
      shape,
      body: {
        name: 'NewCategory',
        rules: newRules(Category, restDialect),
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
      shape,
      body: {
        name: 'CategoryPatch',
        rules: patchRules(Category, restDialect),
        example: { description: null },
      },
    },
    {
      ...one,
      operationId: 'deleteCategory',
      method: 'DELETE',
      summary: 'Delete a category',
      document: 'mutation deleteCategory($categoryId: ID!) { deleted: deleteCategory(id: $categoryId) }',
      status: 204,
    },
  ],
};
