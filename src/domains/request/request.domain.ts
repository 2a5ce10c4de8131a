import { grouped } from '../../foundation/words.ts';
import type { Principal } from '../../access/api-keys.ts';
import { type Issue, validationFailed } from '../../foundation/errors.ts';
import { choice, instant, integer, opaqueId, optional, text } from '../../foundation/fields.ts';
import { MAX_INT32 } from '../../foundation/id.ts';
import { DEFAULT_PAGE_SIZE } from '../../foundation/meter.ts';
import { fieldParameter, limit, type QueryParameter } from '../../rest-routes/parameter.ts';
import type { Resource } from '../../rest-routes/route.ts';
import { declaredShape, pageSelection } from '../../rest-routes/shape.ts';
import { OPAQUE, withRule } from '../../schema/arguments.ts';
import type { Builder } from '../../schema/builder.ts';
import { connectionRule } from '../../schema/list-connection.ts';
import { declaredType } from '../../schema/declared-type.ts';
import type { ConnectionArguments } from '../../schema/list-arguments.ts';
import { type LoggedRequest, MAX_REQUESTS, MAX_TEXT } from '../../store/request-chunks.ts';
import type { RequestPosition } from '../../store/stored-request-log.ts';
import type { UsageTransport } from '../../store/stored-usage-history.ts';
import { UsageTransports } from '../usage/usage.domain.ts';

const operation = text(
  100,
  'The GraphQL root field, also for the REST operation that corresponds to it; or `other`',
  'createPet',
);

const RequestDeclaration = {
  type: 'Request',
  listName: 'Requests',
  listDescription: 'A page of requests, newest first.',
  description: 'A request of an API key, and how it was answered.',
  fields: {
    id: opaqueId(128, 'The X-Request-Id of the response', '8e0b6a5e-6f0c-4a37-9d5c-0f3a4c2e7b11'),
    time: instant('When it was answered', '2026-11-22T08:30:00.123Z'),
    transport: choice(UsageTransports, 'How it was sent', 'rest'),
    operation,
    method: text(20, 'The HTTP method', 'POST'),
    path: text(MAX_TEXT.path, 'The path, without the query', '/pets'),
    status: integer(100, 599, 'The HTTP status', 422),
    code: optional(text(50, 'The code of the first error in the response', 'UNKNOWN_REFERENCE')),
    message: optional(
      text(MAX_TEXT.message, 'The message of that error', 'categoryId: there is no category 7.'),
    ),
    units: integer(0, MAX_INT32, 'Units charged; for a stream or export, to open it', 1),
    ms: integer(0, MAX_INT32, 'Milliseconds until the response began', 3),
    keyId: opaqueId(100, 'The id of the key', 'key_3RlZ5unNSlWY'),
  },
};

const STATUS_RULE = 'must be a status such as 404 or a class such as 4xx';
const isStatus = (text: string): boolean => /^[1-5](\d\d|xx)$/.test(text);
const CURSOR_RULE = 'must be a cursor of this list';

/** The maximum length of a cursor, which has the counts of at most {@link MAX_COUNTS} keys. */
const MAX_CURSOR_LENGTH = 3_000;
/** The maximum number of keys in a cursor: more than an account has at once. */
const MAX_COUNTS = 40;

const encode = ({ from, time, position, index, counts }: RequestPosition): string =>
  Buffer.from(JSON.stringify([from, time, position, index, ...[...counts].slice(-MAX_COUNTS)])).toString(
    'base64url',
  );

/** Decodes a cursor. A forged one gives access only to the client's own requests. */
function decode(text: string): RequestPosition | null {
  if (text.length > MAX_CURSOR_LENGTH) return null;
  try {
    const [from, time, position, index, ...counts] = JSON.parse(Buffer.from(text, 'base64url').toString());
    const isNumber = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
    const isCount = (entry: unknown) =>
      Array.isArray(entry) && typeof entry[0] === 'string' && isNumber(entry[1]);
    const isPosition = [from, position].every((text) => typeof text === 'string');
    if (!isPosition || ![time, index].every(isNumber) || !counts.every(isCount)) return null;
    return { from, time, position, index, counts: new Map(counts) };
  } catch {
    return null;
  }
}

interface Filter {
  status?: readonly string[] | null;
  operation?: string | null;
  transport?: readonly UsageTransport[] | null;
}

/** @returns a function that takes as long, however many values the filter has */
function matcherOf({ status, operation, transport }: Filter): (request: LoggedRequest) => boolean {
  const [statuses, transports] = [status && new Set(status), transport && new Set(transport)];
  return (request) =>
    (!statuses ||
      statuses.has(`${request.status}`) ||
      statuses.has(`${Math.floor(request.status / 100)}xx`)) &&
    (operation == null || request.operation === operation) &&
    (!transports || transports.has(request.transport));
}

interface Arguments {
  filter?: Filter | null | undefined;
  after?: string | null | undefined;
}

/** The issues with statuses and the cursor, which have types but no rules in GraphQL. */
const argumentIssues = ({ filter, after }: Arguments): Issue[] => [
  ...(filter?.status?.every(isStatus) === false ? [{ path: 'status', message: STATUS_RULE }] : []),
  ...(after != null && decode(after) === null ? [{ path: 'after', message: CURSOR_RULE }] : []),
];

interface Edge {
  request: LoggedRequest;
  cursor: RequestPosition;
}
interface Page {
  requests: readonly Edge[];
  next?: RequestPosition | undefined;
  after?: string | null | undefined;
}

/** The keys whose requests a key may see: itself and its children. */
const visibleTo = ({ id, account }: Principal) => ({ keyId: id, ...(account === id && { account }) });

