import {
  type ChangeStreamDeleteDocument,
  type ChangeStreamInsertDocument,
  type ChangeStreamOptions,
  type ChangeStreamReplaceDocument,
  type Document,
  MongoServerError,
  Timestamp,
} from 'mongodb';
import { eventsGone, unknownEvent } from '../../foundation/errors.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import {
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
import { codecOf, EVENT } from './codec.ts';
import { type Key, toId } from './collection.ts';
import type { Database } from './database.ts';
import { isHistoryLost, portError } from './errors.ts';

/** How long a page at the end of the log waits for more events, in milliseconds. */
const PAGE_WAIT = 10;
/** How long a page may search for the end of the log, in milliseconds. */
const PAGE_TIME = 2_000;
/** If the oplog cannot be read (shards, missing privileges), its beginning is searched among these ages, in seconds. */
const AGES = [7 * 86_400, 86_400, 3_600, 60, 1, 0];

const startAt = (t: number): ChangeStreamOptions => ({ startAtOperationTime: new Timestamp({ t, i: 1 }) });

const TOKEN = /^[0-9A-Fa-f]{8,2000}$/;

/** The kinds of change events we use. An update that is none changes nothing that clients see. */
type Change = ChangeStreamInsertDocument | ChangeStreamReplaceDocument | ChangeStreamDeleteDocument;

/** Translates changes of the records' documents to events. */
function createChangeEvents(records: readonly AnyRecord[]) {
  const byCollection = new Map(records.map((record) => [record.plural, record]));
  return {
    /** The changes that are events. */
    isEvent: {
      'ns.coll': { $in: [...byCollection.keys()] },
      $or: [{ operationType: 'delete' }, { [`fullDocument.${EVENT}`]: { $exists: true } }],
    },

    toEvent(change: Change): StoredEvent {
      const record = byCollection.get(change.ns.coll)!;
      const at = { id: (change._id as { _data: string })._data, time: timeOf(change) };
      if (change.operationType === 'delete') {
        const id = toId(change.documentKey._id as unknown as Key);
        return { ...at, ...eventOf(record, { id }, undefined) };
      }
      const document = change.fullDocument;
      return { ...at, type: document[EVENT] as EventType, record: codecOf(record).toRecord(document) };
    },
  };
}

/** The server's clock, in milliseconds. */
const timeOf = ({ wallTime }: Change): number => wallTime!.getTime();

/**
 * The event log, read from change streams, since MongoDB keeps it in the oplog anyway. Resume tokens
 * serve as event ids.
 */
