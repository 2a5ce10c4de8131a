import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ChangeStream,
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
  type EventFollower,
  type EventPage,
  type EventRequest,
  type EventStore,
  type EventType,
  eventOf,
  examinedAtMost,
  type Following,
  type StoredEvent,
} from '../events.ts';
import { within } from './batching.ts';
import { codecOf, EVENT } from './codec.ts';
import { type Key, toId } from './collection.ts';
import type { Database } from './database.ts';
import { isHistoryLost, isUnavailable, portError } from './errors.ts';

/** How long a read at the end of the log waits for more events, in milliseconds. */
const PAGE_WAIT = 10;
const FOLLOW_WAIT = 500;
/** How long a page may search for the end of the log, in milliseconds. */
const PAGE_TIME = 2_000;
/** Delay between attempts to resume the log, in milliseconds. */
const FIRST_PAUSE = 100;
const MAX_PAUSE = 2_000;
/** If the oplog cannot be read (shards, missing privileges), its beginning is searched among these ages, in seconds. */
const AGES = [7 * 86_400, 86_400, 3_600, 60, 0];

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
  /** By follower. */
  const stopping = new Set<() => void>();

  const open = (options: ChangeStreamOptions): ChangeStream<Document, Change> =>
    db.watch<Document, Change>([{ $match: isEvent }], options);

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
    for (const age of AGES) yield { startAtOperationTime: new Timestamp({ t: now - age, i: 1 }) };
  }

  /**
   * Reads the log from a start to its end, for a bounded time.
   *
   * @param visit gets each event; returns whether it is enough
   */
  async function scan(
    start: ChangeStreamOptions,
    visit: (event: StoredEvent) => boolean,
  ): Promise<{ ended: 'enough' | 'end' | 'late'; next: string }> {
    const end = await clusterTime();
    const stream = open({ ...start, maxAwaitTimeMS: PAGE_WAIT });
    const deadline = performance.now() + PAGE_TIME;
    try {
      for (let seen: string | undefined; ; ) {
        const change = await stream.tryNext();
        if (change) {
          const event = toEvent(change);
          // The token of the batch may be beyond events that were not visited.
          if (visit(event)) return { ended: 'enough', next: event.id };
        } else {
          const next = tokenOf(stream);
          if (stream.closed || performance.now() > deadline) return { ended: 'late', next };
          if (hasReached(next, end) ?? next === seen) return { ended: 'end', next };
          seen = next;
        }
      }
    } finally {
      await stream.close();
    }
  }

  async function readPage(
    { types, limit, meter }: EventRequest,
    start: ChangeStreamOptions,
  ): Promise<EventPage> {
    const events: StoredEvent[] = [];
    const most = examinedAtMost(meter);
    let examined = 0;
    try {
      const { ended, next } = await scan({ ...start, batchSize: limit }, (event) => {
        if (types?.includes(event.type) ?? true) events.push(event);
        return ++examined >= most || events.length === limit;
      });
      return { events, next, atEnd: ended === 'end' };
    } finally {
      meter?.spend('events', examined);
    }
  }

  /** Where a backward page may begin to read, nearer to its end first, and whether nothing is older. */
  async function* startsBefore(
    before: string | undefined,
  ): AsyncGenerator<{ start: ChangeStreamOptions; isOldest: boolean }> {
    const end = (before === undefined ? undefined : timeIn(before)) ?? (await clusterTime());
    const [t, i] = [end.getHighBits(), end.getLowBits()];
    const near = [new Timestamp({ t, i: Math.max(1, i - 200) })];
    for (const age of AGES.toReversed()) near.push(new Timestamp({ t: t - age, i: 1 }));
    for (const startAtOperationTime of near) yield { start: { startAtOperationTime }, isOldest: false };
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
        const { ended } = await scan(start, (event) => {
          if (event.id === before) return true;
          events.push(event);
          if (events.length > most) events.shift();
          return false;
        });
        const isWhole = ended === (before === undefined ? 'end' : 'enough');
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

  async function endOfEvents(): Promise<string> {
    // Whatever is committed from here on has a later position.
    const start = { startAtOperationTime: await clusterTime() };
    return (await readPage({ limit: 1, types: [] }, start)).next;
  }

  /** Follows the log across closed streams, failovers and server restarts. */
  async function followEvents(follower: EventFollower): Promise<Following> {
    const openAfter = (startAfter: unknown) => open({ startAfter, maxAwaitTimeMS: FOLLOW_WAIT });
    let stream = openAfter({ _data: await endOfEvents() });
    let stopped = false;
    let pause = FIRST_PAUSE;
    let answeredAt = performance.now();
    let delay = 0;
    const waiting = new Set<{ until?: Timestamp; resolve: () => void }>();

    const next = async (): Promise<void> => {
      const readers = [...waiting];
      for (const reader of readers) reader.until ??= await clusterTime();
      // The driver may wait for good for what it sends over a connection that ends (see `gather`).
      const change = await within(FOLLOW_WAIT + database.timeoutMs, stream.tryNext());
      if (!change && stream.closed) throw new Error('The database was dropped.');
      pause = FIRST_PAUSE;
      answeredAt = performance.now();
      delay = change ? Math.max(0, Date.now() - timeOf(change)) : 0;
      if (change && !stopped) follower.onEvents([toEvent(change)]);
      for (const reader of readers) {
        if (change && !change.clusterTime!.gt(reader.until!)) continue;
        waiting.delete(reader);
        reader.resolve();
      }
    };

    const run = async (): Promise<void> => {
      while (!stopped) {
        try {
          await next();
        } catch (error) {
          if (stopped) break;
          if (!isResumable(error)) {
            follower.onEnd(isHistoryLost(error) ? eventsGone() : error);
            break;
          }
          await sleep(pause);
          pause = Math.min(MAX_PAUSE, pause * 2);
          const after = stream.resumeToken;
          void stream.close().catch(() => {});
          if (!stopped) stream = openAfter(after);
        }
      }
      stop();
      for (const { resolve } of waiting) resolve();
    };

    const stop = () => {
      stopped = true;
      stopping.delete(stop);
      void stream.close().catch(() => {});
    };
    stopping.add(stop);
    void run();

    return {
      async caughtUp() {
        if (!stopped) await new Promise<void>((resolve) => waiting.add({ resolve }));
      },
      lag: () => delay + performance.now() - answeredAt,
      stop,
    };
  }

  return {
    async eventPage(request: EventRequest): Promise<EventPage> {
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

    endOfEvents,

    followEvents,

    stopFollowing() {
      for (const stop of stopping) stop();
    },
  } satisfies EventStore & Record<string, unknown>;
}

const tokenOf = (stream: ChangeStream<Document, Change>): string =>
  (stream.resumeToken as { _data: string })._data;

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

/** Whether a failed stream can be resumed. Only an error from the server itself can rule that out. */
const isResumable = (error: unknown): boolean => !(error instanceof MongoServerError) || isUnavailable(error);

/** Translates the error of a stream that does not start at the requested position. */
function resumeError(error: unknown): unknown {
  if (isHistoryLost(error)) return eventsGone();
  // Servers have many codes for tokens that are none, but label what can be resumed.
  const isLabelled = error instanceof MongoServerError && error.hasErrorLabel('ResumableChangeStreamError');
  if (error instanceof MongoServerError && !isLabelled) return unknownEvent();
  return portError(error);
}
