import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream';

/** The server-sent events of a response, until it ends. @throws TypeError if the connection is lost */
export async function* messagesOf({ body }: Response): AsyncGenerator<EventSourceMessage, void> {
  const messages = body!
    .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  for (;;) {
    const { value, done } = await messages.read();
    if (done) return;
    yield value;
  }
}