export function mongoEvents(database: Database, records: readonly AnyRecord[]) {
  const { client, db } = database;
  const { isEvent, toEvent } = createChangeEvents(records);
  const clusterTime = async (): Promise<Timestamp> => {
    const ping = db.command({ ping: 1, ...database.options });
    return (await within(database.timeoutMs, ping)).operationTime as Timestamp;
  };

  /** Possible start positions at the beginning of the log, most likely first. */
  async function* startPositions(): AsyncGenerator<ChangeStreamOptions> {
    const oplog = client.db('local').collection('oplog.rs');
    const oldest = await oplog
      .findOne({}, { ...database.options, sort: { $natural: 1 }, projection: { ts: 1 } })
      .catch(() => null);
    if (oldest) yield { startAtOperationTime: oldest.ts as Timestamp };
    const now = (await clusterTime()).getHighBits();
    for (const age of AGES) yield startAt(now - age);
  }

  /** The log from a start on, in batches as the server responds with them. Ends when the database is dropped. */
  async function* batches(start: ChangeStreamOptions): AsyncGenerator<EventPage> {
    const stream = db.watch<Document, Change>([{ $match: isEvent }], start);
    let end: Timestamp | undefined;
    try {
      for (let next: string | undefined; !stream.closed;) {
        end ??= await clusterTime();
        const events: StoredEvent[] = [];
        let last: Change | undefined;
        do {
          // The driver may wait for good for what it sends over a connection that ends (see `gather`).
          const change = await within(FOLLOW_WAIT + database.timeoutMs, stream.tryNext());
          if (!change) break;
          events.push(toEvent(change));
          last = change;
        } while (stream.bufferedCount() > 0);
        const seen = next;
        // May be beyond the last event.
        next = (stream.resumeToken as { _data: string })._data;
        const atEnd: boolean = last ? last.clusterTime!.gt(end) : (hasReached(next, end) ?? next === seen);
        if (atEnd) end = undefined;
        yield { events, next, atEnd };
      }
    } finally {
      void stream.close().catch(() => {});
    }
  }

  /** The log from a start to its end, for a bounded time. */
  async function* toEnd(start: ChangeStreamOptions): AsyncGenerator<EventPage> {
    const deadline = performance.now() + PAGE_TIME;
    for await (const batch of batches({ ...start, maxAwaitTimeMS: PAGE_WAIT })) {
      yield batch;
      if (batch.atEnd || performance.now() > deadline) return;
    }
  }

  async function readPage(
    { types, limit, meter }: EventRequest,
    start: ChangeStreamOptions,
  ): Promise<EventPage> {
    const page: EventPage = { events: [], next: '', atEnd: false };
    const most = examinedAtMost(meter);
    let examined = 0;
    /** The last one, which who follows the log gets too; without any, the page ends somewhere after its start. */
    let last: string | undefined;
    try {
      for await (const { events, next, atEnd } of toEnd({ ...start, batchSize: limit })) {
        for (const event of events) {
          last = event.id;
          if (types?.includes(event.type) ?? true) page.events.push(event);
          if (++examined >= most || page.events.length === limit) return { ...page, next: last };
        }
        Object.assign(page, { next: last ?? next, atEnd });
      }
      return page;
    } finally {
      meter?.spend('events', examined);
    }
  }

  /** Where a backward page may begin to read, nearer to its end first, and whether nothing is older. */
  async function* startsBefore(
    before: string | undefined,
  ): AsyncGenerator<{ start: ChangeStreamOptions; isOldest: boolean }> {
    const end = (before === undefined ? undefined : timeIn(before)) ?? (await clusterTime());
    for (const age of AGES.toReversed()) yield { start: startAt(end.getHighBits() - age), isOldest: false };
    for await (const start of startPositions()) yield { start, isOldest: true };
  }

  /**
   * The latest events before a position. A change stream is only read forwards, so reading begins further and
   * further back until there are enough.
   */
  async function pageBefore({ types, limit, before, meter }: EventRequest): Promise<EventPage> {
    if (before !== undefined && !TOKEN.test(before)) throw unknownEvent();
    const most = types ? examinedAtMost(meter) : limit + 1;
    for await (const { start, isOldest } of startsBefore(before)) {
      const events: StoredEvent[] = [];
      try {
        let isWhole = false;
        for await (const batch of toEnd(start)) {
          const end = batch.events.findIndex(({ id }) => id === before);
          events.push(...(end < 0 ? batch.events : batch.events.slice(0, end)));
          events.splice(0, events.length - most);
          isWhole = before === undefined ? batch.atEnd : end >= 0;
          if (isWhole) break;
        }
        const found = types ? events.filter(({ type }) => types.includes(type)) : events;
        if (isWhole && (isOldest || found.length > limit || events.length === most)) {
          meter?.spend('events', events.length);
          const kept = found.slice(-limit);
          const next = (kept.length === limit ? kept : events)[0]?.id ?? before ?? '';
          return {
            events: kept,
            next,
            atEnd: isOldest && kept.length === found.length && events.length < most,
          };
        }
        if (isOldest) break;
      } catch (error) {
        if (!isHistoryLost(error)) throw portError(error);
      }
    }
    throw eventsGone();
  }

  async function* followEvents(after: string): AsyncGenerator<EventPage> {
    try {
      yield* batches({ startAfter: { _data: after }, maxAwaitTimeMS: FOLLOW_WAIT });
    } catch (error) {
      throw isHistoryLost(error) ? eventsGone() : portError(error);
    }
  }

  return {
    async eventPage(request: EventRequest): Promise<EventPage> {
      // Whatever is committed from here on has a later position.
      if (request.after === NOW)
        return readPage({ limit: 1, types: [] }, { startAtOperationTime: await clusterTime() });
      if (request.backward) return pageBefore(request);
      if (request.after === undefined) {
        for await (const start of startPositions()) {
          try {
            return await readPage(request, start);
          } catch (error) {
            if (!isHistoryLost(error)) throw error;
          }
        }
        throw eventsGone();
      }
      if (!TOKEN.test(request.after)) throw unknownEvent();
      try {
        return await readPage(request, { startAfter: { _data: request.after } });
      } catch (error) {
        throw resumeError(error);
      }
    },

    followEvents,
  } satisfies EventStore;
}

/**
 * Whether an exhausted stream has seen everything up to `time`. An empty response alone only means that the
 * server stopped waiting. MongoDB's tokens start with their timestamp.
 *
 * @returns undefined for tokens of other servers
 */
const hasReached = (token: string, time: Timestamp): boolean | undefined => timeIn(token)?.gte(time);

/** The time in a token of MongoDB's. */
function timeIn(token: string): Timestamp | undefined {
  const match = /^82([0-9A-F]{8})([0-9A-F]{8})/i.exec(token);
  return match
    ? new Timestamp({ t: Number.parseInt(match[1]!, 16), i: Number.parseInt(match[2]!, 16) })
    : undefined;
}

/** Translates the error of a stream that does not start at the requested position. */
function resumeError(error: unknown): unknown {
  if (isHistoryLost(error)) return eventsGone();
  // Servers have many codes for tokens that are none, but label what can be resumed.
  const isLabelled = error instanceof MongoServerError && error.hasErrorLabel('ResumableChangeStreamError');
  if (error instanceof MongoServerError && !isLabelled) return unknownEvent();
  return portError(error);
}
