import type { Plugin, YogaServerInstance } from 'graphql-yoga';
import type { Session } from '../../access/session.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { HttpResponse } from '../../http/response.ts';
import type { PublicResult } from '../../operations/execute.ts';
import type { PreparedRequest } from '../../operations/prepared-request.ts';
import { OperationRefused } from '../../operations/refusal.ts';
import { RESPONSES, STREAM_TYPE, STREAMS } from './response.ts';
import { run, statusOf } from './run.ts';

/** Yoga's own default. */
const ENDPOINT = 'http://localhost/graphql';

/** A request that is admitted and charged. Nested one level deep because Yoga copies its server context. */
interface YogaContext {
  admitted: {
    context: RequestContext;
    session: Session;
    prepared: PreparedRequest;
    /** Set for an open subscription. */
    results?: AsyncIterable<PublicResult>;
  };
}

/**
 * GraphQL over HTTP served by Yoga. Through it run GET, HEAD and QUERY, `multipart/mixed` and
 * `text/event-stream` up to 10 units, and all subscriptions: it knows what these media types look like on the
 * wire. A plain POST of JSON does not (plain.ts): Yoga's Request, Response and streams cost 190 µs, the whole
 * request 33. Nor does an answer above 10 units, which Yoga would hold as a whole. Both ways run the same
 * admitted operations, and a test compares them.
 */
export class YogaTransport {
  #yoga: Promise<YogaServerInstance<YogaContext, object>> | undefined;

  /** Loads Yoga. That takes a large part of the startup time, and most requests do not need it. */
  async load(): Promise<void> {
    this.#yoga ??= loadYoga();
    await this.#yoga;
  }

  /** Responds to a request whose operations are admitted and charged. */
  async handle(
    context: RequestContext,
    session: Session,
    prepared: PreparedRequest,
  ): Promise<HttpResponse & { body: string }> {
    // Yoga ignores q-values.
    const type = (RESPONSES.choose(context.accept) ?? STREAMS.choose(context.accept))!;
    const response = await this.#fetch(type, { context, session, prepared });
    const contentType = response.headers.get('content-type')!;
    return { status: response.status, headers: [], body: await response.text(), contentType };
  }

  /** Writes the results of a subscription in GraphQL over SSE, distinct connections mode. */
  async stream(
    context: RequestContext,
    session: Session,
    prepared: PreparedRequest,
    results: AsyncIterable<PublicResult>,
  ): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#fetch(STREAM_TYPE, { context, session, prepared, results });
    return response.body!;
  }

  async #fetch(accept: string, admitted: YogaContext['admitted']): Promise<Response> {
    await this.load();
    const yoga = await this.#yoga!;
    // Always POST: Yoga does not support QUERY, and prepared has refused mutations over other methods.
    return yoga.fetch(ENDPOINT, { method: 'POST', headers: { accept } }, { admitted });
  }
}

async function loadYoga(): Promise<YogaServerInstance<YogaContext, object>> {
  const { createYoga } = await import('graphql-yoga');
  // Without the schema, which nothing that is left to Yoga needs.
  return createYoga<YogaContext>({
    logging: false,
    // Errors are already masked.
    maskedErrors: false,
    batching: true,
    plugins: [
      useReadParameters(),
      useRefusals(),
      useAdmittedDocuments(),
      useAdmittedExecution(),
      useOpenStream(),
    ],
  });
}

/** One operation of an admitted request. */
function operationOf(yogaContext: unknown, params: unknown) {
  const { context, session, prepared } = (yogaContext as YogaContext).admitted;
  const { index } = (params as { extensions: { index: number } }).extensions;
  return { context, session, index, operation: prepared.operations[index]! };
}

async function resultOf(yogaContext: unknown, params: unknown) {
  const { context, session, index, operation } = operationOf(yogaContext, params);
  const result = await run(context, session, operation, index);
  const extensions = { ...result.extensions, http: { status: statusOf(result) } };
  const stringify = operation instanceof OperationRefused ? JSON.stringify : operation.stringify;
  return { ...result, extensions, stringify };
}

/** What Yoga is shown of an operation that does not get as far as being parsed. */
const REFUSED = { text: '', operation: { name: undefined } };

/** Takes what was read: Yoga's own parsers round large integers. It may copy it, so the index names the operation. */
const useReadParameters = (): Plugin<object, YogaContext> => ({
  onRequestParse: ({ setRequestParser, serverContext }) => {
    const { batch, operations } = serverContext.admitted.prepared;
    const requests = operations.map((operation, index) => {
      const { text, operation: node } = operation instanceof OperationRefused ? REFUSED : operation;
      return { query: text, operationName: node.name?.value, extensions: { index } };
    });
    setRequestParser(() => (batch ? requests : requests[0]) as never);
  },
});

/** Answers operations that are refused. */
const useRefusals = (): Plugin<object, YogaContext> => ({
  onParams: async ({ params, context, setResult }) => {
    if (operationOf(context, params).operation instanceof OperationRefused)
      setResult((await resultOf(context, params)) as never);
  },
});

/** Takes documents as they were parsed and validated. */
const useAdmittedDocuments = (): Plugin<object, YogaContext> => ({
  onParse: ({ context, setParsedDocument }) => {
    const { operation } = operationOf(context, context.params);
    if (!(operation instanceof OperationRefused)) setParsedDocument(operation.document);
  },
  onValidate: ({ setResult }) => setResult([]),
});

/** Executes prepared operations. */
const useAdmittedExecution = (): Plugin<object, YogaContext> => ({
  onExecute: ({ args: { contextValue }, setExecuteFn }) =>
    setExecuteFn((() => resultOf(contextValue, contextValue.params)) as never),
});

/** Takes the results of an open subscription. */
const useOpenStream = (): Plugin<object, YogaContext> => ({
  onSubscribe: ({ args, setSubscribeFn }) =>
    setSubscribeFn((async () => (args.contextValue as unknown as YogaContext).admitted.results) as never),
});
