import type { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import type { QueryParameter } from './parameter.ts';
import type { JsonSchema, Shape } from './shape.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Stability = 'stable' | 'beta' | 'experimental';

/** What operations are grouped by, in the order in which they are shown. */
export const TAGS = {
  Pets: 'Pets and the categories they belong to.',
  Store: 'Orders and the stock of pets.',
} as const;
type Tag = keyof typeof TAGS;

/** A request body: the name of its schema, its rules, and the mutation input made of it. */
export interface Body {
  name: string;
  rules: z.ZodObject;
  /** What it is; by default what its method does with it. */
  description?: string;
  /** By default the fields of the shape's example that the rules know. */
  example?: JsonSchema;
  /** Full replacement: what the body leaves out is removed. */
  toInput?: (body: never) => object;
  /** The field of the body that may repeat the id of the path. */
  ownId?: string;
  /** Fields of the resource that the body may repeat as they are, so that what a GET gave can be put back. */
  mirrors?: readonly string[];
}

/** What callers of an operation that will end have to know; the dates are those of the configuration. */
interface Deprecation {
  /** What to use instead, as Markdown that completes "Use … instead". */
  replacement: string;
  /** Where that is: the target of `rel="successor-version"`. */
  successor: `/${string}`;
}

/**
 * One REST operation. A row of these is all there is to say about it: the router, the handler, the OpenAPI description
 * and the tests run over the rows of all domains.
 */
export interface Route {
  operationId: string;
  method: Method;
  /** As OpenAPI writes it, relative to the base path. */
  path: `/${string}`;
  tag: Tag;
  stability: Stability;
  summary: string;
  /** What its method, its list and its stability don't say already. */
  description?: string;
  /**
   * The GraphQL operation that it runs. Variables bear the names of path and query parameters, and `input`; a record is
   * answered as `result`, a list as `page`, which may be below `parent`.
   */
  document: string;
  /** What is missing when there is nothing to answer with. */
  kind: string;
  status: 200 | 201 | 204;
  /** Missing where the answer has no body. */
  shape?: Shape;
  list?: true;
  /** A list that goes on: a link to what comes next is on every page. */
  endless?: true;
  pathParameter?: string;
  query?: readonly QueryParameter[];
  body?: Body;
  /** What answers an empty merge patch, where the mutation can't take one. */
  unchanged?: string;
  /** What the rules of the domain refuse, beside what HTTP and the gateway refuse. */
  errors?: readonly ErrorCode[];
  /** Past its deprecation date, with a sunset date. */
  deprecation?: Deprecation;
  /** The try-it panel of the documentation is disabled for it. */
  explorer?: false;
}

/** An operation that answers with a stream of server-sent events instead of running a document. */
export interface Stream
  extends Pick<
    Route,
    'operationId' | 'path' | 'tag' | 'stability' | 'summary' | 'description' | 'query' | 'errors'
  > {
  method: 'GET';
  /** Of the data of its events. */
  shape: Shape;
}

/** What a domain contributes to REST. */
export interface Resource {
  shape: Shape;
  routes: readonly Route[];
  streams?: readonly Stream[];
  /** Schemas that its fields and parameters name. */
  schemas?: Readonly<Record<string, JsonSchema>>;
}

/** Whether an Idempotency-Key makes the method safe to repeat; the others are by themselves (RFC 9110 section 9.2.2). */
export const acceptsIdempotencyKey = (method: Method): boolean => method === 'POST' || method === 'PATCH';
