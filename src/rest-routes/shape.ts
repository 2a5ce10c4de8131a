import type { z } from 'zod';
import type { Choices, Computed, FieldKind, JsonSchema } from '../foundation/fields.ts';
import { inputFields } from '../foundation/record-input.ts';
import type { AnyDeclaration, Fields } from '../foundation/record.ts';
import { restDialect } from '../foundation/validation.ts';
import { capitalised } from '../foundation/words.ts';

/**
 * The form of a value in JSON: int64 as digits, other numbers and booleans as they are, records by their own shape,
 * lists of strings as lists, milliseconds as instants, everything else quoted.
 */
type JsonKind = 'int64' | 'int32' | 'boolean' | 'record' | 'string' | 'strings' | 'instant';

/** A field of a REST body. */
export interface ShapeField {
  kind: JsonKind;
  /** True if every stored record has the field. */
  required: boolean;
  description: string;
  /** The schema of stored values. */
  schema: JsonSchema;
  /** The schema of accepted input, if that is wider. */
  inputSchema?: JsonSchema | undefined;
  /** Creates the rule for bodies that repeat the field. */
  rule?: () => z.ZodType;
  /** The property of the stored record, if named differently. */
  property?: string;
  /** Computes the value from the stored record. A body may repeat the field with any value. */
  compute?: Computed['compute'] | undefined;
  choices?: Choices | undefined;
  /** True if GET never shows it. */
  isSecret?: boolean | undefined;
  /** For a nested record that is an object in GraphQL: the selection of its fields. */
  selection?: string;
  /** For a nested record: its shape. */
  shapeOf?: (outer: Readonly<Record<string, unknown>>) => Shape;
}

/**
 * The REST form of a record, field by field in output order: the source of its JSON writer, GraphQL selection and
 * OpenAPI schema.
 */
export interface Shape {
  /** The name of the GraphQL type. */
  type: string;
  /** The name of the OpenAPI schema; by default the same. */
  name?: string;
  /** The name of the schema for a list, if any. */
  listName?: string;
  /** By default says that it is a page of records. */
  listDescription?: string;
  description: string;
  /** The schema, if a plain object schema with these fields says too little. */
  schema?: JsonSchema;
  /** The first one is the id, which orders lists and identifies records in paths. */
  fields: Readonly<Record<string, ShapeField>>;
  example: JsonSchema;
}

const JSON_KINDS: Readonly<Record<FieldKind, JsonKind>> = {
  id: 'int64',
  bigInteger: 'int64',
  integer: 'int32',
  boolean: 'boolean',
  text: 'string',
  instant: 'instant',
  date: 'string',
};

/** The declared fields of a value, which determine its REST form and GraphQL type. */
export interface ShapeDeclaration extends Omit<Shape, 'fields' | 'example'> {
  fields: Fields;
  /** Defaults to the example of every field. */
  example?: JsonSchema;
}

/** The REST form of a record. @param form the differences from the declaration, such as the fields of a view */
export const shapeOf = (declaration: AnyDeclaration, form: Partial<ShapeDeclaration> = {}): Shape =>
  declaredShape({
    type: declaration.type,
    listName: capitalised(declaration.plural),
    description: declaration.description,
    fields: { id: declaration.id, ...inputFields(declaration), ...declaration.computed },
    ...form,
  });

/** The REST form of a declaration. */
export function declaredShape({ fields, ...declaration }: ShapeDeclaration): Shape {
  const idName = Object.keys(fields)[0]!;
  return {
    // Most responses lack secrets.
    example: Object.fromEntries(
      Object.entries(fields).flatMap(([name, { example, isSecret }]) => (isSecret ? [] : [[name, example]])),
    ),
    ...declaration,
    fields: Object.fromEntries(
      Object.entries(fields).map(([name, field]): [string, ShapeField] => {
        const { kind, maxItems, presence, description, schema, inputSchema, rule, choices, isSecret } = field;
        const compute = 'compute' in field ? (field as Computed).compute : undefined;
        return [
          name,
          {
            kind: maxItems === undefined ? JSON_KINDS[kind] : 'strings',
            required: presence !== 'optional',
            description,
            schema,
            inputSchema,
            rule: () => rule(restDialect),
            choices,
            isSecret,
            ...(name === idName && kind === 'id' && { property: 'id' }),
            ...(compute && { compute }),
          },
        ];
      }),
    ),
  };
}

/** The name of the OpenAPI schema of a shape. */
export const schemaNameOf = ({ type, name = type }: Shape): string => name;

/** The name of a shape's id. */
export const idFieldOf = ({ fields }: Shape): string => Object.keys(fields)[0]!;

/** A record in the form of a shape, with ids as digits. */
export const representedAs = (
  { fields }: Shape,
  record: Readonly<Record<string, unknown>>,
): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, shownValue(name, field, record)]));

/** The value of a shape's field for a stored record. */
export const shownValue = (
  name: string,
  { property = name, compute }: ShapeField,
  record: Readonly<Record<string, unknown>>,
): unknown => (compute ? compute(record as never) : record[property]);

/** The schema of an enumeration. */
export const choicesSchema = ({
  values,
  description,
  restValue = (value) => value,
}: Choices): JsonSchema => ({
  type: 'string',
  enum: values.map(restValue),
  description,
  example: restValue(values[0]!),
});

/** The GraphQL selection of all fields of a shape. */
export const selectionOf = ({ fields }: Shape): string =>
  `{ ${Object.entries(fields)
    .map(([name, { selection = '' }]) => `${name} ${selection}`.trim())
    .join(' ')} }`;

/** The GraphQL selection of a page of a shape. */
export const pageSelection = (shape: Shape): string =>
  `{ nodes ${selectionOf(shape)} pageInfo { hasNextPage endCursor } }`;
