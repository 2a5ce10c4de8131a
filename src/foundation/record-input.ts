import type { z } from 'zod';
import type { AnyDeclaration, Fields } from './record.ts';
import { type InputDialect, inputObject } from './validation.ts';

/** The input fields for creating and changing a record. */
export interface Inputs extends Pick<AnyDeclaration, 'kind' | 'plural' | 'type' | 'choosesId'> {
  fields: Fields;
  /** The changeable fields; defaults to `fields`. */
  changeable?: Fields;
}

/** The rules for a new record. @param fields its input fields @param choosesId true if clients may choose its id */
export const newRules = (fields: Fields, dialect: InputDialect, choosesId: boolean): z.ZodObject => {
  const rules = Object.entries(fields).map(([name, field]): [string, z.ZodType] => {
    const rule = field.rule(dialect);
    if (field.presence === 'required') return [name, rule];
    const optional = dialect.optional(rule);
    if (field.presence === 'optional') return [name, optional];
    return [name, optional.transform((value) => value ?? field.default)];
  });
  const id: [string, z.ZodType][] = choosesId ? [['id', dialect.optional(dialect.id)]] : [];
  return inputObject(Object.fromEntries([...id, ...rules]));
};

/** The rules for changes to a record. @param fields the changeable fields */
export const patchRules = (fields: Fields, dialect: InputDialect): z.ZodObject =>
  inputObject(
    Object.fromEntries(
      Object.entries(fields).map(([name, field]) => {
        const rule = field.rule(dialect);
        return [name, (field.presence === 'optional' ? rule.nullable() : rule).optional()];
      }),
    ),
  );

/** The fields that belong to the record's own domain. */
export const inputFields = ({ fields }: AnyDeclaration): Fields =>
  Object.fromEntries(Object.entries(fields as Fields).filter(([, { view }]) => view === undefined));
