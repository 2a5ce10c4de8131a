import { CLIENT_DISCONNECTED, endReason, isFault, SERVER_STOPPING } from '../../access/open-streams.ts';
import type { Session } from '../../access/session.ts';
import { AppError, asAppError } from '../../foundation/errors.ts';
import { ownTurn } from '../../foundation/turns.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { HttpResponse, StreamedBody } from '../../http/response.ts';
import { onOneLine } from '../../schema/json-text.ts';
import { MAX_PAGE_SIZE } from '../../schema/list-connection.ts';
import type { Context } from '../../schema/context.ts';
import { integerParameter, type QueryParameter } from '../../rest-routes/parameter.ts';
import { shapeWriter } from '../../rest-routes/representation.ts';
import { MAX_EXPORT_SIZE, NDJSON } from '../../rest-routes/route.ts';
import type { Variables } from '../input.ts';
import { endOf, type ResultPage, type PreparedRoute } from '../prepared-route.ts';
import type { TransportServices } from '../transport-services.ts';

const stopping = () => new AppError('UNAVAILABLE', 'The server is stopping. Continue after `after`.');

/** The parameter `limit` with the maximum of an export. */
export const exportLimit = (limit: QueryParameter): QueryParameter => ({
  ...limit,
  ...integerParameter(1, MAX_EXPORT_SIZE),
});

/** A list to export. */
interface List {
  operation: PreparedRoute;
  variables: Variables & { after?: string; limit?: number };
  session: Session;
  /** Creates the context for reading a page. */
  contextOf: () => Context;
}

/** The pages of a list. Each one after the first costs a unit, like a page of a list, charged before it is returned. */
async function* pagesOf({ operation, variables, session, contextOf }: List): AsyncGenerator<ResultPage> {
  let { after, limit: left = Number.POSITIVE_INFINITY } = variables;
  for (let isFirst = true; ; isFirst = false) {
    const asked = { ...variables, limit: Math.min(MAX_PAGE_SIZE, left), after };
    const page = operation.pageOf(asked, await operation.execute(asked, contextOf()));
    if (!isFirst && page.nodes.length > 0) await session.charge(1);
    yield page;
    left -= page.nodes.length;
    if (!page.pageInfo.hasNextPage || left === 0) return;
    after = endOf(operation.route.shape!, page);
    // Yields to other requests.
    await ownTurn();
  }
}

/**
 * Charges and begins the export of a list, with one record per line (https://github.com/ndjson/ndjson-spec). The first
 * page is read before the response begins, so that a missing list is an ordinary error.
 *
 * @throws RATE_LIMITED if the plan allows no more open streams, and whatever charging and reading throw
 */
export async function openExport(
  list: List,
  { method, requestId }: RequestContext,
  { openStreams, report }: Pick<TransportServices, 'openStreams' | 'report'>,
): Promise<HttpResponse> {
  const { operation, session } = list;
  const charge = () => operation.chargeStream(session);
  const head = { status: 200, headers: [], contentType: NDJSON, live: true };
  const pages = pagesOf(list);
  if (method === 'HEAD') {
    await charge();
    await pages.next();
    return { ...head, stream: null };
  }
  const { ending, close } = await openStreams.open(session, charge);
  const first = await pages.next().catch((error: unknown) => {
    close();
    throw error;
  });
  const shape = operation.route.shape!;
  const writer = shapeWriter(shape, 'integer');

  async function* lines(): StreamedBody['pieces'] {
    let { after = '0' } = list.variables;
    let rows = 0;
    try {
      for (let next = first; !next.done; next = await pages.next()) {
        ending.signal.throwIfAborted();
        const { nodes } = next.value;
        rows += nodes.length;
        after = endOf(shape, next.value) ?? after;
        if (nodes.length > 0) yield nodes.map((record) => `${onOneLine(writer.one(record))}\n`).join('');
      }
      return { rows, end: 'complete' };
    } catch (error) {
      if (isFault(error)) report(error, requestId);
      const failure = error === SERVER_STOPPING ? stopping() : asAppError(error);
      if (error !== CLIENT_DISCONNECTED) yield `${JSON.stringify({ ...failure.toPublic(), after })}\n`;
      return { rows, end: endReason(error) };
    } finally {
      close();
    }
  }
  return { ...head, stream: { pieces: lines(), ending } };
}
