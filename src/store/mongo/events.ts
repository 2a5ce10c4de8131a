import {
  type ChangeStreamDeleteDocument,
  type ChangeStreamInsertDocument,
  type ChangeStreamOptions,
  type ChangeStreamReplaceDocument,
  type ChangeStreamUpdateDocument,
  type Document,
  Timestamp,
} from 'mongodb';
import { eventsGone, unknownEvent } from '../../foundation/errors.ts';
import type { AnyDeclaration } from '../../foundation/record.ts';
import {
  allEventTypes,
  type EventPage,
  type EventRequest,
  type EventStore,
  type EventType,
  eventOf,
  examinedAtMost,
  FOLLOW_WAIT,
  NOW,
  type StoredEvent,
} from '../events.ts';
import { within } from './batching.ts';
import { AFTER, codecOf, EVENT, type Key, toId } from './codec.ts';
import type { Database } from './database.ts';
import { isHistoryLost, isOfToken, portError } from './driver-errors.ts';

/** How long a page at the end of the log waits for more events, in milliseconds. */
const PAGE_WAIT = 10;
/** How long a page may search for the end of the log, in milliseconds. */
const PAGE_TIME = 2_000;
/** The points to start reading from other than the log's beginning, in seconds before its end or another position. */
const AGES = [7 * 86_400, 86_400, 3_600, 60, 1, 0];

const TOKEN = /^[0-9A-Fa-f]{8,2000}$/;

/** A page, and the number of events examined for it. */
interface Examined extends EventPage {
  examined: number;
}

/** The change events in use. Other updates don't change anything that clients see. */
type Change =
  | ChangeStreamInsertDocument
  | ChangeStreamReplaceDocument
  | ChangeStreamUpdateDocument
  | ChangeStreamDeleteDocument;

