import { requireScopes } from '../../access/scopes.ts';
import type { Session, UsageSubject } from '../../access/session.ts';
import type { EventStreams } from '../../domains/event/streams.ts';
import { type Int64Format, writeRecord } from '../../execution/representation.ts';
import { idOf, pageOf, ROUTE_COST, RouteOperation } from '../../execution/route-operation.ts';
import { AppError, validationFailed } from '../../foundation/errors.ts';
import { andThen, type MaybePromise } from '../../foundation/maybe-promise.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { HttpResponse } from '../../http/response.ts';
import { type Context, newContext } from '../../schema/context.ts';
import { limit } from '../../schema/parameter.ts';
import { isExportable, NDJSON, type Route, repeatableFields } from '../../schema/route.ts';
import { idFieldOf } from '../../schema/shape.ts';
import { idempotencyFor } from '../idempotency.ts';
import { poll } from '../poll.ts';
import type { TransportServices } from '../transport-services.ts';
import { type ExportSource, type Exports, exportLimit } from './export.ts';
import { readInput, readObject } from './input.ts';
import { negotiateFormat } from './media-types.ts';
import type { PathParameters, RestOperation } from './operation.ts';
import { toResponse } from './output.ts';
import { preconditionOf, requireRepeated } from './preconditions.ts';

/** Validates the request, runs the route's document and answers with its result as JSON or line by line. */
export class DocumentOperation implements RestOperation {
  readonly row: Route;
  readonly subject: UsageSubject;
  readonly #operation: RouteOperation;
  /** The fields that a body may repeat if they are the record's, apart from its id. */
  readonly #repeatable: readonly string[];
  readonly #exports: Exports;
  readonly #streams: EventStreams;

  constructor(
    route: Route,
    {
      operations,
      exports,
      streams,
    }: Pick<TransportServices, 'operations' | 'streams'> & { exports: Exports },
  ) {
    this.row = route;
    this.#operation = new RouteOperation(route, operations);
    this.subject = { transport: 'rest', operations: this.#operation.charges };
    this.#repeatable = repeatableFields(route).filter((name) => name !== idFieldOf(route.shape!));
    this.#exports = exports;
    this.#streams = streams;
  }

  handle(context: RequestContext, session: Session, parameters: PathParameters): MaybePromise<HttpResponse> {
    const exportable = isExportable(this.row);
    const format = negotiateFormat(context.accept, exportable);
    if (format === undefined) {
      const types = exportable ? `application/json or ${NDJSON}` : 'application/json';
      throw new AppError('NOT_ACCEPTABLE', `This operation responds with ${types} only.`);
    }
    if (format === 'lines') return this.#export(context, session, parameters);
    return this.row.body
      ? this.#handleWithBody(context, session, parameters, format)
      : this.#handleWithoutBody(context, session, parameters, format);
  }

  #export(context: RequestContext, session: Session, parameters: PathParameters): MaybePromise<HttpResponse> {
    const { row } = this;
    const query = row.query!.map((parameter) => (parameter === limit ? exportLimit(limit) : parameter));
    const { variables, issues } = readInput(context, { ...row, query }, parameters);
    if (issues.length > 0) throw validationFailed(issues);
    session.require((principal) => requireScopes(principal, this.#operation.scopes));
    const shape = row.shape!;
    const source: ExportSource = {
      readPage: async (limit, after) => {
        const page = { ...variables, limit, after };
        return pageOf(row, page, await this.#operation.read(page, callOf(context, session)));
      },
      write: (record) => writeRecord(shape.type, 'integer', record),
      idOf: (record) => idOf(shape, record),
      after: variables.after as string | undefined,
      limit: variables.limit as number | undefined,
    };
    return andThen(this.#operation.admit(session), () => this.#exports.open(context, session, source));
  }

  #handleWithoutBody(
    context: RequestContext,
    session: Session,
    parameters: PathParameters,
    format: Int64Format,
  ): MaybePromise<HttpResponse> {
    const { row } = this;
    const { variables, issues } = readInput(context, row, parameters);
    if (issues.length > 0) throw validationFailed(issues);
    if (variables.wait !== undefined)
      session.require((principal) => requireScopes(principal, this.#operation.scopes));
    const read = (given: object) => this.#operation.read(given as typeof variables, callOf(context, session));
    return andThen(this.#operation.admit(session), () =>
      andThen(
        variables.wait === undefined
          ? read(variables)
          : poll(this.#streams, context, session, variables as never, read),
        (result) => toResponse(context, row, format, variables, result),
      ),
    );
  }

  async #handleWithBody(
    context: RequestContext,
    session: Session,
    parameters: PathParameters,
    format: Int64Format,
  ): Promise<HttpResponse> {
    const { row } = this;
    const body = await readObject(context, row);
    const { variables, issues } = readInput(context, row, parameters, body);
    const call = callOf(context, session);
    if (issues.length > 0)
      return this.#operation.refuse(session, { ...parameters, body }, call, validationFailed(issues));
    call.precondition = requireRepeated(call.precondition, this.#repeatable, body);
    const result = await this.#operation.run(session, variables, call);
    return toResponse(context, row, format, variables, result);
  }
}

const callOf = (context: RequestContext, session: Session): Context =>
  newContext(session, {
    cost: ROUTE_COST,
    requestId: context.requestId,
    precondition: preconditionOf(context.headers['if-match']),
    idempotency: idempotencyFor(context, 0),
  });
