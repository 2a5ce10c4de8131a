import type { Session } from '../../access/session.ts';
import { ALLOWANCES, Meter } from '../../foundation/meter.ts';
import { ownTurn } from '../../foundation/turns.ts';
import { etagOfPieces, meteredPieces, sendPieces } from '../../http/paced-response.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { HttpResponse } from '../../http/response.ts';
import { jsonPieces } from '../../kit/json.ts';
import type { PublicResult } from '../../operations/execute.ts';
import type { PreparedEntry, PreparedRequest } from '../../operations/prepared-request.ts';
import { OperationRefused } from '../../operations/refusal.ts';
import { run, statusOf } from './run.ts';

/** Answers up to this cost are held as a whole, about ten megabytes at most. */
const MAX_HELD_COST = 10;

/** Bytes of UTF-8 that a UTF-16 code unit takes at most. */
const MAX_BYTES_PER_UNIT = 3;

/** Whether the answer is sent in pieces. */
export const isLarge = ({ cost }: PreparedRequest): boolean => cost > MAX_HELD_COST;

/** Runs a request and answers it as JSON: small answers as a whole, others in pieces. */
export async function answer(
  context: RequestContext,
  session: Session,
  prepared: PreparedRequest,
  contentType: string,
): Promise<HttpResponse> {
  const { batch, cost, mutations, operations } = prepared;
  const runNth = (operation: PreparedEntry, index: number) => run(context, session, operation, index);
  if (!batch) {
    const [operation] = operations as [PreparedEntry];
    const result = await runNth(operation, 0);
    const status = statusOf(result);
    if (!isLarge(prepared))
      return { status, headers: [], body: metered(cost, stringify(operation, result)), contentType };
    const head = { status, headers: [], contentType };
    const isRead = context.method !== 'POST' && head.status === 200;
    return {
      ...head,
      ...(isRead && { etag: await etagOfPieces(jsonPieces(result)) }),
      stream: (response) => sendPieces(response, meteredPieces(cost, jsonPieces(result))),
    };
  }
  const head = { status: 200, headers: [], contentType };
  if (isLarge(prepared)) {
    // Writes are not left undone because the client does not read.
    const results = mutations > 0 ? await runEach(operations, runNth) : runInTurn(operations, runNth);
    return { ...head, stream: (response) => sendPieces(response, meteredPieces(cost, piecesOf(results))) };
  }
  const texts = (await Promise.all(operations.map(runNth))).map((result, index) =>
    stringify(operations[index]!, result),
  );
  return { ...head, body: metered(cost, `[${texts.join(',')}]`) };
}

/** Draws an answer on what was paid for. @throws QUERY_TOO_COMPLEX */
function metered(cost: number, body: string): string {
  if (body.length * MAX_BYTES_PER_UNIT > ALLOWANCES.bytesWritten.free)
    new Meter(cost).draw('bytesWritten', Buffer.byteLength(body));
  return body;
}

/** The results of a batch, which has at least one, as a JSON array. */
async function* piecesOf(
  results: Iterable<PublicResult> | AsyncIterable<PublicResult>,
): AsyncGenerator<string, void, undefined> {
  let mark = '[';
  for await (const result of results) {
    yield mark;
    mark = ',';
    yield* jsonPieces(result);
  }
  yield ']';
}

type RunNth = (operation: PreparedEntry, index: number) => Promise<PublicResult>;

/** Runs the operations of a batch one after the other, and lets others in between them. */
async function runEach(operations: readonly PreparedEntry[], runNth: RunNth): Promise<PublicResult[]> {
  const results: PublicResult[] = [];
  for (const [index, operation] of operations.entries()) {
    results.push(await runNth(operation, index));
    await ownTurn();
  }
  return results;
}

/** Runs the operations of a batch one at a time, so that only one result is held. */
async function* runInTurn(
  operations: readonly PreparedEntry[],
  runNth: RunNth,
): AsyncGenerator<PublicResult, void, undefined> {
  for (const [index, operation] of operations.entries()) yield await runNth(operation, index);
}

const stringify = (operation: PreparedEntry, result: PublicResult): string =>
  operation instanceof OperationRefused ? JSON.stringify(result) : operation.stringify(result);
