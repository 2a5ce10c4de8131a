import { listParameters } from '../../schema/parameter.ts';
import { recordRoutes } from '../../schema/record-routes.ts';
import type { Resource } from '../../schema/route.ts';
import { shapeOf } from '../../schema/shape.ts';
import { Category } from './category.ts';

const shape = shapeOf(Category);

export const categories: Resource = {
  scope: 'categories',
  shape,
  routes: Object.values(
    recordRoutes(Category, shape, {
      tag: 'Pets',
      query: listParameters(Category),
      example: { description: null },
    }),
  ),
};
