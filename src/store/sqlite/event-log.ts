import { eventsGone, unknownEvent } from '../../foundation/errors.ts';
import { andThen, attempt } from '../../foundation/maybe-promise.ts';
import {
  type EventFollower,
  type EventPage,
  EventPageBounds,
  type EventRecord,
  type EventRequest,
  type EventType,
  type Following,
  type StoredEvent,
} from '../events.ts';
import type { SqliteConnection } from './connection.ts';

/** Events per row. */
const MAX_EVENTS_PER_ROW = 32;
/** Rows removed per statement. */
const REMOVAL_BATCH_SIZE = 100;
/** Rows read per statement. A few suffice if many events were written together. */
const [MIN_READ, MAX_READ] = [4, 256];

const ROWS = `select '[' || group_concat('[' || first || ',' || events || ']') || ']'
  from (select first, events from event_groups where first >= ?1 and first < ?2 order by first limit ?3)`;
/** Positions per entry of the index of types, so that most writes add none. */
const BLOCK_SIZE = 64;

/** The first block from ?1 on with a row that contains any of these types. */
const nextBlockOf = (types: readonly EventType[]): string =>
  `select min(block) from (${types
    .map((_, i) => `select min(block) as block from event_types where type = ?${i + 2} and block >= ?1`)
    .join(' union all ')})`;

/** Deletes index entries before a block, type by type, because the index is ordered by type. */
const DELETE_TYPES = `delete from event_types where block < ? and type in (
  with recursive types (type) as (
    select min(type) from event_types
    union all
    select (select min(type) from event_types where type > types.type) from types where type is not null
  ) select type from types where type is not null
)`;
/** Pause between removals in milliseconds, to let other work proceed. */
const REMOVAL_PAUSE = 20;
/** How often expired events are removed, in milliseconds. */
const REMOVAL_INTERVAL = 10_000;

/** An event without a position yet. */
type NewEvent = Omit<StoredEvent, 'id'>;
/** An event as stored in a row. */
type LoggedEvent = [type: EventType, time: number, record: EventRecord];

/** Adds an event to the log. */
export type Append = (type: EventType, record: EventRecord) => void;

/**
 * The event log. Events are written in the transaction of the writes they describe, and become visible
 * once it is committed.
 *
 * @param db reads the log, and removes what has expired
 * @param now milliseconds since 1970
 */
