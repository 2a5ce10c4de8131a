import type { z } from 'zod';
import { type Field, optional, ownId } from './fields.ts';
import type { AnyDeclaration, Fields } from './record.ts';
import { type InputDialect, inputObject } from './validation.ts';

/** The input fields for creating and changing a record. */
export interface Inputs extends Pick<AnyDeclaration, 'kind' | 'plural' | 'type' | 'choosesId'> {
  fields: Fields;
  /** The changeable fields; defaults to `fields`. */
  changeable?: Fields;
}

/** An object with a rule for each field, created at its first use: a start would take a tenth longer for all of them. */
const rulesOf = (fields: Fields, ruleOf: (field: Field) => z.ZodType): z.ZodObject => {
  const getters = Object.entries(fields).map(([name, field]) => [
    name,
    { enumerable: true, get: () => ruleOf(field) },
  ]);
  return inputObject(Object.defineProperties({}, Object.fromEntries(getters)));
};

/** The rules for a new record. @param fields its input fields @param choosesId true if clients may choose its id */
export const newRules = (fields: Fields, dialect: InputDialect, choosesId: boolean): z.ZodObject =>
  rulesOf({ ...(choosesId && { id: optional(ownId('')) }), ...fields }, (field) => {
    const rule = field.rule(dialect);
    if (field.presence === 'required') return rule;
    const orAbsent = dialect.optional(rule);
    if (field.presence === 'optional') return orAbsent;
    return orAbsent.transform((value) => value ?? field.default);
  });

/** The rules for changes to a record. @param fields the changeable fields */
export const patchRules = (fields: Fields, dialect: InputDialect): z.ZodObject =>
  rulesOf(fields, (field) => {
    const rule = field.rule(dialect);
    return (field.presence === 'optional' ? rule.nullable() : rule).optional();
  });

/** The fields that belong to the record's own domain. */
export const inputFields = ({ fields }: AnyDeclaration): Fields =>
  Object.fromEntries(Object.entries(fields as Fields).filter(([, { view }]) => view === undefined));
