import { type GraphQLSchema, isObjectType } from 'graphql';
import {
  CostModel,
  ENTRIES_PER_UNIT,
  MAX_COST,
  SUBSCRIPTION_ROWS,
  WEIGHT_PER_UNIT,
} from '../../execution/cost.ts';
import { DEFAULT_PAGE_SIZE } from '../../schema/connection.ts';
import type { Pricing } from './price.ts';

/** What GraphiQL needs to explain the cost of an operation. */
export function pricingOf(schema: GraphQLSchema): Pricing {
  const model = new CostModel(schema);
  const weights: Record<string, number> = {};
  const free: string[] = [];
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      const weight = model.weightOf(field);
      if (weight !== 1) weights[`${type.name}.${field.name}`] = weight;
      if (field.extensions.free) free.push(`${type.name}.${field.name}`);
    }
  }
  return {
    maxCost: MAX_COST,
    entriesPerUnit: ENTRIES_PER_UNIT,
    weightPerUnit: WEIGHT_PER_UNIT,
    subscriptionRows: SUBSCRIPTION_ROWS,
    defaultPageSize: DEFAULT_PAGE_SIZE,
    weights,
    free,
  };
}
