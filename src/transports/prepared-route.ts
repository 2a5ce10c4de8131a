import { CLIENT_DISCONNECTED } from '../access/open-streams.ts';
import { requireScopes } from '../access/scopes.ts';
import type { Session, UsageSubject } from '../access/session.ts';
import { wantedEvents } from '../domains/event/event.ts';
import type { EventTypeName } from '../events/event-types.ts';
import { AppError, notFound, ReportedError } from '../foundation/errors.ts';
import { formatDate } from '../foundation/instant.ts';
import { andThen, type MaybePromise } from '../foundation/turns.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { Context } from '../schema/context.ts';
import type { InternalOperation } from '../graphql/operations.ts';
import type { PublicResult } from '../graphql/result.ts';
import type { ServedRoute } from '../rest-routes/route.ts';
import type { Shape } from '../rest-routes/shape.ts';
import type { Variables } from './input.ts';
import type { TransportServices } from './transport-services.ts';

/** The cost of calling a route, in units. */
export const ROUTE_PRICE = 1;

/** A route that runs over any transport. */
export class PreparedRoute {
  readonly route: ServedRoute;
  readonly #transport: UsageSubject['transport'];
  readonly #services: TransportServices;
  #operation: InternalOperation | undefined;
  #subject: UsageSubject | undefined;

  constructor(route: ServedRoute, transport: UsageSubject['transport'], services: TransportServices) {
    this.route = route;
    this.#transport = transport;
    this.#services = services;
  }

  /** Prepared at the first call, which takes 4 ms: all of them would be a third of the time of a start. */
  get #prepared(): InternalOperation {
    return (this.#operation ??= this.#services.operations.prepareInternal(this.route.document));
  }

  /** The usage subject: the transport, and the root field of the document with its price. */
  get subject(): UsageSubject {
    this.#subject ??= {
      transport: this.#transport,
      rootFields: [{ name: this.#prepared.field.name, units: ROUTE_PRICE }],
    };
    return this.#subject;
  }

  /** Runs a call that has been charged. */
  execute(variables: Variables, context: Context): MaybePromise<PublicResult> {
    return this.#prepared(this.route.variables?.(variables) ?? variables, context);
  }

  /**
   * Begins a call by path, and makes it the subject of the session's next charges.
   *
   * @throws GONE after the sunset date, if enforced
   */
  enter(session: Session): void {
    session.subject = this.subject;
    const { SUNSET_DATE, SUNSET_ENFORCED } = this.#services.config;
    const { deprecation } = this.route;
    if (deprecation === undefined || !SUNSET_ENFORCED || session.now() < SUNSET_DATE) return;
    const date = formatDate(SUNSET_DATE);
    throw new AppError('GONE', `This operation ended on ${date}. Use ${deprecation.replacement} instead.`);
  }

  /** Charges a call. @throws FORBIDDEN, RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE */
  charge(session: Session): MaybePromise<void> {
    // Most keys may do everything.
    if (session.principal.scopes) requireScopes(session.principal, this.route.scopes);
    return session.charge(ROUTE_PRICE, this.route.method === 'GET' ? 0 : 1);
  }

  /** Charges a response that stays open as long as its key permits it. @throws like `charge` */
  chargeStream(session: Session): MaybePromise<void> {
    session.require((principal) => requireScopes(principal, this.route.scopes));
    return this.charge(session);
  }

  /**
   * Charges and runs a call, twice if it waits for the first event (long polling).
   *
   * @param variables valid variables of the document
   * @param contextOf creates the context of each run
   * @throws FORBIDDEN, RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE; other errors are in the result
   */
  run(
    request: RequestContext,
    session: Session,
    variables: Variables,
    contextOf: () => Context,
  ): MaybePromise<PublicResult> {
    if (variables.wait !== undefined) return this.#poll(request, session, variables as never, contextOf);
    return andThen(this.charge(session), () => this.execute(variables, contextOf()));
  }

  async #poll(
    { response }: RequestContext,
    session: Session,
    { wait, ...variables }: EventVariables & { wait: number },
    contextOf: () => Context,
  ): Promise<PublicResult> {
    const { openStreams, streams } = this.#services;
    const stream = await openStreams.open(session, () => this.chargeStream(session));
    try {
      response.once('close', () => stream.ending.abort(CLIENT_DISCONNECTED));
      const result = await this.execute(variables, contextOf());
      // An error ends the poll, like a page with events.
      const page = result.errors ? undefined : (result.data as { page: Required<ResultPage> }).page;
      if (page?.nodes.length !== 0) return result;
      const next = { ...variables, after: page.pageInfo.endCursor };
      const wanted = wantedEvents({ ...next, types: next.type });
      const isThere = await streams.waitFor(stream, wanted, wait * 1_000);
      return isThere ? await this.execute(next, contextOf()) : result;
    } finally {
      stream.close();
    }
  }

