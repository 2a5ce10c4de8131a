import { api } from '../../src/api.ts';
import type { Field } from '../../src/foundation/fields.ts';
import type { AnyDeclaration, Fields } from '../../src/foundation/record.ts';

/** A condition on a field: several of its values if it has a closed set of them. */
const conditionOf = ({ choices, kind, example }: Field): unknown =>
  choices ? choices.values.slice(0, 2) : kind === 'id' ? '1' : example;

/** Every list: its orders, of which undefined is that by id, and its combinations of filters. */
export const listsOf = (record: AnyDeclaration) => ({
  record,
  sorts: [undefined, ...record.sorts] as readonly (string | undefined)[],
  filters: record.combinations.map((fields: readonly string[]): Record<string, unknown> =>
    Object.fromEntries(fields.map((field) => [field, conditionOf((record.fields as Fields)[field]!)])),
  ),
});

export const LISTS = api.records.map(listsOf);
