import type { JsonSchema } from '../foundation/fields.ts';
import { MAX_INT32 } from '../foundation/id.ts';
import type { ShapeField } from './shape.ts';

/** Fields of REST bodies whose values are no records of a store. */
const field = (kind: ShapeField['kind'], description: string, schema: JsonSchema) => ({
  kind,
  required: true as const,
  description,
  schema,
});

type Required = ShapeField & { required: true };

/** Text of at most `max` characters. @param more what else its schema says */
export const text = (max: number, description: string, more: JsonSchema = {}): Required =>
  field('string', description, { type: 'string', maxLength: max, ...more });

/** One of these values. */
export const choice = (values: readonly string[], description: string): Required =>
  field('string', description, { type: 'string', enum: values });

/** True or false. */
export const flag = (description: string): Required => field('boolean', description, { type: 'boolean' });

/** A list of at most `max` short texts. */
export const texts = (max: number, description: string): Required =>
  field('strings', description, { type: 'array', maxItems: max, items: { type: 'string', maxLength: 100 } });

/** An instant, as an RFC 3339 date-time. */
export const instant = (description: string): Required =>
  field('string', description, { type: 'string', format: 'date-time' });

/** A day in UTC, as an RFC 3339 full-date. */
export const date = (description: string): Required =>
  field('string', description, { type: 'string', format: 'date' });

/** A number of things. */
export const count = (description: string, maximum = MAX_INT32): Required =>
  field('int32', description, { type: 'integer', format: 'int32', minimum: 0, maximum });

/** A value of a named schema, which the resource declares. */
export const schemaRef = (name: string, description: string): Required =>
  field('string', description, { $ref: `#/components/schemas/${name}` });

/** The same field, but optional. */
export const optional = (given: ShapeField) => ({ ...given, required: false as const });