  /** The page of a list in a result. @throws the error in the result, NOT_FOUND for no such list */
  pageOf(variables: Readonly<Variables>, result: PublicResult): ResultPage {
    const isBackward = this.route.list === 'log' && variables.sort === '-id';
    throwErrorOf(result, isBackward);
    const { page, parent } = result.data as { page?: ResultList; parent?: Parent | Parent[] | null };
    const list = page ?? (Array.isArray(parent) ? (parent[0]?.page ?? []) : parent?.page);
    if (!list) throw this.#missing(variables);
    if (isBackward) {
      const { nodes, pageInfo } = list as ResultPage;
      const { startCursor: endCursor, hasPreviousPage: hasNextPage } = pageInfo;
      return {
        nodes: nodes.toReversed(),
        pageInfo: { hasNextPage: hasNextPage!, ...(endCursor && { endCursor }) },
      };
    }
    return Array.isArray(list) ? { nodes: list, pageInfo: { hasNextPage: false } } : list;
  }

  /** The single record of a result. @throws the error in the result, NOT_FOUND for no record */
  recordOf(variables: Readonly<Variables>, result: PublicResult): object {
    throwErrorOf(result);
    const { result: record } = result.data as { result?: object | null };
    if (!record) throw this.#missing(variables);
    return record;
  }

  #missing(variables: Readonly<Variables>): AppError {
    const { kind, pathParameter } = this.route;
    return notFound(kind, String(variables[pathParameter!]));
  }
}

/** The variables of a list or stream of events. */
export interface EventVariables {
  after?: string | undefined;
  type?: readonly EventTypeName[];
}

/** A page of a list, or a whole list. */
type ResultList = ResultPage | object[];

interface Parent {
  page: ResultList;
}

export interface ResultPage {
  nodes: object[];
  /** `endCursor` is set if the list's cursors are not ids. */
  pageInfo: { hasNextPage: boolean; endCursor?: string; hasPreviousPage?: boolean; startCursor?: string };
}

/** The position of a page's end, to continue from; undefined for an empty page without a cursor. */
export const endOf = (shape: Shape, { nodes, pageInfo }: ResultPage): string | undefined =>
  pageInfo.endCursor ?? (nodes.length > 0 ? idOf(shape, nodes.at(-1)!) : undefined);

export const idOf = (shape: Shape, record: object): string =>
  (record as Record<string, string>)[Object.keys(shape.fields)[0]!]!;

/**
 * @param isBackward true if `after` was passed on as `before`
 * @throws the first error in a result, if any
 */
export function throwErrorOf({ errors, retryAfter }: PublicResult, isBackward = false): void {
  if (!errors) return;
  const { message: text, extensions } = errors[0]!;
  const message = isBackward ? text.replace(/^before: /, 'after: ') : text;
  const options = retryAfter === undefined ? {} : { retryAfter };
  throw new ReportedError((extensions as AppError['extensions']).code, message, options);
}
