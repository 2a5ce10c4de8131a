import { setTimeout as sleep } from 'node:timers/promises';
import { CLIENT_DISCONNECTED, endReason, isFault, SERVER_STOPPING } from '../../access/open-streams.ts';
import type { Session } from '../../access/session.ts';
import { AppError, asAppError } from '../../foundation/errors.ts';
import { ownTurn } from '../../foundation/turns.ts';
import { PacedResponse } from '../../http/paced-response.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { HttpResponse } from '../../http/response.ts';
import { MAX_PAGE_SIZE } from '../../kit/connection.ts';
import { integerParameter, type QueryParameter } from '../../rows/parameter.ts';
import { writeRecord } from '../../rows/representation.ts';
import { MAX_EXPORT_SIZE, NDJSON } from '../../rows/route.ts';
import type { Shape } from '../../rows/shape.ts';
import { endOf, type ResultPage } from '../route-operation.ts';
import type { TransportServices } from '../transport-services.ts';

/** Pages sent between two pauses of a millisecond, without which an export takes a processor for itself. */
const PAGES_WITHOUT_PAUSE = 5;

const stopping = () => new AppError('UNAVAILABLE', 'The server is stopping. Continue after `after`.');

/** Replaces the parameter `limit` of a list. */
export const exportLimit = (limit: QueryParameter): QueryParameter => ({
  ...limit,
  ...integerParameter(1, MAX_EXPORT_SIZE),
});

/** A list to export. */
export interface ExportSource {
  shape: Shape;
  /** Reads the next page of at most `limit` records. The start of the list has no `after`. */
  readPage(limit: number, after: string | undefined): Promise<ResultPage>;
  after: string | undefined;
  /** All by default. */
  limit: number | undefined;
}

/** The pages of a list. Each is paid for with a unit before it is given, as a page of a list is, but the first. */
async function* pagesOf(source: ExportSource, session: Session): AsyncGenerator<ResultPage> {
  const { shape, readPage, limit = Number.POSITIVE_INFINITY } = source;
  let { after } = source;
  let left = limit;
  for (let count = 1; ; count++) {
    const page = await readPage(Math.min(MAX_PAGE_SIZE, left), after);
    if (count > 1 && page.nodes.length > 0) await session.charge(1);
    yield page;
    left -= page.nodes.length;
    if (!page.pageInfo.hasNextPage || left === 0) return;
    after = endOf(shape, page);
    // Lets other requests in, and now and then other processes too.
    await (count % PAGES_WITHOUT_PAUSE === 0 ? sleep(1) : ownTurn());
  }
}

/**
 * Exports a list, a record per line (https://github.com/ndjson/ndjson-spec), once it has been paid for. The first page
 * is read before the response begins, so that a list that does not exist is an error as usual.
 *
 * @throws RATE_LIMITED if the key has as many streams open as its plan allows, and whatever reading throws
 */
export async function openExport(
  source: ExportSource,
  session: Session,
  { openStreams, report }: Pick<TransportServices, 'openStreams' | 'report'>,
  { method, apiKey, requestId }: RequestContext,
): Promise<HttpResponse> {
  const head = { status: 200, headers: ['X-Accel-Buffering', 'no'], contentType: NDJSON };
  const pages = pagesOf(source, session);
  if (method === 'HEAD') {
    await pages.next();
    return { ...head, stream: async () => ({}) };
  }
  /** What ended it early. */
  let failure: unknown;
  let onFailure = () => {};
  const fail = (error: unknown) => {
    failure ??= error;
    onFailure();
  };
  const remove = openStreams.add({ session, key: apiKey!, fail });
  const first = await pages.next().catch((error: unknown) => {
    remove();
    throw error;
  });
  return {
    ...head,
    async stream(response) {
      const paced = new PacedResponse(response, () => fail(CLIENT_DISCONNECTED));
      onFailure = () => paced.end();
      const { shape } = source;
      let { after = '0' } = source;
      let rows = 0;
      try {
        for (let next = first; !next.done && failure === undefined; next = await pages.next()) {
          const { nodes } = next.value;
          let lines = '';
          for (const record of nodes) lines += `${writeRecord(shape, 'integer', record)}\n`;
          rows += nodes.length;
          after = endOf(shape, next.value) ?? after;
          if (lines !== '') await paced.write(lines);
        }
      } catch (error) {
        fail(error);
      }
      remove();
      if (failure === undefined) {
        response.end();
        return { rows, end: 'complete' };
      }
      if (isFault(failure)) report(failure, requestId);
      const error = failure === SERVER_STOPPING ? stopping() : asAppError(failure);
      if (failure === CLIENT_DISCONNECTED) response.destroy();
      else response.end(`${JSON.stringify({ ...error.toPublic(), after })}\n`);
      return { rows, end: endReason(failure) };
    },
  };
}
