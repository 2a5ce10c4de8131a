import { EventSourceParserStream } from 'eventsource-parser/stream';
import { parseExactly } from '../exact-json.ts';

/** How a stream ends that the server didn't complete: it stops, or cut off a reader that was too slow. */
const ENDED = { errors: [{ message: 'The server has ended the stream. Run it again to go on.' }] };

/**
 * The results of a subscription, over GraphQL over SSE in the mode of distinct connections. Read here rather than by
 * `graphql-sse`, whose client rounds integers beyond 2^53.
 *
 * @param body of the request, as JSON
 * @throws the response if it is a refusal; what `fetch` throws
 */
export async function* resultsOf(
  body: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): AsyncGenerator<unknown, void> {
  const response = await fetch('/graphql', {
    method: 'POST',
    headers: { ...headers, Accept: 'text/event-stream' },
    body,
    signal,
  });
  if (!response.ok) throw response;
  const messages = response
    .body!.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  for (;;) {
    // A connection that breaks is an end too.
    const { value, done } = await messages.read().catch(() => ({ value: undefined, done: true }));
    if (value?.event === 'complete') return;
    if (value?.event === 'next') yield parseExactly(value.data);
    if (done) {
      yield ENDED;
      return;
    }
  }
}
