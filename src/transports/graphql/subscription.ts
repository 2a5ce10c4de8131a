import { CLIENT_DISCONNECTED, endReason, SERVER_STOPPING } from '../../access/open-streams.ts';
import type { Session } from '../../access/session.ts';
import type { EventStream, EventStreams, StreamOptions } from '../../events/streams.ts';
import { asAppError } from '../../foundation/errors.ts';
import { retryLine } from '../../http/event-stream.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { StreamedBody } from '../../http/response.ts';
import { newContext } from '../../schema/context.ts';
import { onOneLine, toJson } from '../../schema/json-text.ts';
import type { PreparedOperation } from '../../graphql/operations.ts';
import { type PublicResult, publicError } from '../../graphql/result.ts';
import type { StoredEvent } from '../../store/events.ts';

/** The cost of opening a subscription, in units. */
const SUBSCRIPTION_PRICE = 1;

/**
 * Starts a subscription, for a unit. Events are charged as they are sent.
 *
 * @returns the body of the response: a result per event, then the error that ended the stream unless clients must not
 * see it
 * @throws AppError if it cannot start
 */
export async function subscribe(
  streams: EventStreams,
  { requestId }: RequestContext,
  session: Session,
  operation: PreparedOperation,
): Promise<StreamedBody> {
  let stream: EventStream | undefined;
  const { price } = operation;
  const contextOfEvent = () => newContext(session, { price, requestId, meter: stream?.meter });
  const followEvents = async (wanted: StreamOptions['wanted']) => {
    stream = await streams.open({
      session,
      charge: () => session.charge(SUBSCRIPTION_PRICE),
      wanted,
      price,
      requestId,
    });
    return eventsOf(stream);
  };
  const results = await operation.subscribe({ ...contextOfEvent(), followEvents }, contextOfEvent);
  return { pieces: piecesOf(stream!, results), ending: stream!.ending };
}

async function* eventsOf(stream: EventStream): AsyncGenerator<StoredEvent> {
  for await (const events of stream.events) for (const { event } of events) yield event;
}

async function* piecesOf(stream: EventStream, results: AsyncGenerator<PublicResult>): StreamedBody['pieces'] {
  try {
    const { body } = await encodeEvents(publicResults(stream, results));
    const { signal } = stream.ending;
    let isEnding = false;
    for await (const piece of body) {
      // Without `complete`, clients reconnect and resume.
      if (signal.reason === SERVER_STOPPING) break;
      if (signal.aborted && !isEnding) yield retryLine(signal.reason);
      isEnding = signal.aborted;
      yield piece;
    }
  } finally {
    stream.close();
  }
  return { events: stream.sent, end: endReason(stream.ending.signal.reason) };
}

const toLine = (result: unknown): string => onOneLine(toJson(result));

async function* publicResults(stream: EventStream, results: AsyncGenerator<PublicResult>) {
  try {
    for await (const result of results) yield { ...result, stringify: toLine };
  } catch (error) {
    stream.ending.abort(error);
    if (error === CLIENT_DISCONNECTED || error === SERVER_STOPPING) return;
    yield { errors: [publicError(asAppError(error))], stringify: toLine };
  }
}

/** A result with the function that Yoga serialises it by. */
type Result = PublicResult & { stringify: PreparedOperation['stringify'] };

/** Encodes a result, or the results of a subscription, as an event stream. */
type Encoder = (
  results: Result | AsyncIterable<Result>,
  fetchApi: typeof globalThis,
) => Response & { body: ReadableStream<Uint8Array> };

let encoder: Encoder | undefined;

/** Loads Yoga, which takes a large part of the startup time and most requests don't need. */
export async function loadYoga(): Promise<Encoder> {
  encoder ??= (await import('graphql-yoga')).getSSEProcessor() as unknown as Encoder;
  return encoder;
}

/**
 * Encodes results as GraphQL over SSE, in distinct connections mode, by Yoga's implementation of the wire format. JSON
 * bypasses Yoga (answer.ts), whose Request, Response and streams take 190 µs, whereas a whole request takes 33.
 */
export const encodeEvents = async (results: Parameters<Encoder>[0]): Promise<ReturnType<Encoder>> =>
  (await loadYoga())(results, globalThis);
