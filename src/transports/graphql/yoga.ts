import type { PublicResult } from '../../graphql/result.ts';
import type { PreparedOperation } from '../../graphql/operations.ts';

/** A result, which Yoga writes as this says. */
type Result = PublicResult & { stringify: PreparedOperation['stringify'] };

/** Writes a result, or the results of a subscription, as an event stream. */
type Encoder = (
  results: Result | AsyncIterable<Result>,
  fetchApi: typeof globalThis,
) => Response & { body: ReadableStream<Uint8Array> };

let encoder: Promise<Encoder> | undefined;

/** Loads Yoga. That takes a large part of the startup time, and most requests do not need it. */
export function loadYoga(): Promise<Encoder> {
  encoder ??= import('graphql-yoga').then(({ getSSEProcessor }) => getSSEProcessor() as unknown as Encoder);
  return encoder;
}

/**
 * Encodes the results of an operation that is admitted and charged, as GraphQL over SSE in distinct connections mode.
 * Done by Yoga, which implements the protocol's wire format. JSON goes around it (answer.ts), because its Request,
 * Response and streams cost 190 µs, where a whole request costs 33.
 */
export const encodeEvents = async (results: Parameters<Encoder>[0]): Promise<ReturnType<Encoder>> =>
  (await loadYoga())(results, globalThis);
