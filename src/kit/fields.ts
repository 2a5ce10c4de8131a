import type { Choices, Field, Presence } from '../foundation/fields.ts';

/** Options of an output field: what its declaration says. */
export const exposed = <F extends Field>({ description, presence, maxLength }: F) => ({
  description: `${description}.`,
  nullable: (presence === 'optional') as F['presence'] extends 'optional' ? true : false,
  ...(maxLength !== undefined && { extensions: { maxLength } }),
});

/** Options of an output field that is computed. */
export const shownAs = <T, P extends Presence, R>(
  field: Field<T, P> & { compute(record: R): T | undefined },
) => ({
  ...exposed(field),
  resolve: (record: R) => (field.compute(record) ?? null) as P extends 'optional' ? T | null : T,
});

const described = ({ description, limits }: Field): string =>
  limits === undefined ? description : `${description}, ${limits}`;

/** Options of a field of the input for a new record. */
export const given = <F extends Field>(field: F) => ({
  description: `${described(field)}${field.presence === 'defaulted' ? `; defaults to ${field.default}` : ''}.`,
  required: (field.presence === 'required') as F['presence'] extends 'required' ? true : false,
});

/** Options of a field of the input for changes to a record. */
export const changed = (field: Field) => ({
  description: `${described(field)}${field.presence === 'optional' ? '; null removes it' : ''}.`,
});

/** Options of an enum. */
export const enumOf = <T extends string>({ description, descriptions, values }: Choices<T>) => ({
  description,
  values: Object.fromEntries(
    values.map((value) => [value, { value, description: descriptions[value] }]),
  ) as Record<T, { value: T; description: string }>,
});
