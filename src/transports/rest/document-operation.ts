import { requireScopes } from '../../access/scopes.ts';
import type { Session } from '../../access/session.ts';
import type { EventStreams } from '../../domains/event/streams.ts';
import { runOnce } from '../../execution/idempotency.ts';
import type { InternalOperation, Operations } from '../../execution/operations.ts';
import { AppError, validationFailed } from '../../foundation/errors.ts';
import { andThen, type MaybePromise } from '../../foundation/maybe-promise.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { HttpResponse } from '../../http/response.ts';
import { type Context, newContext } from '../../schema/context.ts';
import { limit } from '../../schema/parameter.ts';
import { isExportable, NDJSON, type Route } from '../../schema/route.ts';
import { idempotencyFor } from '../idempotency.ts';
import { type ExportSource, type Exports, exportLimit } from './export.ts';
import { readInput, readObject } from './input.ts';
import { negotiateInt64Format, prefersNdjson } from './media-types.ts';
import { COST, type PathParameters, type RestOperation } from './operation.ts';
import { idOf, pageOf, recordOf, toResponse } from './output.ts';
import { poll } from './poll.ts';
import { preconditionOf, requireMirrored } from './preconditions.ts';
import { writerFor } from './representation.ts';

export interface DocumentServices {
  operations: Operations;
  exports: Exports;
  streams: EventStreams;
}

/** Validates the request, runs the route's document and answers with its result as JSON. */
export class DocumentOperation implements RestOperation {
  readonly row: Route;
  readonly #run: InternalOperation;
  /** The query that answers an empty merge patch, if the mutation does not accept one. */
  readonly #runUnchanged: InternalOperation | undefined;
  /** The scopes that a key needs for it. */
  readonly #scopes: readonly string[];
  readonly #exports: Exports;
  readonly #streams: EventStreams;

  constructor(route: Route, { operations, exports, streams }: DocumentServices) {
    this.row = route;
    this.#exports = exports;
    this.#streams = streams;
    this.#run = operations.prepareInternal(route.document);
    this.#scopes = operations.scopesOfRow(route, this.#run);
    this.#runUnchanged =
      route.unchanged === undefined ? undefined : operations.prepareInternal(route.unchanged);
  }

  handle(context: RequestContext, session: Session, parameters: PathParameters): MaybePromise<HttpResponse> {
    const exportable = isExportable(this.row);
    if (exportable && prefersNdjson(context.headers.accept))
      return this.#export(context, session, parameters);
    if (negotiateInt64Format(context.headers.accept) === null) {
      const types = exportable ? `application/json or ${NDJSON}` : 'application/json';
      throw new AppError('NOT_ACCEPTABLE', `This operation responds with ${types} only.`);
    }
    return this.row.body
      ? this.#handleWithBody(context, session, parameters)
      : this.#handleWithoutBody(context, session, parameters);
  }

  #export(context: RequestContext, session: Session, parameters: PathParameters): MaybePromise<HttpResponse> {
    const { row } = this;
    const query = row.query!.map((parameter) => (parameter === limit ? exportLimit(limit) : parameter));
    const { variables, issues } = readInput(context, { ...row, query }, parameters);
    if (issues.length > 0) throw validationFailed(issues);
    requireScopes(session.principal, this.#scopes);
    const shape = row.shape!;
    const source: ExportSource = {
      readPage: async (limit, after) => {
        const page = { ...variables, limit, after };
        return pageOf(row, page, await this.#run(page, callOf(context, session)));
      },
      write: writerFor(shape.type, 'integer'),
      idOf: (record) => idOf(shape, record),
      after: variables.after as string | undefined,
      limit: variables.limit as number | undefined,
    };
    return andThen(session.admit(COST, 0), () => this.#exports.open(context, session, source));
  }

  #handleWithoutBody(
    context: RequestContext,
    session: Session,
    parameters: PathParameters,
  ): MaybePromise<HttpResponse> {
    const { row } = this;
    const { variables, issues } = readInput(context, row, parameters);
    if (issues.length > 0) throw validationFailed(issues);
    requireScopes(session.principal, this.#scopes);
    const run = (given: object) => this.#run(given as typeof variables, callOf(context, session));
    return andThen(session.admit(COST, row.method === 'GET' ? 0 : 1), () =>
      andThen(
        variables.wait === undefined
          ? run(variables)
          : poll(this.#streams, context, session, variables as never, run),
        (result) => toResponse(context, row, variables, result),
      ),
    );
  }

  async #handleWithBody(
    context: RequestContext,
    session: Session,
    parameters: PathParameters,
  ): Promise<HttpResponse> {
    const { row } = this;
    const body = await readObject(context, row);
    const { variables, issues } = readInput(context, row, parameters, body);
    const call = callOf(context, session);
    if (issues.length > 0) {
      await session.charge(COST);
      return this.#refuse(call, { ...parameters, body }, validationFailed(issues));
    }
    requireScopes(session.principal, this.#scopes);
    const { mirrors } = row.body!;
    if (mirrors) call.precondition = requireMirrored(call.precondition, mirrors, body);
    if (this.#runUnchanged && Object.keys(variables.input as object).length === 0) {
      await session.charge(COST);
      return this.#handleUnchanged(context, this.#runUnchanged, variables, call);
    }
    await session.admit(COST, 1);
    return toResponse(context, row, variables, await this.#run(variables, call));
  }

  /** The first outcome of an idempotent call is stored even if it is a refusal. */
  async #refuse(call: Context, input: object, error: AppError): Promise<HttpResponse> {
    if (call.idempotency) {
      await runOnce(call, this.row.operationId, input, () => {
        throw error;
      });
    }
    throw error;
  }

  /** Answers an empty merge patch with the unchanged record, or a repeated call with its first outcome. */
  async #handleUnchanged(
    context: RequestContext,
    run: InternalOperation,
    variables: Record<string, unknown>,
    call: Context,
  ): Promise<HttpResponse> {
    const { row } = this;
    const read = await run(variables, call);
    const check = () => {
      const record = recordOf(row, variables, read);
      call.precondition?.(row.shape!.type, record);
      return record;
    };
    const record = call.idempotency ? await runOnce(call, row.operationId, variables, check) : check();
    return toResponse(context, row, variables, { data: { result: record } });
  }
}

const callOf = (context: RequestContext, session: Session): Context =>
  newContext(session, {
    cost: COST,
    requestId: context.requestId,
    precondition: preconditionOf(context.header('if-match')),
    idempotency: idempotencyFor(context, 0),
  });
