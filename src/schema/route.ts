import type { z } from 'zod';
import type { ErrorCode } from '../foundation/errors.ts';
import type { JsonSchema } from '../foundation/fields.ts';
import type { QueryParameter } from './parameter.ts';
import type { Shape } from './shape.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Stability = 'stable' | 'beta' | 'experimental';

/** A request body: the name of its schema, its rules, and how it becomes a mutation input. */
export interface Body {
  name: string;
  rules: z.ZodObject;
  /** By default derived from the method. */
  description?: string;
  /** By default the fields of the shape's example that the rules accept. */
  example?: JsonSchema;
  /** For full replacement: removes what the body leaves out. */
  toInput?: (body: never) => object;
  /** The field that may repeat the id in the path. */
  ownId?: string;
  /** Fields that the body may repeat unchanged, so that the response to a GET can be sent back. */
  mirrors?: readonly string[];
}

/** A path parameter that is not an id. */
export interface PathValue extends Pick<QueryParameter, 'description' | 'schema'> {
  /** The rule it must satisfy, for messages. */
  rule: string;
  /** Parses the value; undefined if it breaks the rule. */
  read: (text: string) => unknown;
  example: string;
  /** Whether it names a record, which may not exist. */
  namesRecord: boolean;
}

/** What callers of a deprecated operation need to know. The dates come from the configuration. */
interface Deprecation {
  /** The replacement, as Markdown that completes "Use … instead". */
  replacement: string;
  /** The target of `rel="successor-version"`. */
  successor: `/${string}`;
}

/** One REST operation. Router, handler, OpenAPI description and tests are all driven by these rows. */
export interface Route {
  operationId: string;
  method: Method;
  /** As OpenAPI writes it, relative to the base path. */
  path: `/${string}`;
  /** The group that documentation shows it in, described by a {@link Resource}. */
  tag: string;
  stability: Stability;
  summary: string;
  /** Anything that method, list and stability do not say. */
  description?: string;
  /**
   * The GraphQL operation to run. Its variables are the path and query parameters, and `input`. It returns a
   * record as `result` or a list as `page`, which may be inside `parent` or its first entry.
   */
  document: string;
  /** The kind of record that a NOT_FOUND names. */
  kind: string;
  status: 200 | 201 | 204;
  /** Absent if the response has no body. */
  shape?: Shape;
  list?: true;
  /** The list has no end: every page links to the next. */
  endless?: true;
  /** The list has no pages: the response has all of it. */
  whole?: true;
  pathParameter?: string;
  /** What the path parameter is, if it is not an id. */
  pathValue?: PathValue;
  query?: readonly QueryParameter[];
  body?: Body;
  /** The query that answers an empty merge patch, if the mutation does not accept one. */
  unchanged?: string;
  /** Errors raised by the domain's rules, in addition to those of HTTP and the gateway. */
  errors?: readonly ErrorCode[];
  /** Set for deprecated operations, which have a sunset date. */
  deprecation?: Deprecation;
  /** Disables the try-it panel in the documentation. */
  explorer?: false;
}

/** An operation that responds with server-sent events instead of running a document. */
export interface Stream
  extends Pick<
    Route,
    'operationId' | 'path' | 'tag' | 'stability' | 'summary' | 'description' | 'query' | 'errors'
  > {
  method: 'GET';
  /** The shape of each event's data. */
  shape: Shape;
}

/** A domain's contribution to REST. */
export interface Resource {
  /** Keys need `SCOPE:read` and `SCOPE:write` for its records and root fields; null if they need none. */
  scope: string | null;
  shape: Shape;
  routes: readonly Route[];
  streams?: readonly Stream[];
  /** Descriptions of the tags that it introduces. */
  tags?: Readonly<Record<string, string>>;
  /** Schemas that fields and parameters refer to. */
  schemas?: Readonly<Record<string, JsonSchema>>;
}

/** Whether an Idempotency-Key applies. The other methods are idempotent anyway (RFC 9110 section 9.2.2). */
export const acceptsIdempotencyKey = (method: Method): boolean => method === 'POST' || method === 'PATCH';

/** Whether a list can be exported as a whole. A list without an end has its own stream. */
export const isExportable = ({
  list,
  endless,
  whole,
}: {
  list?: true | undefined;
  endless?: true | undefined;
  whole?: true | undefined;
}): boolean => list === true && !endless && !whole;

/** The media type of a list with one record per line (https://github.com/ndjson/ndjson-spec). */
export const NDJSON = 'application/x-ndjson';

/** Records in one export. */
export const MAX_EXPORT_SIZE = 1_000_000;

/** The media type of REST bodies, and of requests that name none. */
const JSON_TYPES = ['application/json'];
const PATCH_TYPES = [...JSON_TYPES, 'application/merge-patch+json'];

/** The media types accepted for the body of a method. */
export const bodyTypesOf = (method: Method): readonly string[] =>
  method === 'PATCH' ? PATCH_TYPES : JSON_TYPES;
