import type { AppError } from '../foundation/errors.ts';
import type { MaybePromise } from '../foundation/turns.ts';
import type { RequestContext } from './request-context.ts';
import type { HttpResponse } from './response.ts';

/**
 * A way to call the gateway over HTTP. The first transport that matches a request admits and handles it, and the
 * response writer responds (drawn in docs/architecture.md).
 */
export interface Transport {
  /** For the log and the metrics. */
  readonly name: string;
  /**
   * The Vary header for responses to reads, which are then also marked as private to the key. Absent if responses set
   * these headers themselves.
   */
  readonly vary?: string;
  /** The roots (`RequestContext.root`) of the paths that it may match; any path if absent. */
  readonly roots?: readonly string[];
  /** Matches a request below its roots; all of them if absent. */
  match?(context: RequestContext): boolean;
  /** Admits or refuses a request before any of its body is read. @throws AppError */
  admit(context: RequestContext): MaybePromise<void>;
  /** @throws AppError for an invalid or refused request, possibly before anything is charged */
  handle(context: RequestContext): MaybePromise<HttpResponse>;
  /** Formats an error for the transport's clients. */
  errorResponse(error: AppError, context: RequestContext): HttpResponse;
  /** Loads rarely used modules. */
  load?(): Promise<unknown>;
}

/** GraphQL for programs, GraphiQL for browsers. */
export const GRAPHQL_PATH = '/graphql';
/** The price of a GraphQL request that is not run. */
export const COST_PATH = '/graphql/cost';
/** The Model Context Protocol, for agents. */
export const MCP_PATH = '/mcp';
