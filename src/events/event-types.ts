import { type Permissions, permits, readScope } from '../access/scopes.ts';
import { type Choices, choices } from '../foundation/fields.ts';
import { integerOf } from '../foundation/id.ts';
import { formatInstant } from '../foundation/instant.ts';
import { type Shape, shownValue } from '../rest-routes/shape.ts';
import { toJson } from '../schema/json-text.ts';
import type { EventType, StoredEvent } from '../store/events.ts';

/** The GraphQL name of an event type: `pet_updated`. */
export type EventTypeName = Dotless<EventType>;
type Dotless<T> = T extends `${infer Kind}.${infer Change}` ? `${Kind}_${Change}` : never;

export const toEventTypeName = (type: EventType): EventTypeName => type.replace('.', '_') as EventTypeName;

export const fromEventTypeName = (name: EventTypeName): EventType => name.replace('_', '.') as EventType;

/** The parts of a domain that its events depend on. */
interface EventSource {
  /** The event types with their descriptions. */
  events: Readonly<Record<EventType, string>>;
  resource: { scope: string | null; shapes: readonly Shape[] };
}

/** The event types of some domains. */
export class EventTypes<Source extends EventSource = EventSource> {
  readonly names: readonly EventType[];
  /** The types under their GraphQL names. */
  readonly choices: Choices<EventTypeName>;
  readonly #sources: ReadonlyMap<EventType, Source>;

  constructor(domains: readonly Source[]) {
    this.#sources = new Map(
      domains.flatMap((domain) => Object.keys(domain.events).map((type) => [type as EventType, domain])),
    );
    this.names = [...this.#sources.keys()];
    const descriptions = this.names.map((type) => [toEventTypeName(type), this.sourceOf(type).events[type]]);
    this.choices = {
      ...choices(
        'EventType',
        'The type of an event.',
        Object.fromEntries(descriptions) as Record<EventTypeName, string>,
      ),
      restValue: fromEventTypeName,
    };
  }

  /** The type of an update, for examples. */
  get example(): EventType {
    return this.names.find((type) => type.endsWith('.updated'))!;
  }

  /** The domain of an event type. */
  sourceOf(type: EventType): Source {
    return this.#sources.get(type)!;
  }

  /** True if a key may read the records of events of a type. */
  mayRead(caller: Permissions, type: EventType): boolean {
    const { scope } = this.sourceOf(type).resource;
    return scope === null || permits(caller, readScope(scope));
  }

  /** The types, by default all, whose records a key may read; undefined stays undefined if it may read everything. */
  readable(caller: Permissions, types: readonly EventType[] | undefined): readonly EventType[] | undefined {
    if (caller.scopes === undefined) return types;
    return (types ?? this.names).filter((type) => this.mayRead(caller, type));
  }

  /** The maximum length of a text in an event's `data`, which determines its price. */
  get maxLength(): number {
    const fields = this.names.flatMap((type) => Object.values(this.shapeOf(type).fields));
    return Math.max(1, ...fields.map(({ schema }) => (schema.maxLength ?? 0) as number));
  }

  /** The REST shape of an event's `data`. */
  shapeOf(type: EventType): Shape {
    return this.sourceOf(type).resource.shapes[0]!;
  }

  /** The data of an event in REST form; ids beyond 2^53 are bigints. */
  dataOf({ type, record }: Pick<StoredEvent, 'type' | 'record'>): Record<string, unknown> {
    const data: Record<string, unknown> = {};
    const isDeleted = type.endsWith('.deleted');
    for (const [name, field] of Object.entries(this.shapeOf(type).fields)) {
      const value = isDeleted && field.compute ? undefined : shownValue(name, field, record);
      if (value === undefined) continue;
      data[name] = field.kind === 'int64' ? integerOf(value as string) : value;
    }
    return data;
  }

  /** An event as JSON text in REST form. */
  jsonOf(event: StoredEvent): string {
    return toJson({
      id: event.id,
      type: event.type,
      time: formatInstant(event.time),
      data: this.dataOf(event),
    });
  }
}
