import type { ServerResponse } from 'node:http';
import { apiKeyFrom } from '../../access/api-keys.ts';
import { CLIENT_DISCONNECTED, SERVER_STOPPING } from '../../access/open-streams.ts';
import type { Session } from '../../access/session.ts';
import { type EventTypeName, fromEventTypeName } from '../../domains/event/event.ts';
import { type FeedEvent, type Selection, SlowReaderError } from '../../domains/event/reader.ts';
import { type EventStream, type EventStreams, endReason } from '../../domains/event/streams.ts';
import { AppError, asAppError, validationFailed } from '../../foundation/errors.ts';
import type { Exchange } from '../../http/exchange.ts';
import { PacedResponse } from '../../http/paced-response.ts';
import type { HttpResponse } from '../../http/response.ts';

/** Units per 100 events. */
const COST = 1;
/** How often a comment keeps the connection alive for proxies and clients, in milliseconds. */
const HEARTBEAT = 15_000;
const COMMENT = ':\n\n';
/** How long clients wait before they reconnect, in milliseconds. */
const RETRY = 'retry: 3000\n\n';

/**
 * Serves the event log as server-sent events
 * (https://html.spec.whatwg.org/multipage/server-sent-events.html). Each event is encoded once for all
 * readers.
 */
export class EventsHandler {
  readonly #streams: EventStreams;
  readonly #frames = new Frames();

  constructor(streams: EventStreams) {
    this.#streams = streams;
  }

  /**
   * Opens a stream after `Last-Event-ID`, or else after `after`.
   *
   * @param variables `after` and `type` from the query
   * @throws VALIDATION_FAILED, GONE, NOT_FOUND, RATE_LIMITED
   */
  async open(
    exchange: Exchange,
    session: Session,
    variables: Readonly<{ after?: string; type?: readonly EventTypeName[] }>,
  ): Promise<HttpResponse> {
    const head = { status: 200, headers: NO_BUFFERING, contentType: 'text/event-stream' };
    // Opens nothing and, like a GET, has no Content-Length (RFC 9110 section 8.6).
    if (exchange.method === 'HEAD') return { ...head, stream: async () => ({}) };
    const last = exchange.header('last-event-id') || undefined;
    const after = last ?? variables.after;
    const selection: Selection = {
      ...(after !== undefined && { after }),
      ...(variables.type && { types: variables.type.map(fromEventTypeName) }),
    };
    const { requestId } = exchange;
    const options = { session, key: apiKeyFrom(exchange.headers)!, selection, cost: COST, requestId };
    const stream = await this.#streams.open(options).catch((error: unknown) => {
      throw last !== undefined && isValidationError(error) ? unknownLastEventId() : error;
    });
    // Delimited by the end of the connection (RFC 9112 section 6.3): chunked encoding would frame the shared
    // bytes again for every reader, in three writes each.
    exchange.response.useChunkedEncodingByDefault = false;
    return { ...head, stream: (response) => this.#write(response, stream) };
  }

  async #write(response: ServerResponse, stream: EventStream): Promise<Record<string, unknown>> {
    const paced = new PacedResponse(response, () => stream.fail(CLIENT_DISCONNECTED));
    stream.onFailure((error) => {
      // Unsent data would keep the response in memory.
      if (error instanceof SlowReaderError) response.destroy();
      paced.resume();
    });
    // A client that does not read gets no comments, since writing them would count as activity.
    const heartbeat = setInterval(() => response.writableNeedDrain || response.write(COMMENT), HEARTBEAT);
    try {
      response.write(RETRY);
      for (;;) await paced.write(this.#frames.of(await stream.take()));
    } catch (error) {
      stream.fail(error);
    } finally {
      clearInterval(heartbeat);
      paced.release();
      stream.close();
    }
    this.#end(response, stream.failure);
    return { events: stream.sent, end: endReason(stream.failure) };
  }

  #end(response: ServerResponse, reason: unknown): void {
    if (reason === CLIENT_DISCONNECTED || reason instanceof SlowReaderError) {
      response.destroy();
      return;
    }
    if (reason !== SERVER_STOPPING) {
      response.write(`event: error\ndata: ${JSON.stringify(asAppError(reason).toPublic())}\n\n`);
    }
    response.end();
  }
}

const isValidationError = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'VALIDATION_FAILED';

const unknownLastEventId = () =>
  validationFailed([{ path: 'Last-Event-ID', message: 'must be the id of an event of this log' }]);

/** Stops nginx from buffering the stream. */
const NO_BUFFERING = ['X-Accel-Buffering', 'no'];

/** Encodes events. Most readers get the same events at the same time, so the last result is kept. */
class Frames {
  readonly #frames = new WeakMap<FeedEvent, Buffer>();
  #last: { events: readonly FeedEvent[]; bytes: Buffer } | undefined;

  of(events: readonly FeedEvent[]): Buffer {
    if (events.length === 1) return this.#frame(events[0]!);
    const last = this.#last;
    if (last && isSame(last.events, events)) return last.bytes;
    const bytes = Buffer.concat(events.map((event) => this.#frame(event)));
    this.#last = { events, bytes };
    return bytes;
  }

  #frame(feedEvent: FeedEvent): Buffer {
    let frame = this.#frames.get(feedEvent);
    if (!frame) {
      const { event, json } = feedEvent;
      frame = Buffer.from(`id: ${event.id}\nevent: ${event.type}\ndata: ${json}\n\n`);
      this.#frames.set(feedEvent, frame);
    }
    return frame;
  }
}

const isSame = (a: readonly FeedEvent[], b: readonly FeedEvent[]): boolean =>
  a.length === b.length && a.every((event, i) => event === b[i]);
