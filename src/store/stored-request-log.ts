import type { Meter } from '../foundation/meter.ts';
import { ownTurn } from '../foundation/turns.ts';
import type { Engine } from './engine.ts';
import {
  type LoggedRequest,
  MAX_REQUESTS,
  type RequestChunk,
  requestOf,
  REQUESTS,
  REQUESTS_KEPT,
  termOfChildren,
  timeOf,
  timeOfPosition,
} from './request-chunks.ts';

/** A position in the list: the last request read, and the number read per key. */
export interface RequestPosition {
  /** The position of the latest chunk with unread requests. */
  from: string;
  time: number;
  /** The position of its chunk. */
  position: string;
  /** The index of the request in its chunk. */
  index: number;
  counts: ReadonlyMap<string, number>;
}

export interface RequestQuery {
  keyId: string;
  /** Set for an owner, who sees the requests of its children too. */
  account?: string | undefined;
  limit: number;
  /** Milliseconds since 1970. */
  now: number;
  after?: RequestPosition | undefined;
  matches: (request: LoggedRequest) => boolean;
  /** Limits the requests that the page examines; it ends early once the allowance is used up. */
  meter: Meter;
}

export interface RequestPage {
  requests: { request: LoggedRequest; cursor: RequestPosition }[];
  /** The position to continue from, if there may be more. */
  next?: RequestPosition | undefined;
}

/** The maximum number of chunks read at once, each of up to a hundred requests. */
const MAX_CHUNKS = 50;

type RequestPlace = Pick<RequestPosition, 'time' | 'position' | 'index'>;

/** A chunk at the place of one of its requests. */
const at = (chunk: RequestChunk, index: number): RequestChunk & RequestPlace => ({
  ...chunk,
  time: timeOf(chunk.requests[index]!),
  index,
});

/** Orders requests by time, and within a millisecond as they were stored. */
function compare(a: RequestPlace, b: RequestPlace): number {
  if (a.time !== b.time) return a.time - b.time;
  return a.position === b.position ? a.index - b.index : a.position < b.position ? -1 : 1;
}

/** The index of the last request of a chunk that follows a cursor in the list; -1 if none does. */
function indexAfter(chunk: RequestChunk, after: RequestPosition | undefined): number {
  if (!after) return chunk.requests.length - 1;
  if (chunk.position === after.position) return Math.min(after.index, chunk.requests.length) - 1;
  return chunk.requests.findLastIndex((_, index) => compare(at(chunk, index), after) < 0);
}

/** The latest requests of keys, to which all instances add. */
export function requestLogOver({ objects, transaction }: Engine) {
  /** Reads a list, newest first, with positions. */
  async function* read({ keyId, account, after, limit }: RequestQuery) {
    const terms = account === undefined ? [keyId] : [keyId, termOfChildren(account)];
    const counts = new Map(after?.counts);
    /** Chunks with unread requests, each at the index of its next one. */
    let unread: (RequestChunk & RequestPlace)[] = [];
    let size = Math.min(limit + 1, MAX_CHUNKS);
    let upTo = after?.from;
    let isFirst = true;
    let isWhole = false;
    for (;;) {
      const next = unread.reduce<(typeof unread)[0] | undefined>(
        (newest, chunk) => (newest && compare(newest, chunk) >= 0 ? newest : chunk),
        undefined,
      );
      // Unread chunks may have later requests.
      if (!isWhole && (!next || upTo === undefined || timeOfPosition(upTo) >= next.time)) {
        // Their lines take up to 50 ms, which others need not wait for.
        await ownTurn();
        const lists = await Promise.all(terms.map((term) => objects(REQUESTS).latest(term, size, upTo)));
        const chunks = lists
          .flat()
          .toSorted((a, b) => (a.position < b.position ? 1 : -1))
          .slice(0, size);
        for (const chunk of chunks) {
          const index = indexAfter(chunk, after);
          if (index >= 0 && (isFirst || chunk.position !== upTo)) unread.push(at(chunk, index));
        }
        isWhole = chunks.length < size;
        isFirst = false;
        upTo = chunks.at(-1)?.position;
        size = Math.min(2 * size, MAX_CHUNKS);
        continue;
      }
      if (!next) return;
      const { time, position, index } = next;
      unread = unread.filter((chunk) => chunk !== next);
      if (index > 0) unread.push(at(next, index - 1));
      const from = unread.reduce((last, chunk) => (chunk.position > last ? chunk.position : last), position);
      counts.set(next.keyId, (counts.get(next.keyId) ?? 0) + 1);
      yield {
        request: requestOf(next.requests[index]!, next.keyId),
        cursor: { from, time, position, index, counts },
      };
    }
  }

  return {
    /**
     * Adds requests by key, and removes those that are too old to be shown.
     *
     * @param outdated the position before which chunks are removed, by key
     */
    async addRequests(chunks: readonly RequestChunk[], outdated: ReadonlyMap<string, string>): Promise<void> {
      await transaction((own) => own.objects(REQUESTS).put(chunks), 'single');
      if (outdated.size > 0)
        await transaction((own) => own.objects(REQUESTS).deleteBefore(outdated), 'single');
    },

    /** The time of the last request stored for a key; 0 if none is. */
    async lastRequestOf(keyId: string): Promise<number> {
      const [last] = await objects(REQUESTS).latest(keyId, 1);
      return last ? timeOf(last.requests.at(-1)!) : 0;
    },

    /** A page of the latest requests of a key, or of its account, newest first. */
    async requestPage(query: RequestQuery): Promise<RequestPage> {
      const { limit, now, matches, meter } = query;
      const page: RequestPage = { requests: [] };
      for await (const { request, cursor } of read(query)) {
        const position = () => ({ ...cursor, counts: new Map(cursor.counts) });
        meter.spend('requests', 1);
        const isShown =
          cursor.counts.get(request.keyId)! <= MAX_REQUESTS && request.time > now - REQUESTS_KEPT;
        if (isShown && matches(request)) {
          if (page.requests.length === limit) return { ...page, next: page.requests.at(-1)!.cursor };
          page.requests.push({ request, cursor: position() });
        }
        if (meter.left('requests') === 0) return { ...page, next: position() };
      }
      return page;
    },
  };
}

export type RequestLogStore = ReturnType<typeof requestLogOver>;