/** The event log, read from change streams, since MongoDB's oplog has it anyway. Event ids are resume tokens. */
export function mongoEvents(database: Database, declarations: readonly AnyDeclaration[]) {
  const { client, db, options, timeoutMs, execute } = database;
  const byCollection = new Map(declarations.map((record) => [record.plural, record]));
  const types = allEventTypes(declarations);
  const isEvent = {
    'ns.coll': { $in: [...byCollection.keys()] },
    $or: [
      { operationType: 'delete' },
      { [`fullDocument.${EVENT}`]: { $exists: true } },
      { [`updateDescription.updatedFields.${AFTER}`]: { $exists: true } },
    ],
  };

  function toEvent(change: Change): StoredEvent {
    const record = byCollection.get(change.ns.coll)!;
    const at = { id: (change._id as { _data: string })._data, time: change.wallTime!.getTime() };
    if (change.operationType === 'delete') {
      const id = toId(change.documentKey._id as unknown as Key);
      return { ...at, ...eventOf(record, { id }, undefined) };
    }
    if (change.operationType === 'update') {
      const after = change.updateDescription.updatedFields![AFTER] as string;
      const id = change.documentKey._id as unknown as Key;
      return { ...at, ...codecOf(record).eventOfAddition(id, after) };
    }
    const document = change.fullDocument;
    return { ...at, type: document[EVENT] as EventType, record: codecOf(record).toRecord(document) };
  }

  const clusterTime = async (): Promise<Timestamp> =>
    (await within(timeoutMs, db.command({ ping: 1, ...options }))).operationTime as Timestamp;

  /**
   * The points from which the log can be read, oldest first: its beginning, unless the oplog is not readable (shards,
   * missing privileges), and times before a position, by default its end.
   */
  async function starts(before?: string): Promise<ChangeStreamOptions[]> {
    const end = (before !== undefined && timeIn(before)) || (await clusterTime());
    const oldest = await client
      .db('local')
      .collection('oplog.rs')
      .findOne({}, { ...options, sort: { $natural: 1 }, projection: { ts: 1 } })
      .catch(() => null);
    const times = AGES.map((age) => new Timestamp({ t: end.getHighBits() - age, i: 1 }));
    return [...(oldest ? [oldest.ts as Timestamp] : []), ...times].map((startAtOperationTime) => ({
      startAtOperationTime,
    }));
  }

  /** Reads the log from a start, in the batches of the server's responses. Ends when the database is dropped. */
  async function* batches(start: ChangeStreamOptions): AsyncGenerator<EventPage> {
    // The read concern that change streams require, whatever the URI says.
    const stream = db.watch<Document, Change>([{ $match: isEvent }], {
      ...start,
      readConcern: { level: 'majority' },
    });
    let end: Timestamp | undefined;
    try {
      for (let next: string | undefined; !stream.closed;) {
        end ??= await clusterTime();
        const events: StoredEvent[] = [];
        let last: Change | undefined;
        do {
          // The driver may wait forever to send over an ended connection (see `gather`).
          const change = await within(FOLLOW_WAIT + timeoutMs, stream.tryNext());
          if (!change) break;
          const event = toEvent(change);
          if (types.has(event.type)) events.push(event);
          last = change;
        } while (stream.bufferedCount() > 0);
        const seen = next;
        // The token may be beyond the last event.
        next = (stream.resumeToken as { _data: string })._data;
        // An empty response only means that the server stopped waiting.
        const atEnd: boolean = last ? last.clusterTime!.gt(end) : (timeIn(next)?.gte(end) ?? next === seen);
        if (atEnd) end = undefined;
        yield { events, next, atEnd };
      }
    } finally {
      void stream.close().catch(() => {});
    }
  }

  /** Reads the log from a start to its end, for a bounded time. */
  async function* toEnd(start: ChangeStreamOptions): AsyncGenerator<EventPage> {
    const deadline = performance.now() + PAGE_TIME;
    for await (const batch of batches({ ...start, maxAwaitTimeMS: PAGE_WAIT })) {
      yield batch;
      if (batch.atEnd || performance.now() > deadline) return;
    }
  }

  /** Reads the first events after a start. */
  async function pageAfter(
    { types: wanted, limit, meter }: EventRequest,
    start: ChangeStreamOptions,
  ): Promise<Examined> {
    const page: Examined = { events: [], next: '', atEnd: false, examined: 0 };
    const most = examinedAtMost(meter);
    /** The id of the last event, as followers get it; without one, the page ends somewhere after its start. */
    let last: string | undefined;
    for await (const { events, next, atEnd } of toEnd({ ...start, batchSize: limit })) {
      for (const event of events) {
        last = event.id;
        if (wanted?.includes(event.type) ?? true) page.events.push(event);
        if (++page.examined >= most || page.events.length === limit) return { ...page, next: last };
      }
      Object.assign(page, { next: last ?? next, atEnd });
    }
    return page;
  }

  /**
   * Reads the latest events between a start and a position, or the end of the log. `atEnd` if too few precede it, so
   * that an earlier start may yield more.
   *
   * @returns undefined if the position or end is not reached in time
   */
  async function pageBefore(
    { types: wanted, limit, before, meter }: EventRequest,
    start: ChangeStreamOptions,
  ): Promise<Examined | undefined> {
    const most = wanted ? examinedAtMost(meter) : limit + 1;
    const events: StoredEvent[] = [];
    for await (const batch of toEnd(start)) {
      const end = batch.events.findIndex(({ id }) => id === before);
      events.push(...(end < 0 ? batch.events : batch.events.slice(0, end)));
      events.splice(0, events.length - most);
      if (before === undefined ? !batch.atEnd : end < 0) continue;
      const matching = wanted ? events.filter(({ type }) => wanted.includes(type)) : events;
      const kept = matching.slice(-limit);
      const next = (kept.length === limit ? kept : events)[0]?.id ?? before ?? '';
      const atEnd = matching.length <= limit && events.length < most;
      return { events: kept, next, atEnd, examined: events.length };
    }
    return undefined;
  }

  async function readPage(request: EventRequest): Promise<EventPage> {
    const { after, before, backward, meter } = request;
    // Anything committed from now on has a later position.
    if (after === NOW)
      return pageAfter({ limit: 1, types: [] }, { startAtOperationTime: await clusterTime() });
    const position = after ?? before;
    if (position !== undefined && !TOKEN.test(position)) throw unknownEvent(backward ? 'before' : 'after');
    const from = after === undefined ? await starts(before) : [{ startAfter: { _data: after } }];
    let page: Examined | undefined;
    // Change streams are only read forwards, so a backward page starts further and further back until it has enough.
    for (const start of backward ? from.reverse() : from)
      try {
        const next = await (backward ? pageBefore : pageAfter)(request, start);
        if (!next && page) {
          // An earlier start won't get there in time either. The next page continues, unless nothing was in reach.
          page.atEnd = page.events.length === 0;
          break;
        }
        page = next;
        if (page && !(backward && page.atEnd)) break;
      } catch (error) {
        if (!isHistoryLost(error))
          throw after !== undefined && isOfToken(error) ? unknownEvent('after') : error;
      }
    if (!page) throw eventsGone();
    const { examined, ...rest } = page;
    meter?.spend('events', examined);
    return rest;
  }

  return {
    eventPage: (request) => execute(() => readPage(request)),

    async *followEvents(after) {
      try {
        yield* batches({ startAfter: { _data: after }, maxAwaitTimeMS: FOLLOW_WAIT });
      } catch (error) {
        throw isHistoryLost(error) || isOfToken(error) ? eventsGone() : portError(error);
      }
    },
  } satisfies EventStore;
}

/** The time at the start of MongoDB's tokens; undefined for those of compatible servers. */
function timeIn(token: string): Timestamp | undefined {
  const match = /^82([0-9A-F]{8})([0-9A-F]{8})/i.exec(token);
  return match
    ? new Timestamp({ t: Number.parseInt(match[1]!, 16), i: Number.parseInt(match[2]!, 16) })
    : undefined;
}
