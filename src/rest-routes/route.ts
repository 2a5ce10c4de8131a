import type { z } from 'zod';
import type { ErrorCode } from '../foundation/errors.ts';
import type { JsonSchema } from '../foundation/fields.ts';
import type { AnyRecord, Referrer } from '../foundation/record.ts';
import { rememberParsed } from '../schema/input-rules.ts';
import type { QueryParameter } from './parameter.ts';
import type { Shape, ShapeField } from './shape.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Stability = 'stable' | 'beta' | 'experimental';

/** A request body: the name of its schema and its rules. */
export interface Body {
  name: string;
  rules: z.ZodObject;
  /** By default derived from the method. */
  description?: string;
  /** By default the fields of the shape's example that the rules accept. */
  example?: JsonSchema;
  /** Its fields that the records do not have. */
  fields?: Readonly<Record<string, ShapeField>>;
}

/** A path parameter that is not an id. */
export interface PathValue extends Pick<QueryParameter, 'description' | 'schema' | 'rule' | 'read'> {
  example: string;
  /** True if it names a record, which may not exist. */
  namesRecord: boolean;
}

/** The information that callers of a deprecated operation need. The dates come from the configuration. */
interface Deprecation {
  /** The replacement, as Markdown that completes "Use … instead". */
  replacement: string;
  /** The target of `rel="successor-version"`. */
  successor: `/${string}`;
}

/** One REST operation. Router, handler, OpenAPI description and tests are all driven by these routes. */
export interface Route {
  operationId: string;
  method: Method;
  /** As OpenAPI writes it, relative to the base path. */
  path: `/${string}`;
  /** The group that documentation shows it in, described by a {@link Resource}. */
  tag: string;
  stability: Stability;
  summary: string;
  /** Anything that method, list and stability don't tell. */
  description?: string;
  /**
   * The GraphQL operation to run. Its variables are the path and query parameters, and `input`. It returns a
   * record as `result` or a list as `page`, which may be inside `parent` or its first entry.
   */
  document: string;
  /** Makes the document's variables from the parameters, where they differ. */
  variables?: (parameters: Readonly<Record<string, unknown>>) => Record<string, unknown>;
  /** The kind of record that a NOT_FOUND names. */
  kind: string;
  status: 200 | 201 | 204;
  /** Absent if the response has no body. */
  shape?: Shape;
  /**
   * `pages` link to the next; a `log` has no end, so each of its pages does; a `whole` list has no pages; a `stream` sends
   * server-sent events instead of running its document.
   */
  list?: 'pages' | 'log' | 'whole' | 'stream';
  pathParameter?: string;
  /** The path parameter, if it isn't an id. */
  pathValue?: PathValue;
  query?: readonly QueryParameter[];
  body?: Body;
  /** Errors raised by the domain's rules, in addition to those of HTTP and the gateway. */
  errors?: readonly ErrorCode[];
  /** Set for deprecated operations, which have a sunset date. */
  deprecation?: Deprecation;
  /** Other parts of its OpenAPI description: its callbacks, and extensions. */
  described?: JsonSchema;
}

/** A route of an API, with what follows from its resource and the record that it is about. */
export interface ServedRoute extends Route {
  /** The scopes that a key needs for it: that of its resource, by its method. */
  scopes: readonly string[];
  /** True if it is a tool for agents. */
  isTool: boolean;
  /** Undefined if it is about something else. */
  record: AnyRecord | undefined;
  /** The references that can block the deletion of that record. */
  blockers: readonly Referrer[];
}

/** A domain's contribution to REST. */
export interface Resource {
  /** Keys need `SCOPE:read` and `SCOPE:write` for its records and root fields; null if they need none. */
  scope: string | null;
  /** True if reading it needs `SCOPE:write` too, and it is not served to agents: it is for administration. */
  isManaged?: boolean;
  /** The shapes that it shows; the first is its main one. */
  shapes: readonly Shape[];
  routes: readonly Route[];
  /** Descriptions of the tags that it introduces. */
  tags?: Readonly<Record<string, string>>;
  /** Schemas that fields refer to, besides those of shapes and closed sets. */
  schemas?: Readonly<Record<string, JsonSchema>>;
}

/**
 * The fields that a body may repeat unchanged, so that the response to a GET can be sent back: the id in the path and
 * the fields that the operation doesn't change.
 */
export const repeatableFields = ({ method, shape, body }: Route): readonly string[] =>
  (method === 'PUT' || method === 'PATCH') && body && shape
    ? Object.keys(shape.fields).filter(
        (name, n) => n === 0 || !(name in body.rules.shape || shape.fields[name]!.isSecret),
      )
    : [];

/** The input of a mutation for the body of a PUT that satisfies its rules, which removes the fields it omits. */
export function inputOf({ shape, body }: Route, content: object): object {
  const removed = Object.entries(shape!.fields).filter(
    ([name, { required }]) => !required && name in body!.rules.shape && !(name in content),
  );
  if (removed.length === 0) return content;
  return rememberParsed({ ...Object.fromEntries(removed.map(([name]) => [name, null])), ...content });
}

/**
 * True if the fields of a body are variables of the document themselves instead of one `input`. Without any, the body
 * may be empty.
 */
export const hasOwnVariables = ({ document }: Route): boolean => !document.includes('$input');

/** True if an Idempotency-Key applies. The other methods are idempotent anyway (RFC 9110 section 9.2.2). */
export const acceptsIdempotencyKey = (method: Method): boolean => method === 'POST' || method === 'PATCH';

/** True if a list can be exported as a whole. A list without an end has its own stream. */
export const isExportable = ({ list }: Pick<Route, 'list'>): boolean => list === 'pages';

/** The media type of a list with one record per line (https://github.com/ndjson/ndjson-spec). */
export const NDJSON = 'application/x-ndjson';

/** Records in one export. */
export const MAX_EXPORT_SIZE = 1_000_000;

const JSON_TYPES = ['application/json'];
const PATCH_TYPES = [...JSON_TYPES, 'application/merge-patch+json'];

/** The media types accepted for the body of a method. The first is that of a body which names none. */
export const bodyTypesOf = (method: Method) => (method === 'PATCH' ? PATCH_TYPES : JSON_TYPES);

/** The end of deprecated operations, as configured. */
export interface Lifecycle {
  /** Milliseconds since 1970. */
  DEPRECATION_DATE: number;
  SUNSET_DATE: number;
  /** True if deprecated operations stop working at the sunset date. */
  SUNSET_ENFORCED: boolean;
}
