import { toJson } from '../../graphql/json.ts';
import type { EventType, StoredEvent } from '../../store/events.ts';
import { categories } from '../category/category.routes.ts';
import { inventory } from '../inventory/inventory.routes.ts';
import { inventoryItem } from '../inventory/inventory.type.ts';
import { formatInstant } from '../order/instant.ts';
import { orders } from '../order/order.routes.ts';
import { pets } from '../pet/pet.routes.ts';
import type { Pet } from '../pet/pet.ts';
import type { Shape } from '../shape.ts';

/** The REST shape of what an event of each kind tells of. */
const SHAPES = {
  pet: pets.shape,
  category: categories.shape,
  order: orders.shape,
  inventory: inventory.shape,
} as const satisfies Record<string, Shape>;

type Kind = keyof typeof SHAPES;

/** What each type of event tells of. */
export const MEANING: Readonly<Record<EventType, string>> = {
  'pet.created': 'A pet was added.',
  'pet.updated': 'A pet was changed, but not its stock.',
  'pet.deleted': 'A pet was deleted, and its stock with it.',
  'category.created': 'A category was added.',
  'category.updated': 'A category was changed.',
  'category.deleted': 'A category was deleted.',
  'order.created': 'An order was added.',
  'order.updated': 'An order was changed.',
  'order.deleted': 'An order was deleted.',
  'inventory.updated': 'The stock of a pet was set to another number.',
};

export const EVENT_TYPES = Object.keys(MEANING) as readonly EventType[];

/** An event type as GraphQL names it: `pet_updated`. */
export type EventTypeName = Dotless<EventType>;
type Dotless<T> = T extends `${infer Kind}.${infer Change}` ? `${Kind}_${Change}` : never;

export const nameOf = (type: EventType): EventTypeName => type.replace('.', '_') as EventTypeName;

const TYPES = new Map(EVENT_TYPES.map((type) => [nameOf(type), type]));
export const fromName = (name: EventTypeName): EventType => TYPES.get(name)!;

/** Of what kind the record of an event is: `pet` of `pet.updated`. */
export const kindOf = (type: EventType): Kind => type.slice(0, type.indexOf('.')) as Kind;

/** The REST shape of the `data` of events of a type. */
export const shapeOf = (type: EventType): Shape => SHAPES[kindOf(type)];

/** What an event tells, as REST has it; ids beyond 2^53 as bigints. */
export function dataOf({ type, record }: Pick<StoredEvent, 'type' | 'record'>): Record<string, unknown> {
  const { fields } = shapeOf(type);
  const given: object = kindOf(type) === 'inventory' ? inventoryItem(record as Pet) : record;
  const data: Record<string, unknown> = {};
  for (const [name, { kind }] of Object.entries(fields)) {
    const value = (given as Record<string, unknown>)[name];
    if (value === undefined) continue;
    data[name] = kind === 'int64' ? integerOf(value as string) : value;
  }
  return data;
}

const integerOf = (digits: string): number | bigint =>
  Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits);

/** An event as JSON text, as REST has it. */
export const eventJson = (event: StoredEvent): string =>
  toJson({ id: event.id, type: event.type, time: formatInstant(event.time), data: dataOf(event) });