/** Adds the list of the latest requests. */
export function addRequests(builder: Builder): void {
  const RequestType = declaredType<LoggedRequest>(builder, RequestDeclaration);

  const RequestEdge = builder.objectRef<Edge>('RequestEdge').implement({
    description: 'A request with its cursor.',
    fields: (t) => ({
      cursor: t.string({
        description: 'Its position in the list.',
        extensions: { maxLength: 500 },
        resolve: ({ cursor }) => encode(cursor),
      }),
      node: t.field({ type: RequestType, description: 'The request.', resolve: ({ request }) => request }),
    }),
  });

  const RequestConnection = builder.objectRef<Page>('RequestConnection').implement({
    description:
      'Requests, newest first. A page may have fewer than `first` even if there are more: `pageInfo.hasNextPage` says so.',
    fields: (t) => ({
      edges: t.field({
        type: [RequestEdge],
        description: 'The requests, each with its cursor.',
        resolve: ({ requests }) => [...requests],
      }),
      nodes: t.field({
        type: [RequestType],
        description: 'The requests themselves.',
        resolve: ({ requests }) => requests.map(({ request }) => request),
      }),
      pageInfo: t.field({
        type: builder.pageInfoRef(),
        description: 'The position of the page in the list.',
        resolve: ({ requests, next, after }) => {
          const [first, last] = [requests[0]?.cursor, next ?? requests.at(-1)?.cursor];
          return {
            startCursor: first ? encode(first) : null,
            endCursor: last ? encode(last) : null,
            hasNextPage: next !== undefined,
            hasPreviousPage: after != null,
          };
        },
      }),
    }),
  });

  const RequestFilter = builder.inputType('RequestFilter', {
    description: 'Restricts a list of requests. All conditions must hold.',
    fields: (t) => ({
      status: t.stringList({
        description: 'Those with any of these statuses, such as `404`, or classes, such as `4xx`.',
      }),
      operation: t.string({ description: 'Those of this operation.' }),
      transport: t.field({
        type: [UsageTransports.name as never],
        description: 'Those sent in any of these ways.',
      }),
    }),
  });

  builder.queryField('requests', (t) =>
    t.field({
      type: RequestConnection,
      description: `The last ${grouped(MAX_REQUESTS)} requests within 24 hours of the key and of each key that it has made, newest first. Reading them leaves no entry.`,
      args: {
        filter: t.arg({
          type: RequestFilter,
          description: 'Restricts the list.',
          extensions: withRule(argumentIssues),
        }),
        first: t.arg.int({
          description: 'Number of requests, 1 to 100; defaults to 20.',
          extensions: withRule((args: ConnectionArguments) => connectionRule(args)),
        }),
        after: t.arg.string({ description: 'The cursor to continue after.', extensions: OPAQUE }),
      },
      resolve: async (_root, { filter, first, after }, { loaders, meter, now, principal, requestLog }) => {
        const issues = argumentIssues({ filter: filter as Filter, after });
        if (issues.length > 0) throw validationFailed(issues);
        const page = await loaders.inTurn(() =>
          requestLog.page({
            ...visibleTo(principal),
            limit: first ?? DEFAULT_PAGE_SIZE,
            now: now(),
            after: after == null ? undefined : decode(after)!,
            matches: matcherOf((filter ?? {}) as Filter),
            meter,
          }),
        );
        meter.draw('entries', page.requests.length);
        return { ...page, after };
      },
    }),
  );
}

const shape = declaredShape(RequestDeclaration);

const status: QueryParameter = {
  name: 'status',
  description:
    'Only requests with this status, such as `404`, or of this class, such as `4xx`. May be repeated.',
  repeatable: true,
  schema: { type: 'string', pattern: '^[1-5]([0-9][0-9]|xx)$' },
  example: '4xx',
  rule: STATUS_RULE,
  read: (text) => (isStatus(text) ? text : undefined),
};

const after: QueryParameter = {
  name: 'after',
  description: 'The value from the `Link` to the page.',
  schema: { type: 'string', pattern: '^[A-Za-z0-9_-]+$', maxLength: MAX_CURSOR_LENGTH },
  example: encode({
    from: '0mwzhdy7m aCxJ4kUY 000000005',
    time: Date.parse('2026-11-22T08:30:00Z'),
    position: '0mwzhdy7m aCxJ4kUY 000000005',
    index: 5,
    counts: new Map(),
  }),
  rule: CURSOR_RULE,
  read: (text) => (decode(text) ? text : undefined),
};

export const requests: Resource = {
  scope: 'requests',
  shapes: [shape],
  routes: [
    {
      operationId: 'listRequests',
      method: 'GET',
      path: '/requests',
      tag: 'Store',
      stability: 'beta',
      summary: 'List what was requested with the API key',
      description: `The last ${grouped(MAX_REQUESTS)} requests within 24 hours of the key and of each key that it has made, newest first. Reading them leaves no entry. A page may have fewer than \`limit\` even if there are more: the \`Link\` leads on.`,
      document: `query listRequests($status: [String!], $operation: String, $transport: [UsageTransport!], $after: String, $limit: Int) {
        page: requests(filter: {status: $status, operation: $operation, transport: $transport}, first: $limit, after: $after) ${pageSelection(shape)}
      }`,
      kind: 'request',
      status: 200,
      list: 'pages',
      shape,
      query: [
        status,
        { ...fieldParameter('operation', 'Only requests of this operation.', operation), example: 'pets' },
        fieldParameter('transport', 'Only requests sent like this.', RequestDeclaration.fields.transport),
        limit,
        after,
      ],
    },
  ],
};
