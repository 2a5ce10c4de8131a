import type { Plugin, YogaServerInstance } from 'graphql-yoga';
import type { PreparedOperation } from '../../graphql/operations.ts';
import type { PublicResult } from '../../graphql/result.ts';
import { STREAM_TYPE } from '../../http/event-stream.ts';

/** Yoga's own default. */
const ENDPOINT = 'http://localhost/graphql';

/** A result, which Yoga writes as this says. */
type Result = PublicResult & { stringify: PreparedOperation['stringify'] };

/** The part of a request that Yoga sees. Nested one level deep because Yoga copies its server context. */
interface YogaContext {
  shown: {
    operation: PreparedOperation;
    /** More than one for a subscription. */
    results: Result | AsyncIterable<Result>;
  };
}

let yoga: Promise<YogaServerInstance<YogaContext, object>> | undefined;

/** Loads Yoga. That takes a large part of the startup time, and most requests do not need it. */
export function loadYoga(): Promise<YogaServerInstance<YogaContext, object>> {
  yoga ??= import('graphql-yoga').then(({ createYoga }) =>
    // Without the schema, which the work left to Yoga doesn't need. Errors are already masked.
    createYoga<YogaContext>({ logging: false, maskedErrors: false, plugins: [useResults()] }),
  );
  return yoga;
}

/**
 * Encodes the results of an operation that is admitted and charged, as GraphQL over SSE in distinct connections mode.
 * Done by Yoga, which implements the protocol's wire format. JSON goes around it (answer.ts), because its Request,
 * Response and streams cost 190 µs, where a whole request costs 33.
 */
export async function encodeEvents(
  operation: PreparedOperation,
  results: YogaContext['shown']['results'],
): Promise<Response & { body: ReadableStream<Uint8Array> }> {
  const server = await loadYoga();
  const request = { method: 'POST', headers: { accept: STREAM_TYPE } };
  return (await server.fetch(ENDPOINT, request, { shown: { operation, results } })) as never;
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
