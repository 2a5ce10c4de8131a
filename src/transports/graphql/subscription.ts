import { CLIENT_DISCONNECTED, endReason, SERVER_STOPPING } from '../../access/open-streams.ts';
import type { Session } from '../../access/session.ts';
import type { EventStream, EventStreams, StreamOptions } from '../../events/streams.ts';
import { asAppError } from '../../foundation/errors.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { StreamedBody } from '../../http/response.ts';
import { newContext } from '../../kit/context.ts';
import { toJson } from '../../kit/json.ts';
import type { PreparedOperation } from '../../operations/operations.ts';
import { type PublicResult, publicError } from '../../operations/result.ts';
import type { StoredEvent } from '../../store/events.ts';
import type { Result } from './yoga.ts';

/** An open subscription. */
export class Subscription {
  readonly #stream: EventStream;
  /** One result per event, followed by the error that ended the stream if clients should see it. */
  readonly results: AsyncIterable<Result>;

  private constructor(stream: EventStream, results: AsyncGenerator<PublicResult>) {
    this.#stream = stream;
    this.results = publicResults(stream, results);
  }

  /** @throws AppError if it cannot start */
  static async begin(
    streams: EventStreams,
    context: RequestContext,
    session: Session,
    operation: PreparedOperation,
  ): Promise<Subscription> {
    let stream: EventStream | undefined;
    const { requestId } = context;
    const contextOfEvent = () => newContext(session, { cost: operation.cost, requestId });
    const key = context.apiKey!;
    const followEvents = async (selection: StreamOptions['selection']) => {
      stream = await streams.open({ session, key, selection, cost: operation.cost, requestId });
      return eventsOf(stream);
    };
    const results = await operation.subscribe({ ...contextOfEvent(), followEvents }, contextOfEvent);
    return new Subscription(stream!, results);
  }

  /** The body of the response. @param encode gives the encoded results */
  bodyOf(encode: () => Promise<ReadableStream<Uint8Array>>): StreamedBody {
    return { pieces: piecesOf(this.#stream, encode), ending: this.#stream.ending };
  }
}

async function* piecesOf(
  stream: EventStream,
  encode: () => Promise<ReadableStream<Uint8Array>>,
): StreamedBody['pieces'] {
  try {
    for await (const piece of await encode()) {
      // Without `complete`, clients reconnect and resume.
      if (stream.failure === SERVER_STOPPING) break;
      yield piece;
    }
  } finally {
    stream.close();
  }
  return { events: stream.sent, end: endReason(stream.failure) };
}

async function* eventsOf(stream: EventStream): AsyncGenerator<StoredEvent> {
  for (;;) for (const { event } of await stream.take()) yield event;
}

async function* publicResults(stream: EventStream, results: AsyncGenerator<PublicResult>) {
  try {
    for await (const result of results) yield { ...result, stringify: toJson };
  } catch (error) {
    stream.ending.abort(error);
    if (error === CLIENT_DISCONNECTED || error === SERVER_STOPPING) return;
    yield { errors: [publicError(asAppError(error))], stringify: toJson };
  }
}
