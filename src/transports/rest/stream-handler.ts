import { CLIENT_DISCONNECTED, endReason, SERVER_STOPPING } from '../../access/open-streams.ts';
import type { Session } from '../../access/session.ts';
import { wantedEvents } from '../../domains/event/event.ts';
import type { FeedEvent } from '../../events/feed.ts';
import type { EventStream, EventStreams } from '../../events/streams.ts';
import { AppError, asAppError, validationFailed } from '../../foundation/errors.ts';
import { retryLine, STREAM_TYPE } from '../../http/event-stream.ts';
import { Negotiation } from '../../http/media-type.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { HttpResponse, StreamedBody } from '../../http/response.ts';
import type { ServedRoute } from '../../rest-routes/route.ts';
import { onOneLine } from '../../schema/json-text.ts';
import { readInput } from '../input.ts';
import { type EventVariables, ROUTE_PRICE, PreparedRoute } from '../prepared-route.ts';
import type { TransportServices } from '../transport-services.ts';
import { nextLink, type RestHandler } from './rest-handler.ts';

const STREAM_TYPES = new Negotiation([STREAM_TYPE]);
/** The interval of comments, which keep the connection alive for proxies and clients, in milliseconds. */
const HEARTBEAT = 15_000;
/**
 * A comment, part of the next event's block: some clients (Python's httpx-sse) take a block without data for an event.
 */
const COMMENT = ':\n';
/** The delay before clients reconnect, in milliseconds; also part of the next event's block. */
const RETRY = 'retry: 3000\n';

/** The event log as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export class StreamHandler extends PreparedRoute implements RestHandler {
  readonly #streams: EventStreams;

  constructor(route: ServedRoute, services: TransportServices) {
    super(route, 'stream', services);
    this.#streams = services.streams;
  }

  /** Opens a stream after `Last-Event-ID`, or else `after`. */
  async handle(context: RequestContext, session: Session): Promise<HttpResponse> {
    this.enter(session);
    STREAM_TYPES.require(context.accept);
    const { type: types, ...variables }: EventVariables = readInput(context, this.route, {});
    const charge = () => this.chargeStream(session);
    const head = { status: 200, headers: [], contentType: STREAM_TYPE, live: true };
    // HEAD opens nothing and, like GET, has no Content-Length (RFC 9110 section 8.6).
    if (context.method === 'HEAD') {
      await charge();
      return { ...head, stream: null };
    }
    const last = (context.headers['last-event-id'] as string | undefined) || undefined;
    const after = last ?? variables.after;
    const wanted = wantedEvents({ after, types });
    const { requestId } = context;
    const stream = await this.#streams
      .open({ session, charge, wanted, price: ROUTE_PRICE, requestId })
      .catch((error: unknown) => {
        throw last !== undefined && isValidationError(error) ? unknownLastEventId() : error;
      });
    // The end of the connection delimits the body (RFC 9112 section 6.3): chunked encoding would take three writes per
    // reader and event.
    context.response.removeHeader('Transfer-Encoding');
    const headers = ['Connection', 'close', 'Link', nextLink(context, stream.beginning)];
    return { ...head, headers, stream: { pieces: framesOf(stream, context), ending: stream.ending } };
  }
}

async function* framesOf(stream: EventStream, { response }: RequestContext): StreamedBody['pieces'] {
  // A client that doesn't read gets no comments, since writing them would count as activity.
  const heartbeat = setInterval(() => response.writableNeedDrain || response.write(COMMENT), HEARTBEAT);
  try {
    yield RETRY;
    for await (const events of stream.events) yield events.map(frameOf).join('');
  } catch (error) {
    stream.ending.abort(error);
  } finally {
    clearInterval(heartbeat);
    stream.close();
  }
  const { reason: failure } = stream.ending.signal;
  if (failure !== CLIENT_DISCONNECTED && failure !== SERVER_STOPPING)
    yield `${retryLine(failure)}event: error\ndata: ${JSON.stringify(asAppError(failure).toPublic())}\n\n`;
  return { events: stream.sent, end: endReason(failure) };
}

const isValidationError = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'VALIDATION_FAILED';

const unknownLastEventId = () =>
  validationFailed([{ path: 'Last-Event-ID', message: 'must be the id of an event of this log' }]);

const frameOf = ({ event, json }: FeedEvent): string =>
  `id: ${event.id}\nevent: ${event.type}\ndata: ${onOneLine(json)}\n\n`;
