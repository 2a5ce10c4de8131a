import { cut } from '../foundation/errors.ts';
import { digitsOf } from '../foundation/id.ts';
import { DAY } from '../foundation/instant.ts';
import { masked } from '../foundation/masking.ts';
import type { ObjectKind } from './objects.ts';
import type { UsageTransport } from './stored-usage-history.ts';

/** The maximum number of requests shown per key. */
export const MAX_REQUESTS = 1_000;
/** How long requests are shown, in milliseconds. */
export const REQUESTS_KEPT = DAY;

/** The maximum lengths of a path and a message, in characters. */
export const MAX_TEXT = { path: 200, message: 500 };

/** A request as shown to the key's holder, without its body, query and sender. */
export interface LoggedRequest {
  /** The X-Request-Id. */
  id: string;
  /** The time of the response, in milliseconds since 1970. */
  time: number;
  transport: UsageTransport;
  /** The GraphQL root field, as in the usage history. */
  operation: string;
  method: string;
  /** Without the query. */
  path: string;
  /** The HTTP status. */
  status: number;
  /** The code of the first error in the response. */
  code?: string | undefined;
  message?: string | undefined;
  units: number;
  /** The duration in milliseconds. */
  ms: number;
  keyId: string;
}

/** A request when it is answered. */
export type AnsweredRequest = Omit<LoggedRequest, 'keyId' | 'time'>;

/**
 * A request as a line of text, without its key and any secrets. It takes a third of an object's memory, and is stored
 * as it is. Only the message, which comes last, may contain spaces.
 */
export function lineOf(request: AnsweredRequest, time: number): string {
  const { id, transport, operation, method, path, status, units, ms, code, message = '' } = request;
  const shownPath = path.length > MAX_TEXT.path ? cut(path, MAX_TEXT.path) : path;
  const line = masked(
    `${id} ${digitsOf(time)} ${transport} ${operation} ${method} ${shownPath} ${status} ${units} ${ms}`,
  );
  return code === undefined ? line : `${line} ${code} ${cut(masked(message), MAX_TEXT.message)}`;
}

/** Parses a line of {@link lineOf}. */
export function requestOf(line: string, keyId: string): LoggedRequest {
  const [id, time, transport, operation, method, path, status, units, ms, code, ...message] = line.split(' ');
  return {
    id: id!,
    time: Number(time),
    transport: transport as UsageTransport,
    operation: operation!,
    method: method!,
    path: path!,
    status: Number(status),
    units: Number(units),
    ms: Number(ms),
    code,
    message: message.join(' ') || undefined,
    keyId,
  };
}

/** The time of a request. @param line a line of {@link lineOf} */
export const timeOf = (line: string): number => Number(line.split(' ', 2)[1]);

/** Consecutive requests of one key that are stored together, oldest first. */
export interface RequestChunk {
  /** Unique; orders chunks. */
  position: string;
  /** The id of the owner's key, which pays. */
  account: string;
  keyId: string;
  /** A line per request. */
  requests: readonly string[];
}

const base36 = (number: number): string => number.toString(36).padStart(9, '0');

/** A position at a time, not before any request of the chunk. Those of an instance ascend by its number of chunks. */
export const positionAt = (time: number, instance: string, chunks: number): string =>
  `${base36(time)} ${instance} ${base36(chunks)}`;

/** The time of a position, in milliseconds since 1970. */
export const timeOfPosition = (position: string): number => Number.parseInt(position.slice(0, 9), 36);

/** The term for the chunks of an account's children. The term for those of one key is its id. */
export const termOfChildren = (account: string): string => `account ${account}`;

export const REQUESTS: ObjectKind<RequestChunk> = {
  name: 'requestChunks',
  keyOf: ({ position }) => position,
  // Each term is one more page to write per key, so most keys have only one.
  termsOf: ({ account, keyId }) => (account === keyId ? [keyId] : [keyId, termOfChildren(account)]),
  expiresAt: ({ position }) => timeOfPosition(position) + REQUESTS_KEPT,
  separate: true,
};
