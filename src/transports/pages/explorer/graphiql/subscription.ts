import { EventSourceParserStream } from 'eventsource-parser/stream';
import { parseExactly } from '../exact-json.ts';
import { apiKey } from '../key.ts';

/** Shown if the stream ends without `complete`, because the server stopped or disconnected a slow reader. */
const ENDED = { errors: [{ message: 'The server ended the stream. Run it again to continue.' }] };

/**
 * Runs a subscription with GraphQL over SSE, distinct connections mode. Does not use `graphql-sse`, whose
 * client rounds integers beyond 2^53.
 *
 * @param body the request body as JSON
 * @throws the response if the request is refused, or whatever `fetch` throws
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
  apiKey.observe(response);
  if (!response.ok) throw response;
  const messages = response
    .body!.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  for (;;) {
    // A broken connection ends the stream too.
    const { value, done } = await messages.read().catch(() => ({ value: undefined, done: true }));
    if (value?.event === 'complete') return;
    if (value?.event === 'next') yield parseExactly(value.data);
    if (done) {
      yield ENDED;
      return;
    }
  }
}