export function eventLog(db: SqliteConnection, now: () => number) {
  const [name, removedAtStart] = db.get('select name, removed from event_log', []) as [string, number];
  let removed = removedAtStart;
  const newest = 'select first + json_array_length(events) - 1 from event_groups order by first desc limit 1';
  let last = Number(db.value(`select coalesce((${newest}), ?)`, [removed]));
  /** The latest block that the index has for each type. */
  const indexed = new Map<EventType, number>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const followers = new Set<EventFollower>();

  const idOf = (position: number): string => `${name}-${position}`;
  const idForm = new RegExp(`^${name}-(0|[1-9]\\d{0,15})$`);

  const positionOf = (id: string): number => {
    const position = Number(idForm.exec(id)?.[1]);
    if (!(position <= last)) throw unknownEvent();
    if (position < removed) throw eventsGone();
    return position;
  };

  /**
   * Logs what is written through a connection. One of them has a transaction at a time.
   *
   * @param onCommitted called for each event before anybody is told of it
   */
  const appendTo = (writing: SqliteConnection, onCommitted?: (event: NewEvent) => void): Append => {
    let pending: NewEvent[] = [];
    /** What the current transaction adds to the index. */
    let indexing = new Map<EventType, number>();
    writing.setCollector({
      get size() {
        return pending.length;
      },
      truncate(size) {
        pending.length = size;
      },
      write() {
        indexing = new Map();
        // Many events per row: the row and its columns cost more than the text of the events.
        for (let from = 0; from < pending.length; from += MAX_EVENTS_PER_ROW) {
          const events = pending.slice(from, from + MAX_EVENTS_PER_ROW);
          const logged = events.map(({ type, time, record }): LoggedEvent => [type, time, record]);
          const first = last + from + 1;
          writing.run('insert into event_groups values (?,?,?)', [
            first,
            events.at(-1)!.time,
            JSON.stringify(logged),
          ]);
          const block = Math.floor(first / BLOCK_SIZE);
          for (const { type } of events) {
            if (indexed.get(type) === block || indexing.get(type) === block) continue;
            writing.run('insert or ignore into event_types values (?,?)', [type, block]);
            indexing.set(type, block);
          }
        }
      },
      onCommitted() {
        const first = last + 1;
        const written = pending;
        last += written.length;
        pending = [];
        for (const [type, block] of indexing) indexed.set(type, block);
        if (onCommitted) written.forEach(onCommitted);
        if (written.length === 0 || followers.size === 0) return;
        const events = written.map((event, i) => ({ id: idOf(first + i), ...event }));
        for (const follower of followers) follower.onEvents(events);
      },
    });
    return (type, record) => void pending.push({ type, time: now(), record });
  };

  /** A page of the events after a position. Uncommitted events are beyond `last`. */
  function readPage(after: number, { types, limit, meter }: EventRequest): EventPage {
    const events: StoredEvent[] = [];
    const end = { next: idOf(last), atEnd: true };
    if (types?.length === 0) return { events, ...end };
    const bounds = new EventPageBounds(meter);
    if (bounds.isSpent) return { events, next: idOf(after), atEnd: false };
    let from = Number(
      db.value('select coalesce(max(first), ?1) from event_groups where first <= ?1', [after + 1]),
    );
    let before = types ? from : Number.MAX_SAFE_INTEGER;
    for (let count = MIN_READ; ; ) {
      if (types?.length === 0) return { events, ...end };
      if (types && from >= before) {
        const params = [Math.floor(from / BLOCK_SIZE), ...types];
        const block = types.length > 0 ? (db.value(nextBlockOf(types), params) as number | null) : null;
        if (block === null) return { events, ...end };
        from = Math.max(from, block * BLOCK_SIZE);
        before = (block + 1) * BLOCK_SIZE;
      }
      const text = db.value(ROWS, [from, before, count]) as string | null;
      if (text === null) return { events, ...end };
      const rows = JSON.parse(text) as [first: number, events: LoggedEvent[]][];
      const examined = rows.reduce((sum, [, logged]) => sum + logged.length, 0);
      bounds.examined(examined, text.length);
      for (const [first, logged] of rows) {
        from = first + logged.length;
        for (const [i, [type, time, record]] of logged.entries()) {
          const position = first + i;
          if (position <= after || position > last || (types && !types.includes(type))) continue;
          const id = idOf(position);
          events.push({ id, type, time, record });
          bounds.kept(text.length / examined);
          if (events.length === limit) return { events, next: id, atEnd: position === last };
        }
      }
      if (from > last) return { events, ...end };
      if (bounds.isSpent) return { events, next: idOf(from - 1), atEnd: false };
      // As many rows as are likely to fit into what is left.
      const fitting = Math.min(bounds.left('eventText') / text.length, bounds.left('events') / examined);
      count = Math.max(1, Math.min(2 * count, MAX_READ, Math.floor(fitting * rows.length)));
    }
  }

  /** A page of the latest events before a position. */
  function readPageBefore(before: number, { types, limit, meter }: EventRequest): EventPage {
    const bounds = new EventPageBounds(meter);
    const most = bounds.left('events');
    const first = Math.max(removed + 1, before - (types ? most : limit));
    const from = 'select coalesce(max(first), ?1) from event_groups where first <= ?1';
    const text = db.value(ROWS, [db.value(from, [first]) as number, before, MAX_READ * 4]) as string | null;
    const rows = JSON.parse(text ?? '[]') as [first: number, events: LoggedEvent[]][];
    bounds.examined(Math.max(0, before - first), text?.length ?? 0);
    const events = rows
      .flatMap(([start, logged]) =>
        logged.map(([type, time, record], i) => ({ position: start + i, type, time, record })),
      )
      .filter(
        ({ position, type }) => position >= first && position < before && (!types || types.includes(type)),
      );
    const kept = events.slice(-limit);
    const next = kept.length < events.length || kept.length === limit ? kept[0]!.position : first;
    return {
      events: kept.map(({ position, ...event }) => ({ id: idOf(position), ...event })),
      next: idOf(next),
      atEnd: next <= removed + 1,
    };
  }

  /** Removes some rows written before a time, except the newest. @returns their number */
  const removeSome = (before: number): number => {
    const notNewest = 'first < (select max(first) from event_groups)';
    const oldest = `select first, time from event_groups where ${notNewest} order by first limit ?`;
    const next = db.value(
      `select min(first) from event_groups where first > (select max(first) from (${oldest}) where time < ?)`,
      [REMOVAL_BATCH_SIZE, before],
    ) as number | null;
    if (next === null) return 0;
    const count = db.transaction(() => {
      db.run('update event_log set removed = ?', [next - 1]);
      db.run(DELETE_TYPES, [Math.floor(next / BLOCK_SIZE)]);
      return db.run('delete from event_groups where first < ?', [next]);
    });
    removed = next - 1;
    return count;
  };

  const keep = (keepFor: number): void => {
    const next = (count: number) => {
      const pause = count === REMOVAL_BATCH_SIZE ? REMOVAL_PAUSE : REMOVAL_INTERVAL;
      if (!isClosed) timer = setTimeout(keep, pause, keepFor).unref();
    };
    // If the disk is full or away, writes fail too and report it. The next run tries again.
    void andThen(
      attempt(
        () => db.whenFree(() => removeSome(now() - keepFor)),
        () => 0,
      ),
      next,
    );
  };

  return {
    append: appendTo(db),
    appendTo,
    store: {
      eventPage(request: EventRequest): EventPage {
        const { after, before, backward } = request;
        if (backward) return readPageBefore(before === undefined ? last + 1 : positionOf(before), request);
        return readPage(after === undefined ? removed : positionOf(after), request);
      },

      endOfEvents: () => idOf(last),

      followEvents(follower: EventFollower): Following {
        followers.add(follower);
        return { caughtUp() {}, lag: () => 0, stop: () => void followers.delete(follower) };
      },
    },
    /** Starts removing events older than this, in milliseconds, a few at a time. */
    keep,
    close(): void {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
