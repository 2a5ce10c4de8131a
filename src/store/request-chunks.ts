import { cut } from '../foundation/errors.ts';
import { DAY } from '../foundation/instant.ts';
import { masked } from '../foundation/masking.ts';
import type { ObjectKind } from './objects.ts';
import type { UsageTransport } from './stored-usage-history.ts';

/** The most requests of a key that are shown. */
export const MAX_REQUESTS = 1_000;
/** The time for which requests are shown, in milliseconds. */
export const REQUESTS_KEPT = DAY;

/** The most characters of a path and of a message. */
export const MAX_TEXT = { path: 200, message: 500 };

/** A request as the key's holder sees it, without its body, query and sender. */
export interface LoggedRequest {
  /** The X-Request-Id. */
  id: string;
  /** The time of the response, in milliseconds since 1970. */
  time: number;
  transport: UsageTransport;
  /** As in the usage history. */
  operation: string;
  method: string;
  /** Without the query. */
  path: string;
  /** The HTTP status. */
  status: number;
  /** The first error in the response. */
  code?: string | undefined;
  message?: string | undefined;
  units: number;
  /** The duration in milliseconds. */
  ms: number;
  keyId: string;
}

/** A request as it is answered. */
export type AnsweredRequest = Omit<LoggedRequest, 'keyId' | 'time'>;

/**
 * A request as a line of text, without its key and any secrets: it takes a third of the memory of an object, and is written as
 * it is. Only the message, which is last, may have spaces.
 */
export function lineOf(request: AnsweredRequest, time: number): string {
  const { transport, operation, method, path, status, units, ms, code, message = '' } = request;
  const shownPath = masked(path.length > MAX_TEXT.path ? cut(path, MAX_TEXT.path) : path);
  const fields = [masked(request.id), time, transport, operation, method, shownPath, status, units, ms];
  if (code !== undefined) fields.push(code, cut(masked(message), MAX_TEXT.message));
  return fields.join(' ');
}

/** @param line as of {@link lineOf} */
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

/** The time of a request. @param line as of {@link lineOf} */
export const timeOf = (line: string): number => Number(line.split(' ', 2)[1]);

/** A run of consecutive requests of one key, oldest first, which are stored together. */
export interface RequestChunk {
  /** Orders chunks, and is unique. */
  position: string;
  /** The key that pays for this one. */
  account: string;
  keyId: string;
  /** A line for each. */
  requests: readonly string[];
}

const base36 = (number: number): string => number.toString(36).padStart(9, '0');

/** A position at a time that no request of the chunk is later than. Those of one instance ascend by its number of chunks. */
export const positionAt = (time: number, instance: string, chunks: number): string =>
  `${base36(time)} ${instance} ${base36(chunks)}`;

/** The time of a position, in milliseconds since 1970. */
export const timeOfPosition = (position: string): number => Number.parseInt(position.slice(0, 9), 36);

const expiresAt = ({ position }: { position: string }): number => timeOfPosition(position) + REQUESTS_KEPT;

/** The term of the chunks of an account's child keys. Those of one key are found by its id. */
export const termOfChildren = (account: string): string => `account ${account}`;

export const REQUESTS: ObjectKind<RequestChunk> = {
  name: 'requestChunks',
  keyOf: ({ position }) => position,
  // Each term of each key is one more page to write, so most keys have just one.
  termsOf: ({ account, keyId }) => (account === keyId ? [keyId] : [keyId, termOfChildren(account)]),
  expiresAt,
  separate: true,
};

/** The requests of all keys in a second, which are not stored by key yet. */
export interface JournalSegment {
  position: string;
  /** For each request its key and the account, which is empty if it is the same. */
  keys: readonly string[];
  /** A line for each request, each with its end. */
  text: string;
}

export const JOURNAL: ObjectKind<JournalSegment> = {
  name: 'journalSegments',
  keyOf: ({ position }) => position,
  expiresAt,
  separate: true,
};
