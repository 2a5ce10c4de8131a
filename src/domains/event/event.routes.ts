import type { JsonSchema } from '../../foundation/fields.ts';
import { DEFAULT_PAGE_SIZE } from '../../foundation/meter.ts';
import { capitalised } from '../../foundation/words.ts';
import { fieldParameter, integerParameter, limit, type QueryParameter } from '../../rest-routes/parameter.ts';
import type { Resource } from '../../rest-routes/route.ts';
import { declaredShape, type Shape, schemaNameOf, selectionOf } from '../../rest-routes/shape.ts';
import { type EventTypeName, type EventTypes, fromEventTypeName } from '../../events/event-types.ts';
import { COMMON, eventDeclaration } from './event.ts';

/** The name of the OpenAPI schema for an event type: `PetUpdatedEvent`. */
const schemaNameOfEvent = (type: string): string =>
  `${type
    .split('.')
    .map((word) => capitalised(word))
    .join('')}Event`;

const refOf = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** The schema of an event of any of these types, discriminated by `type`. */
export const eventSchema = (types: readonly string[], description: string): JsonSchema => ({
  description,
  oneOf: types.map((type) => refOf(schemaNameOfEvent(type))),
  discriminator: {
    propertyName: 'type',
    mapping: Object.fromEntries(types.map((type) => [type, refOf(schemaNameOfEvent(type)).$ref])),
  },
});

/** The schema of events of one type. @param example an example of `data` */
export function schemaOfEvent(
  type: string,
  data: JsonSchema,
  example: JsonSchema,
): Readonly<Record<string, JsonSchema>> {
  const { id, time } = COMMON;
  return {
    [schemaNameOfEvent(type)]: {
      type: 'object',
      description: `An event of the type \`${type}\`.`,
      required: ['id', 'type', 'time', 'data'],
      additionalProperties: false,
      properties: {
        id: { ...id.schema, description: id.description },
        type: { type: 'string', enum: [type], description: 'What happened' },
        time: { ...time.schema, description: time.description },
        data,
      },
      example: { id: id.example, type, time: time.example, data: example },
    },
  };
}

/** The REST form of an event. */
const shapeOf = (types: EventTypes): Shape => {
  const declared = declaredShape(eventDeclaration(types));
  return {
    ...declared,
    // For Go: ogen names the discriminator by appending Type, and EventType is taken.
    schema: { ...eventSchema(types.names, declared.description), 'x-ogen-name': 'AnyEvent' },
    fields: {
      ...declared.fields,
      data: {
        kind: 'record',
        required: true,
        description: 'The record after the write; for a deletion only its id',
        schema: {
          oneOf: [...new Set(types.names.map((type) => schemaNameOf(types.shapeOf(type)))), 'Deleted'].map(
            refOf,
          ),
        },
        shapeOf: ({ type }) => types.shapeOf(fromEventTypeName(type as EventTypeName)),
      },
    },
    example: { ...declared.example, data: types.shapeOf(types.example).example },
  };
};

const after: QueryParameter = {
  name: 'after',
  description:
    'Only events after this one; with `sort=-id`, only those before it. `now` is the end of the log.',
  schema: COMMON.id.schema,
  rule: 'must be the id of an event',
  read: (text) => (text === '' ? undefined : text),
  example: 'now',
};

const sort: QueryParameter = {
  name: 'sort',
  description: 'Whether the oldest, the default, or by `-id` the newest events come first.',
  schema: { type: 'string', enum: ['id', '-id'] },
  rule: 'must be id or -id',
  read: (text) => (text === 'id' || text === '-id' ? text : undefined),
  check: (variables, texts) =>
    variables.sort === '-id' && texts.has('wait')
      ? [{ path: 'sort', message: 'must not be combined with wait' }]
      : [],
};

/** The maximum of `wait`, in seconds. */
const MAX_WAIT = 25;
const wait: QueryParameter = {
  name: 'wait',
  description:
    'Long polling: how many seconds to wait for an event if there is none yet. Counts as an open stream.',
  ...integerParameter(1, MAX_WAIT),
};

/** The event log over REST. */
export function eventResource(types: EventTypes): Resource {
  const shape = shapeOf(types);
  const type: QueryParameter = {
    ...fieldParameter('type', 'Only events of this type.', eventDeclaration(types).fields.type),
    repeatable: 'distinct',
  };
  const common = { tag: 'Store', method: 'GET', stability: 'stable', shape } as const;
  return {
    scope: 'events',
    shapes: [shape],
    schemas: {
      ...Object.assign(
        {},
        ...types.names.map((type) => {
          const isDeletion = type.endsWith('.deleted');
          const { example } = types.shapeOf(type);
          return schemaOfEvent(
            type,
            refOf(isDeletion ? 'Deleted' : schemaNameOf(types.shapeOf(type))),
            isDeletion ? { id: 1 } : example,
          );
        }),
      ),
      Deleted: {
        type: 'object',
        description: 'A deleted record.',
        required: ['id'],
        additionalProperties: false,
        properties: {
          id: { type: 'integer', format: 'int64', minimum: 1, description: 'The id of the record' },
        },
        example: { id: 1 },
      },
    },
    routes: [
      {
        ...common,
        operationId: 'listEvents',
        path: '/events',
        summary: 'List events',
        description:
          'Every committed write once, oldest first. By default starts with the oldest event kept. The response always has a `Link` with `rel="next"`: poll it to miss nothing. With `sort=-id` the newest come first, and the `Link` leads to older ones while there are any. A page may have fewer events than `limit` even if there are more. With `wait`, an empty page is answered once there is an event, or when the time is over.',
        document: `query listEvents($after: ID, $before: ID, $type: [EventType!], $limit: Int, $last: Int) {
          page: events(after: $after, before: $before, types: $type, first: $limit, last: $last) {
            nodes ${selectionOf(shape)} pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
          }
        }`,
        variables: ({ sort, after, limit, ...others }) =>
          sort === '-id'
            ? { ...others, before: after, last: limit ?? DEFAULT_PAGE_SIZE }
            : { ...others, after, limit },
        kind: 'event',
        status: 200,
        list: 'log',
        query: [type, sort, limit, after, wait],
        errors: ['GONE'],
      },
      {
        ...common,
        operationId: 'streamEvents',
        path: '/events/stream',
        summary: 'Stream events',
        description:
          'Server-sent events with `id`, `event` (the type) and `data` (the whole Event) for every write as it is committed. Resumes after `Last-Event-ID` or `after`, and otherwise starts from now. A comment is sent every 15 seconds. Costs 1 unit to open and 1 for every 100 events. When the budget is used up, the stream ends with an `error` event whose data is an Error.',
        query: [type, after],
        document: `subscription streamEvents($after: ID, $type: [EventType!]) {
          events(after: $after, types: $type) ${selectionOf(shape)}
        }`,
        kind: 'event',
        status: 200,
        list: 'stream',
        errors: ['GONE'],
      },
    ],
  };
}
