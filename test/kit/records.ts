import { stringify } from 'lossless-json';
import { api } from '../../src/api.ts';
import type { Field } from '../../src/foundation/fields.ts';
import type { Id } from '../../src/foundation/id.ts';
import { inputFields } from '../../src/foundation/record-input.ts';
import { type AnyDeclaration, blockersOf } from '../../src/foundation/record.ts';
import type { Store } from '../../src/store/store.ts';

type Values = Record<string, unknown>;

let created = 0;

/** A value like the example of a field, but another one each time. */
function another({ kind, choices, example, maxLength, range }: Field): unknown {
  created++;
  if (kind === 'text' && !choices) return `${created} ${example}`.slice(0, maxLength);
  if (range) return range[0] + (created % (range[1] - range[0] + 1));
  const time = Date.parse('2026-01-01T00:00:00Z') + created * 86_400_000;
  if (kind === 'instant') return new Date(time).toISOString().replace('.000Z', 'Z');
  return kind === 'date' ? new Date(time).toISOString().slice(0, 10) : example;
}

/**
 * The examples of a record's declaration, with new parents. What only one record may have is another value each time.
 *
 * @param names only these of its fields
 * @param parent the id of all that it refers to instead
 */
export async function valuesOf(
  store: Store,
  record: AnyDeclaration,
  names: readonly string[] = Object.keys(inputFields(record)),
  parent?: Id,
): Promise<Values> {
  const fields = Object.entries(record.fields as Record<string, Field>);
  const values: Values = {};
  const unique = new Set(record.unique.flat());
  for (const [name, field] of fields.filter(([each]) => names.includes(each))) {
    const referred = api.records.find(({ kind }) => kind === field.reference?.parent.kind);
    if (referred) values[name] = parent ?? (await create(store, referred));
    else values[name] = unique.has(name) ? another(field) : field.example;
  }
  return values;
}

/** Stores a record with the examples of its declaration. @param values instead of these */
export async function create(store: Store, record: AnyDeclaration, values: Values = {}): Promise<Id> {
  const names = Object.keys(inputFields(record)).filter((name) => !(name in values));
  const { id } = await store
    .table(record)
    .insert({ ...(await valuesOf(store, record, names)), ...values } as never);
  return id;
}

/** Stores something that holds off the deletion of a record, for each kind that does. */
export async function holdOff(store: Store, record: AnyDeclaration, id: Id): Promise<void> {
  for (const { child, field, where } of blockersOf(api.records, record))
    await create(store, child, { ...where, [field]: id });
}

/** Values as a body of REST, which has ids as integers. */
export const toBody = (record: AnyDeclaration, values: Values): string =>
  stringify(
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        name === 'id' || record.fields[name]?.kind === 'id' ? BigInt(value as Id) : value,
      ]),
    ),
  )!;
