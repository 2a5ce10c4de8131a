import type { AppError } from '../foundation/errors.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { RequestContext } from './request-context.ts';
import type { HttpResponse } from './response.ts';

/**
 * One way to call the gateway over HTTP. Each request goes through four phases, which docs/architecture.md draws: the
 * first transport that matches it admits and handles it, and the response writer responds.
 */
export interface Transport {
  /** For the log and the metrics. */
  readonly name: string;
  /**
   * The request headers that select its responses to reads, as in Vary, which are then marked as private to the key.
   * Absent if its responses set these headers themselves.
   */
  readonly vary?: string;
  /** The roots of the paths that it may match (`RequestContext.root`). Absent if it may match any path. */
  readonly roots?: readonly string[];
  /** Absent if it matches all requests below its roots. */
  match?(context: RequestContext): boolean;
  /** Decides whether the caller may send this request, before anything of its body is read. @throws AppError */
  admit(context: RequestContext): MaybePromise<void>;
  /** @throws AppError for requests that are invalid or refused, possibly before anything is charged */
  handle(context: RequestContext): MaybePromise<HttpResponse>;
  /** Writes an error in the transport's own format. */
  errorResponse(error: AppError, context: RequestContext): HttpResponse;
  /** Loads modules that are slow to load and rarely needed. */
  load?(): Promise<void>;
}

/** Serves GraphQL to programs and GraphiQL to browsers. */
export const GRAPHQL_PATH = '/graphql';
/** Prices a GraphQL request without running it. */
export const COST_PATH = '/graphql/cost';
/** Serves agents. */
export const MCP_PATH = '/mcp';
