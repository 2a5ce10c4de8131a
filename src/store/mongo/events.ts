import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ChangeStream,
  type ChangeStreamOptions,
  type Document,
  MongoServerError,
  Timestamp,
} from 'mongodb';
import { eventsGone, noEventLog, unknownEvent } from '../../foundation/errors.ts';
import { charactersOf } from '../../foundation/meter.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import {
  type EventFollower,
  type EventPage,
  EventPageBounds,
  type EventRequest,
  type EventStore,
  type EventType,
  type Following,
  type StoredEvent,
} from '../events.ts';
import { within } from './batching.ts';
import { type Change, createChangeEvents, timeOf } from './change-events.ts';
import type { Database } from './database.ts';
import { isCursorLost, isHistoryLost, isUnavailable, portError } from './errors.ts';

/** How long a read at the end of the log waits for more events, in milliseconds. */
const PAGE_WAIT = 10;
const FOLLOW_WAIT = 500;
/** How long a page may search for the end of the log, in milliseconds. */
const PAGE_TIME = 2_000;
/** Delay between attempts to resume the log, in milliseconds. */
const FIRST_PAUSE = 100;
const MAX_PAUSE = 2_000;
/** If the oplog cannot be read (shards, missing privileges), its beginning is searched among these ages, in seconds. */
const AGES = [30 * 86_400, 7 * 86_400, 2 * 86_400, 86_400, 8 * 3_600, 3_600, 600, 60, 0];

const TOKEN = /^[0-9A-Fa-f]{8,2000}$/;

/**
 * The event log, read from change streams, since MongoDB keeps it in the oplog anyway. Resume tokens
 * serve as event ids.
 */
export function mongoEvents(database: Database, records: readonly AnyRecord[]) {
  const { client, db } = database;
  const { types: allTypes, conditionOf, toEvent } = createChangeEvents(records);
  /** By follower. */
  const stopping = new Set<() => void>();

  const open = (types: readonly EventType[], options: ChangeStreamOptions): ChangeStream<Document, Change> =>
    db.watch<Document, Change>(
      [{ $match: types.length > 0 ? { $or: types.map(conditionOf) } : NOTHING }],
      options,
    );

  const requireLog = (): void => {
    if (database.transactions) return;
    throw noEventLog('a standalone MongoDB has no change streams; a replica set is required');
  };

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

  async function readPage(
    { types = allTypes, limit, meter }: EventRequest,
    start: ChangeStreamOptions,
  ): Promise<EventPage> {
    const end = await clusterTime();
    const stream = open(types, { ...start, batchSize: limit, maxAwaitTimeMS: PAGE_WAIT });
    const deadline = performance.now() + PAGE_TIME;
    const events: StoredEvent[] = [];
    // The database examines what the filter leaves out, for as long as it takes until the deadline.
    const bounds = new EventPageBounds(meter);
    let atEnd = false;
    let isFull = false;
    try {
      for (let seen: string | undefined; !isFull && !atEnd; ) {
        const change = await stream.tryNext();
        if (change) {
          const event = toEvent(change);
          events.push(event);
          const characters = charactersOf(event.record);
          bounds.examined(1, characters);
          bounds.kept(characters);
          isFull = events.length === limit || bounds.isSpent;
        } else if (stream.closed || performance.now() > deadline) break;
        else {
          const token = tokenOf(stream);
          atEnd = hasReached(token, end) ?? token === seen;
          seen = token;
        }
      }
      // The token of the batch may be beyond events that did not fit on the page.
      const next = isFull ? events.at(-1)!.id : tokenOf(stream);
      return { events, next, atEnd };
    } finally {
      await stream.close();
    }
  }

  /** Follows the log across closed streams, failovers and server restarts. */
  async function followEvents(follower: EventFollower): Promise<Following> {
    requireLog();
    const options: ChangeStreamOptions = { maxAwaitTimeMS: FOLLOW_WAIT };
    const begin = await clusterTime();
    let stream = open(allTypes, { ...options, startAtOperationTime: begin });
    let stopped = false;
    let pause = FIRST_PAUSE;
    let answeredAt = performance.now();
    let delay = 0;
    const waiting = new Set<{ until: Timestamp; resolve: () => void }>();
    const times = new WeakMap<StoredEvent, Timestamp>();

    const next = async (): Promise<void> => {
      const readers = [...waiting];
      // The driver may wait for good for what it sends over a connection that ends (see `gather`).
      const change = await within(FOLLOW_WAIT + database.timeoutMs, stream.tryNext());
      if (!change && stream.closed) throw new Error('The database was dropped.');
      pause = FIRST_PAUSE;
      answeredAt = performance.now();
      delay = change ? Math.max(0, Date.now() - timeOf(change)) : 0;
      if (change && !stopped && change.clusterTime?.gt(begin)) {
        const event = toEvent(change);
        times.set(event, change.clusterTime);
        follower.onEvents([event]);
      }
      for (const reader of readers) {
        if (change && !change.clusterTime?.gt(reader.until)) continue;
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
          const start = stream.resumeToken
            ? { startAfter: stream.resumeToken }
            : { startAtOperationTime: begin };
          void stream.close().catch(() => {});
          if (!stopped) stream = open(allTypes, { ...options, ...start });
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
        const until = await clusterTime();
        if (stopped) return;
        await new Promise<void>((resolve) => waiting.add({ until, resolve }));
      },
      async olderThanNow() {
        const now = await clusterTime();
        return (event) => !times.get(event)!.gt(now);
      },
      lag: () => delay + performance.now() - answeredAt,
      stop,
    };
  }

  return {
    async eventPage(request: EventRequest): Promise<EventPage> {
      requireLog();
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

    async endOfEvents(): Promise<string> {
      requireLog();
      // Whatever is committed from here on has a later position.
      const start = { startAtOperationTime: await clusterTime() };
      return (await readPage({ limit: 1, types: [] }, start)).next;
    },

    followEvents,

    requireLog,

    stopFollowing() {
      for (const stop of stopping) stop();
    },
  } satisfies EventStore & Record<string, unknown>;
}

/** Matches no change; an empty `$or` would be an error. */
const NOTHING = { operationType: 'none' };

const tokenOf = (stream: ChangeStream<Document, Change>): string =>
  (stream.resumeToken as { _data: string })._data;

/**
 * Whether an exhausted stream has seen everything up to `time`. An empty response alone only means that the
 * server stopped waiting. MongoDB's tokens start with their timestamp.
 *
 * @returns undefined for tokens of other servers
 */
function hasReached(token: string, time: Timestamp): boolean | undefined {
  const match = /^82([0-9A-F]{8})([0-9A-F]{8})/i.exec(token);
  if (!match) return undefined;
  const seen = new Timestamp({ t: Number.parseInt(match[1]!, 16), i: Number.parseInt(match[2]!, 16) });
  return seen.gte(time);
}

/** Whether a failed stream can be resumed. Only an error from the server itself can rule that out. */
const isResumable = (error: unknown): boolean =>
  !(error instanceof MongoServerError) ||
  isUnavailable(error) ||
  error.hasErrorLabel('ResumableChangeStreamError') ||
  isCursorLost(error);

/** Translates the error of a stream that does not start at the requested position. */
function resumeError(error: unknown): unknown {
  if (isHistoryLost(error)) return eventsGone();
  if (error instanceof MongoServerError && !isUnavailable(error)) return unknownEvent();
  return portError(error);
}
