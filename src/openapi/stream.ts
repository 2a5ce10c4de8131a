import type { JsonSchema } from '../foundation/fields.ts';
import type { Stream } from '../rows/route.ts';
import { schemaNameOf } from '../rows/shape.ts';
import { type Components, refTo } from './components.ts';
import { describeErrors } from './errors.ts';
import { caching, describeHeaders } from './headers.ts';
import { describeQueryParameters } from './parameters.ts';

const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  description:
    'Only events after this one. Clients send it when they reconnect. Takes precedence over `after`.',
  schema: { type: 'string' },
} as const;

/** Describes an operation with server-sent events, which OpenAPI 3.0 can only represent as text. */
export function describeStream(stream: Stream, components: Components): JsonSchema {
  const { operationId, tag, stability, summary, description, shape, errors = [] } = stream;
  const { type, id } = shape.example as Record<string, string>;
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    'x-stability': stability,
    parameters: [
      ...describeQueryParameters(stream, components),
      components.add('parameters', LAST_EVENT_ID.name, LAST_EVENT_ID),
    ],
    responses: {
      200: {
        description: `The data of each event is a \`${schemaNameOf(shape)}\` as JSON on one line.`,
        headers: describeHeaders(components, { ...caching(), 'X-Accel-Buffering': true }),
        content: {
          'text/event-stream': {
            schema: {
              type: 'string',
              description: `Server-sent events whose data is ${refName(schemaNameOf(shape))}.`,
            },
            example: `retry: 3000\nid: ${id}\nevent: ${type}\ndata: ${JSON.stringify(shape.example)}\n\n`,
          },
        },
      },
      ...describeErrors({ method: 'GET', errors }, components),
    },
  };
}

const refName = (name: string): string => String(refTo('schemas', name).$ref);
