import { eventsGone, unknownEvent } from '../../foundation/errors.ts';
import type {
  EventFollower,
  EventPage,
  EventRequest,
  EventType,
  EventTypes,
  Following,
  StoredEvent,
} from '../events.ts';
import type { Connection } from './connection.ts';

/** What a page may examine, including what its filter leaves out: events, and characters of their text. */
const MAX_EXAMINED = { events: 1_000, characters: 256_000 };
/** Events per row. */
const MAX_EVENTS_PER_ROW = 32;
/** Rows removed per statement. */
const REMOVAL_BATCH_SIZE = 100;
/** Rows read per statement. A few suffice if many events were written together. */
const [MIN_READ, MAX_READ] = [4, 256];

/** Selects the rows from position ?1 on that contain any of these types, at most ?2. */
function rowsOf(types: readonly EventType[] | undefined): string {
  // One ordered range of the index per type: `type in (…)` would sort all of its entries.
  const ranges = types?.map(
    (_, i) => `select first from (
      select first from event_types where type = ?${i + 3} and first >= ?1 order by first limit ?2)`,
  );
  const condition = ranges ? `first in (${ranges.join(' union ')})` : 'first >= ?1';
  return `select '[' || group_concat('[' || first || ',' || events || ']') || ']'
    from (select first, events from event_groups where ${condition} order by first limit ?2)`;
}

/** Deletes index entries before a position, type by type, because the index is ordered by type. */
const DELETE_TYPES = `delete from event_types where first < ? and type in (
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

type Record = StoredEvent['record'];
/** An event without a position yet. */
type NewEvent = Omit<StoredEvent, 'id'>;
/** An event as stored in a row. */
type LoggedEvent = [type: EventType, time: number, record: Record];

/** Adds an event to the log. */
export type Append = <T extends EventType>(type: T, record: EventTypes[T]) => void;

/**
 * The event log. Events are written in the transaction of the writes they describe, and become visible
 * once it is committed.
 *
 * @param now milliseconds since 1970
 */
export function eventLog(db: Connection, now: () => number) {
  const [name, removedAtStart] = db.get('select name, removed from event_log', []) as [string, number];
  let removed = removedAtStart;
  const newest = 'select first + json_array_length(events) - 1 from event_groups order by first desc limit 1';
  let last = Number(db.value(`select coalesce((${newest}), ?)`, [removed]));
  let pending: NewEvent[] = [];
  let timer: NodeJS.Timeout | undefined;
  const followers = new Set<EventFollower>();

  const idOf = (position: number): string => `${name}-${position}`;
  const idForm = new RegExp(`^${name}-(0|[1-9]\\d{0,15})$`);

  const positionOf = (id: string): number => {
    const position = Number(idForm.exec(id)?.[1]);
    if (!(position <= last)) throw unknownEvent();
    if (position < removed) throw eventsGone();
    return position;
  };

  const write = (): void => {
    // Many events per row: the row and its columns cost more than the text of the events.
    for (let from = 0; from < pending.length; from += MAX_EVENTS_PER_ROW) {
      const events = pending.slice(from, from + MAX_EVENTS_PER_ROW);
      const logged = events.map(({ type, time, record }): LoggedEvent => [type, time, record]);
      const first = last + from + 1;
      db.run('insert into event_groups values (?,?,?)', [first, events.at(-1)!.time, JSON.stringify(logged)]);
      for (const type of new Set(events.map(({ type }) => type)))
        db.run('insert into event_types values (?,?)', [type, first]);
    }
  };

  const onCommitted = (): void => {
    const first = last + 1;
    const written = pending;
    last += written.length;
    pending = [];
    if (written.length === 0 || followers.size === 0) return;
    const events = written.map((event, i) => ({ id: idOf(first + i), ...event }));
    for (const follower of followers) follower.onEvents(events);
  };

  db.setCollector({
    get size() {
      return pending.length;
    },
    truncate(size) {
      pending.length = size;
    },
    write,
    onCommitted,
  });

  /**
   * Reads rows from a position on, a few at a time.
   *
   * @returns the rows and the length of their text
   */
  function readRows(from: number, count: number, types: readonly EventType[] | undefined) {
    const text = db.value(rowsOf(types), [from, count, ...(types ?? [])]) as string | null;
    const rows: [first: number, events: LoggedEvent[]][] = text === null ? [] : JSON.parse(text);
    return { rows, characters: text?.length ?? 0 };
  }

  /** A page of the events after a position. Uncommitted events are beyond `last`. */
  function readPage(after: number, types: readonly EventType[] | undefined, limit: number): EventPage {
    const events: StoredEvent[] = [];
    const left = { ...MAX_EXAMINED };
    let from = Number(
      db.value('select coalesce(max(first), ?1) from event_groups where first <= ?1', [after + 1]),
    );
    for (let count = MIN_READ; ; ) {
      const { rows, characters } = readRows(from, count, types);
      const before = left.events;
      for (const [first, logged] of rows) {
        from = first + logged.length;
        left.events -= logged.length;
        for (const [i, [type, time, record]] of logged.entries()) {
          const position = first + i;
          if (position <= after || position > last || (types && !types.includes(type))) continue;
          const id = idOf(position);
          events.push({ id, type, time, record });
          if (events.length === limit) return { events, next: id, atEnd: position === last };
        }
      }
      left.characters -= characters;
      if (rows.length < count || from > last) return { events, next: idOf(last), atEnd: true };
      if (left.events <= 0 || left.characters <= 0) return { events, next: idOf(from - 1), atEnd: false };
      // As many rows as are likely to fit into what is left.
      const fitting = Math.min(left.characters / characters, left.events / (before - left.events));
      count = Math.max(1, Math.min(2 * count, MAX_READ, Math.floor(fitting * rows.length)));
    }
  }

  const append: Append = (type, record) => void pending.push({ type, time: now(), record });

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
      db.run(DELETE_TYPES, [next]);
      return db.run('delete from event_groups where first < ?', [next]);
    });
    removed = next - 1;
    return count;
  };

  const remove = (keepFor: number): void => {
    let count = 0;
    try {
      count = removeSome(now() - keepFor);
    } catch {
      // If the disk is full or away, writes fail too and report it. The next run tries again.
    }
    timer = setTimeout(
      remove,
      count === REMOVAL_BATCH_SIZE ? REMOVAL_PAUSE : REMOVAL_INTERVAL,
      keepFor,
    ).unref();
  };

  return {
    append,
    store: {
      eventPage({ after, types, limit }: EventRequest): EventPage {
        return readPage(after === undefined ? removed : positionOf(after), types, limit);
      },

      followEvents(follower: EventFollower): Following {
        followers.add(follower);
        return { caughtUp() {}, lag: () => 0, stop: () => void followers.delete(follower) };
      },
    },
    /** Starts removing events older than this, in milliseconds, a few at a time. */
    keep(keepFor: number): void {
      remove(keepFor);
    },
    close(): void {
      clearTimeout(timer);
    },
  };
}
