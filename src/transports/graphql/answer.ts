import { createHash } from 'node:crypto';
import type { GraphQLFormattedError } from 'graphql';
import type { Session } from '../../access/session.ts';
import { formatBudget } from '../../domains/rate-limit.type.ts';
import { letOthersIn, ownTurn } from '../../foundation/turns.ts';
import { idempotencyOf } from '../../http/idempotency-key.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { etagOf, type HttpResponse, type StreamedBody } from '../../http/response.ts';
import { newContext } from '../../schema/context.ts';
import { jsonPieces } from '../../schema/json-text.ts';
import type { PreparedOperation } from '../../graphql/operations.ts';
import type { PreparedEntry, PreparedRequest } from '../../graphql/prepared-request.ts';
import { OperationRefused, type PublicResult } from '../../graphql/result.ts';
import { noteErrors } from './over-http.ts';

/** The maximum price of an answer that is held as text, about 10 MB. */
const MAX_HELD_PRICE = 10;

/** True if the answer must be sent in pieces. */
export const isLarge = ({ price }: PreparedRequest): boolean => price > MAX_HELD_PRICE;

/** Runs a request and responds with JSON. */
export async function answer(
  context: RequestContext,
  session: Session,
  prepared: PreparedRequest,
  contentType: string,
): Promise<HttpResponse> {
  const { batch, operations } = prepared;
  const runNth = (operation: PreparedEntry, index: number) => run(context, session, operation, index, batch);
  let results: PublicResult[] = [];
  if (batch && !isLarge(prepared)) results = await Promise.all(operations.map(runNth));
  else
    for (const [index, operation] of operations.entries()) {
      if (index > 0) await ownTurn();
      results.push(await runNth(operation, index));
    }
  const status = batch ? 200 : statusOf(results[0]!);
  const answered: HttpResponse = { status, headers: [], contentType };
  const isTagged = context.isRead && status === 200;
  if (isLarge(prepared)) {
    const pieces = () => jsonPieces(batch ? results : results[0]);
    if (isTagged) answered.etag = await etagOfPieces(pieces());
    const ending = new AbortController();
    answered.stream = { pieces: inTurns(pieces(), ending.signal), ending };
  } else {
    const texts = results.map((result, index) => stringify(operations[index]!, result));
    answered.body = batch ? `[${texts.join(',')}]` : texts[0]!;
    if (isTagged) answered.etag = etagOf(answered.body);
  }
  return answered;
}

/** Passes on the pieces of a body, and lets other requests run between them. */
async function* inTurns(pieces: Iterable<string>, signal?: AbortSignal): StreamedBody['pieces'] {
  for (const piece of pieces) {
    if (signal?.aborted) return { aborted: true };
    yield piece;
    await letOthersIn();
  }
  return {};
}

/** The entity tag (`etagOf`) of a body that is never in memory as a whole. */
async function etagOfPieces(pieces: Iterable<string>): Promise<string> {
  const digest = createHash('sha256');
  for await (const piece of inTurns(pieces)) digest.update(piece);
  return `"${digest.digest('base64url')}"`;
}

/** 200 if the operation ran; errors before that are 400. */
const statusOf = (result: PublicResult): number => ('data' in result ? 200 : 400);

const stringify = (operation: PreparedEntry, result: PublicResult): string =>
  operation instanceof OperationRefused ? JSON.stringify(result) : operation.stringify(result);

/** True if a query failed because of arguments that only resolvers can check, such as a position in the event log. */
const hasWrongArguments = (
  { operation }: PreparedOperation,
  errors: readonly GraphQLFormattedError[],
): boolean =>
  operation.operation === 'query' &&
  errors.every(({ extensions }) => extensions?.code === 'VALIDATION_FAILED');

/** Runs the nth operation of a request, or returns the errors that prevent it. */
export async function run(
  context: RequestContext,
  session: Session,
  operation: PreparedEntry,
  index: number,
  isInBatch = false,
): Promise<PublicResult> {
  let result: PublicResult;
  if (operation instanceof OperationRefused) result = { errors: [...operation.errors] };
  else {
    const { headers, requestId, response } = context;
    const { errors, data = null } = await operation.execute(
      newContext(session, {
        price: operation.price,
        charged: isInBatch ? operation.price : session.units,
        requestId,
        client: response,
        idempotency: idempotencyOf(context, headers['idempotency-key'], index),
      }),
    );
    if (!errors) result = { data };
    else if (data === null && hasWrongArguments(operation, errors)) result = { errors };
    else result = { errors, data };
  }
  if (result.errors) noteErrors(context, result.errors);
  if (context.headers['x-ratelimit-extension'] === 'on')
    result.extensions = { rateLimit: formatBudget(session.budget(session.units)) };
  return result;
}
