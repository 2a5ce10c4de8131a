import type { z } from 'zod';
import { memoized } from '../foundation/cache.ts';
import type { ErrorCode } from '../foundation/errors.ts';
import type { JsonSchema } from '../foundation/fields.ts';
import type { AnyDeclaration, Referrer } from '../foundation/record.ts';
import { rememberParsed } from '../schema/input-rules.ts';
import type { QueryParameter } from './parameter.ts';
import type { Shape, ShapeField } from './shape.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Stability = 'stable' | 'beta' | 'experimental';

/** A request body: the name of its schema and its rules. */
export interface Body {
  name: string;
  rules: z.ZodObject;
  /** Derived from the method by default. */
  description?: string;
  /** Defaults to the fields of the shape's example that the rules accept. */
  example?: JsonSchema;
  /** Fields that the record does not have. */
  fields?: Readonly<Record<string, ShapeField>>;
}

/** A path parameter that is not an id. */
export interface PathValue extends Pick<QueryParameter, 'description' | 'schema' | 'rule' | 'read'> {
  example: string;
  /** True if it names a record, which may not exist. */
  namesRecord: boolean;
}

/** Information for callers of a deprecated operation. The dates are configured ({@link Lifecycle}). */
interface Deprecation {
  /** The replacement, as Markdown that completes "Use … instead". */
  replacement: string;
  /** The target of `rel="successor-version"`. */
  successor: `/${string}`;
}

/** A REST operation as data: the source of its router entry, handler, OpenAPI description and tests. */
export interface Route {
  operationId: string;
  method: Method;
  /** As in OpenAPI, relative to the base path. */
  path: `/${string}`;
  /** The group in the documentation, described by a {@link Resource}. */
  tag: string;
  stability: Stability;
  summary: string;
  /** Anything that doesn't follow from method, list and stability. */
  description?: string;
  /**
   * The GraphQL document to run. Its variables are the path and query parameters, and `input`. It returns a record as
   * `result` or a list as `page`, possibly inside `parent` or the first entry of `parent`.
   */
  document: string;
  /** Converts the parameters to the document's variables, if they differ. */
  variables?: (parameters: Readonly<Record<string, unknown>>) => Record<string, unknown>;
  /** The kind of record, for NOT_FOUND. */
  kind: string;
  status: 200 | 201 | 204;
  /** Absent if the response has no body. */
  shape?: Shape;
  /**
   * `pages`: each links to the next, except the last; `log`: endless, so every page does; `whole`: a list without
   * pages; `stream`: server-sent events instead of the document's result.
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
  /** Further parts of its OpenAPI description: callbacks and extensions. */
  described?: JsonSchema;
}

/** A route of an API, with properties from its resource and record. */
export interface ServedRoute extends Route {
  /** The scopes that a key needs, from the resource and method. */
  scopes: readonly string[];
  /** True if it is a tool for agents. */
  isTool: boolean;
  /** The record of its kind, if there is one. */
  record: AnyDeclaration | undefined;
  /** The references that can block a deletion of the record. */
  blockers: readonly Referrer[];
}

/** A domain's contribution to REST. */
export interface Resource {
  /** Keys need `SCOPE:read` and `SCOPE:write` for its records and root fields; null if they need none. */
  scope: string | null;
  /** True for administration: even reads need `SCOPE:write`, and agents are not served. */
  isManaged?: boolean;
  /** The shapes of the resource, the main one first. */
  shapes: readonly Shape[];
  routes: readonly Route[];
  /** Descriptions of the tags that it introduces. */
  tags?: Readonly<Record<string, string>>;
  /** Schemas that fields refer to, besides those of shapes and enumerations. */
  schemas?: Readonly<Record<string, JsonSchema>>;
}

/**
 * The fields that a body may repeat unchanged, so that the response to a GET can be sent back: the id and fields that
 * the operation doesn't change.
 */
export const echoedFields = memoized(({ method, shape, body }: Route): readonly string[] =>
  (method === 'PUT' || method === 'PATCH') && body && shape
    ? Object.keys(shape.fields).filter(
        (name, n) => n === 0 || !(name in body.rules.shape || shape.fields[name]!.isSecret),
      )
    : [],
);

/** Converts the valid body of a PUT to the input of a mutation, in which omitted fields are null, to be removed. */
export function inputOf({ shape, body }: Route, content: object): object {
  const removed = Object.entries(shape!.fields).filter(
    ([name, { required }]) => !required && name in body!.rules.shape && !(name in content),
  );
  if (removed.length === 0) return content;
  return rememberParsed({ ...Object.fromEntries(removed.map(([name]) => [name, null])), ...content });
}

/**
 * True if the fields of a body are variables of the document instead of one `input`. If none is required, the body may
 * be empty.
 */
export const hasOwnVariables = ({ document }: Route): boolean => !document.includes('$input');

/** True if an Idempotency-Key applies. Other methods are idempotent anyway (RFC 9110 section 9.2.2). */
export const acceptsIdempotencyKey = (method: Method): boolean => method === 'POST' || method === 'PATCH';

/** True if the whole list can be exported. An endless one has a stream instead. */
export const isExportable = ({ list }: Pick<Route, 'list'>): boolean => list === 'pages';

/** The media type of a list with one record per line (https://github.com/ndjson/ndjson-spec). */
export const NDJSON = 'application/x-ndjson';

/** The maximum number of records in an export. */
export const MAX_EXPORT_SIZE = 1_000_000;

const JSON_TYPES = ['application/json'];
const PATCH_TYPES = [...JSON_TYPES, 'application/merge-patch+json'];

/** The accepted media types for the body of a method, the default first. */
export const bodyTypesOf = (method: Method) => (method === 'PATCH' ? PATCH_TYPES : JSON_TYPES);

/** The dates of deprecated operations, as configured. */
export interface Lifecycle {
  /** Milliseconds since 1970. */
  DEPRECATION_DATE: number;
  SUNSET_DATE: number;
  /** True if deprecated operations stop working at the sunset date. */
  SUNSET_ENFORCED: boolean;
}
