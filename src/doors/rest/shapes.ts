/** The kinds of values in the specification's shapes. */
export type FieldKind = 'int64' | 'int32' | 'string' | 'date-time' | 'boolean' | 'PetStatus';

export interface Field {
  kind: FieldKind;
  required: boolean;
  description: string;
}

const field = (kind: FieldKind, required: boolean, description: string): Field => ({
  kind,
  required,
  description,
});

/**
 * The response shapes of the specification, field by field in the order they are written. The JSON writer and the
 * OpenAPI description are both made from this.
 */
export const SHAPES = {
  Pet: {
    id: field('int64', true, 'Unique identifier assigned on creation'),
    name: field('string', true, "The animal's name"),
    categoryId: field('int64', true, 'ID of the category the animal belongs to'),
    status: field('PetStatus', true, 'Status of the pet'),
  },
  Category: {
    id: field('int64', true, 'Unique identifier assigned on creation'),
    name: field('string', true, 'The category name (for example a kind of animal)'),
    description: field('string', false, 'A short description of the category'),
  },
  Order: {
    id: field('int64', true, 'Unique order identifier'),
    petId: field('int64', false, 'ID of the animal in this order'),
    quantity: field('int32', false, 'Number of units ordered'),
    shipDate: field('date-time', false, 'Expected or actual ship date'),
    complete: field('boolean', true, 'Whether the order has been fulfilled'),
  },
  InventoryItem: {
    petId: field('int64', true, 'ID of the animal this entry tracks'),
    quantity: field('int32', true, 'Current stock count'),
    status: field('PetStatus', true, 'Status of the tracked animal'),
  },
} as const satisfies Record<string, Record<string, Field>>;

export type ShapeName = keyof typeof SHAPES;

type Writer = (record: object) => string;

/** Text that JSON takes as it is, which nearly all names are. */
const PLAIN = /^[^"\\\p{Cc}\p{Cs}]*$/u;
const quote = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

/** Ids are digits in the record and become JSON integers here without passing through a number. */
const isWrittenBare = (kind: FieldKind) => kind === 'int64' || kind === 'int32' || kind === 'boolean';

function writerOf(shape: Record<string, Field>): Writer {
  const fields = Object.entries(shape).map(([name, { kind }]) => ({
    name,
    key: `"${name}":`,
    bare: isWrittenBare(kind),
  }));
  return (record) => {
    let json = '';
    for (const { name, key, bare } of fields) {
      const value = (record as Record<string, unknown>)[name];
      if (value === undefined || value === null) continue;
      json += `${json === '' ? '{' : ','}${key}${bare ? value : quote(value as string)}`;
    }
    return `${json}}`;
  };
}

/** Writes one record as the JSON body of its shape; absent optional values are left out (contract section 1). */
export const WRITERS = Object.fromEntries(
  Object.entries(SHAPES).map(([name, shape]) => [name, writerOf(shape)]),
) as Record<ShapeName, Writer>;

/** Writes a list of records as a bare JSON array. */
export function writeList(shape: ShapeName, records: readonly object[]): string {
  const write = WRITERS[shape];
  let json = '[';
  for (let i = 0; i < records.length; i++) json += i === 0 ? write(records[i]!) : `,${write(records[i]!)}`;
  return `${json}]`;
}
