import { requireScopes } from '../access/scopes.ts';
import type { Session, UsageSubject } from '../access/session.ts';
import { scopesOf } from '../domains/routes.ts';
import { type AppError, notFound, ReportedError } from '../foundation/errors.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { Context } from '../kit/context.ts';
import type { InternalOperation, Operations } from '../operations/operations.ts';
import type { PublicResult } from '../operations/result.ts';
import type { Route } from '../rows/route.ts';
import type { Shape } from '../rows/shape.ts';

/** In units: a call of a route counts as one request. */
export const ROUTE_COST = 1;

type Variables = Record<string, unknown>;

/** A route, prepared at startup to be run over any transport. */
export class RouteOperation {
  readonly route: Route;
  /** The scopes that a key needs for it. */
  readonly scopes: readonly string[];
  /** The root field of its document with its price, which usage is recorded under. */
  readonly charges: UsageSubject['operations'];
  /** Runs a call that has been charged. */
  readonly read: InternalOperation;

  constructor(route: Route, operations: Operations) {
    this.route = route;
    const read = operations.prepareInternal(route.document);
    const { variables } = route;
    this.read = variables
      ? Object.assign(((given, context) => read(variables(given), context)) as typeof read, {
          field: read.field,
        })
      : read;
    this.scopes = scopesOf(route);
    this.charges = [{ name: this.read.field.name, units: ROUTE_COST }];
  }

  /** Charges a call. @throws FORBIDDEN, RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE */
  charge(session: Session): MaybePromise<void> {
    // The common case is a key that may do everything.
    if (session.principal.scopes) requireScopes(session.principal, this.scopes);
    return session.charge(ROUTE_COST, this.route.method === 'GET' ? 0 : 1);
  }

  /**
   * Charges a call and runs it.
   *
   * @param variables valid values of the document's variables
   * @throws FORBIDDEN, RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE; other errors are in the result
   */
  run(session: Session, variables: Variables, context: Context): MaybePromise<PublicResult> {
    const charged = this.charge(session);
    return charged instanceof Promise
      ? charged.then(() => this.read(variables, context))
      : this.read(variables, context);
  }
}

/** A page of a list, or all of it. */
type ResultList = ResultPage | object[];

interface Parent {
  page: ResultList;
}

export interface ResultPage {
  nodes: object[];
  /** `endCursor` is present if the list's cursors are not ids. */
  pageInfo: { hasNextPage: boolean; endCursor?: string; hasPreviousPage?: boolean; startCursor?: string };
}

/** The page of a list in a result. @throws the error in the result, NOT_FOUND if there is no such list */
export function pageOf(route: Route, variables: Readonly<Variables>, result: PublicResult): ResultPage {
  throwErrorOf(result);
  const data = result.data as { page?: ResultList; parent?: Parent | Parent[] | null };
  const { parent } = data;
  const list = data.page ?? (Array.isArray(parent) ? (parent[0]?.page ?? []) : parent?.page);
  if (!list) throw missing(route, variables);
  if (route.list === 'log' && variables.sort === '-id') {
    const { nodes, pageInfo } = list as ResultPage;
    const { startCursor: endCursor, hasPreviousPage: hasNextPage } = pageInfo;
    return {
      nodes: nodes.toReversed(),
      pageInfo: { hasNextPage: hasNextPage!, ...(endCursor && { endCursor }) },
    };
  }
  return Array.isArray(list) ? { nodes: list, pageInfo: { hasNextPage: false } } : list;
}

/** The single record of a result. @throws the error in the result, NOT_FOUND if there is none */
export function recordOf(route: Route, variables: Readonly<Variables>, result: PublicResult): object {
  throwErrorOf(result);
  const record = (result.data as { result?: object | null }).result;
  if (!record) throw missing(route, variables);
  return record;
}

/** The place of a page's end, to continue from; that of an empty page is unknown unless it has a cursor. */
export const endOf = (shape: Shape, { nodes, pageInfo }: ResultPage): string | undefined =>
  pageInfo.endCursor ?? (nodes.length > 0 ? idOf(shape, nodes.at(-1)!) : undefined);

export const idOf = (shape: Shape, record: object): string =>
  (record as Record<string, string>)[Object.keys(shape.fields)[0]!]!;

const missing = ({ kind, pathParameter }: Route, variables: Readonly<Variables>) =>
  notFound(kind, String(variables[pathParameter!]));

/** @throws the first error in a result, if there is any */
export function throwErrorOf({ errors, retryAfter }: PublicResult): void {
  if (!errors) return;
  const { message, extensions } = errors[0]!;
  const options = retryAfter === undefined ? {} : { retryAfter };
  throw new ReportedError((extensions as AppError['extensions']).code, message, options);
}
