import type { PublicResult } from '../../graphql/result.ts';
import type { PreparedOperation } from '../../graphql/operations.ts';

/** A result with the function that Yoga serialises it by. */
type Result = PublicResult & { stringify: PreparedOperation['stringify'] };

/** Encodes a result, or the results of a subscription, as an event stream. */
type Encoder = (
  results: Result | AsyncIterable<Result>,
  fetchApi: typeof globalThis,
) => Response & { body: ReadableStream<Uint8Array> };

let encoder: Promise<Encoder> | undefined;

/** Loads Yoga, which takes a large part of the startup time and most requests don't need. */
export function loadYoga(): Promise<Encoder> {
  encoder ??= import('graphql-yoga').then(({ getSSEProcessor }) => getSSEProcessor() as unknown as Encoder);
  return encoder;
}

/**
 * Encodes results as GraphQL over SSE, in distinct connections mode, by Yoga's implementation of the wire format. JSON
 * bypasses Yoga (answer.ts), whose Request, Response and streams take 190 µs, whereas a whole request takes 33.
 */
export const encodeEvents = async (results: Parameters<Encoder>[0]): Promise<ReturnType<Encoder>> =>
  (await loadYoga())(results, globalThis);
