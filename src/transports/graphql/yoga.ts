import type { Plugin, YogaServerInstance } from 'graphql-yoga';
import type { PreparedOperation } from '../../operations/operations.ts';
import type { PublicResult } from '../../operations/result.ts';
import { STREAM_TYPE } from './over-http.ts';

/** Yoga's own default. */
const ENDPOINT = 'http://localhost/graphql';

/** A result, which Yoga writes as this says. */
export type Result = PublicResult & { stringify: PreparedOperation['stringify'] };

/** What Yoga is shown. Nested one level deep because Yoga copies its server context. */
interface YogaContext {
  shown: {
    operation: PreparedOperation;
    /** Several for a subscription. */
    results: Result | AsyncIterable<Result>;
  };
}

/**
 * GraphQL over SSE in distinct connections mode, by Yoga: it knows what the protocol looks like on the wire. JSON
 * goes around it (answer.ts), because its Request, Response and streams cost 190 µs, where a whole request costs 33.
 */
export class YogaTransport {
  #yoga: Promise<YogaServerInstance<YogaContext, object>> | undefined;

  /** Loads Yoga. That takes a large part of the startup time, and most requests do not need it. */
  async load(): Promise<void> {
    this.#yoga ??= loadYoga();
    await this.#yoga;
  }

  /** Encodes the results of an operation that is admitted and charged. */
  async encode(
    operation: PreparedOperation,
    results: YogaContext['shown']['results'],
  ): Promise<Response & { body: ReadableStream<Uint8Array> }> {
    await this.load();
    const yoga = await this.#yoga!;
    const request = { method: 'POST', headers: { accept: STREAM_TYPE } };
    return (await yoga.fetch(ENDPOINT, request, { shown: { operation, results } })) as never;
  }
}

async function loadYoga(): Promise<YogaServerInstance<YogaContext, object>> {
  const { createYoga } = await import('graphql-yoga');
  // Without the schema, which nothing that is left to Yoga needs. Errors are already masked.
  return createYoga<YogaContext>({ logging: false, maskedErrors: false, plugins: [useResults()] });
}

/** Takes the document as it was parsed and validated, and the results that it has. */
const useResults = (): Plugin<object, YogaContext> => ({
  onRequestParse({ setRequestParser, serverContext }) {
    const { text, operation } = serverContext.shown.operation;
    setRequestParser(() => ({ query: text, operationName: operation.name?.value }) as never);
  },
  onParse: ({ context, setParsedDocument }) => setParsedDocument(shownIn(context).operation.document),
  onValidate: ({ setResult }) => setResult([]),
  onExecute: ({ args, setExecuteFn }) => setExecuteFn((() => shownIn(args.contextValue).results) as never),
  onSubscribe: ({ args, setSubscribeFn }) =>
    setSubscribeFn((() => shownIn(args.contextValue).results) as never),
});

const shownIn = (context: unknown): YogaContext['shown'] => (context as YogaContext).shown;
