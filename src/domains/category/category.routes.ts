import { listParameters } from '../../rows/parameter.ts';
import { recordRoutes } from '../../rows/record-routes.ts';
import type { Resource } from '../../rows/route.ts';
import { shapeOf } from '../../rows/shape.ts';
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
