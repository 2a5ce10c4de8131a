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

/** Events scanned per page when filtering by type, so that a read without matches stays bounded. */
const MAX_SCANNED = 5_000;
/** Events per row. */
const MAX_EVENTS_PER_ROW = 32;
/** Rows removed per statement. */
const REMOVAL_BATCH_SIZE = 100;
/** Rows read per statement. A few suffice if many events were written together. */
const [MIN_READ, MAX_READ] = [4, 256];
const ROWS = `select '[' || group_concat('[' || first || ',' || events || ']') || ']'
  from (select first, events from event_groups where first >= ? order by first limit ?)`;
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
      db.run('insert into event_groups values (?,?,?)', [
        last + from + 1,
        events.at(-1)!.time,
        JSON.stringify(logged),
      ]);
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

  /** The events after a position, up to another one. Uncommitted events are beyond `last`. */
  function* eventsBetween(from: number, upTo: number): Generator<StoredEvent> {
    let next = db.value('select max(first) from event_groups where first <= ?', [from + 1]) as number | null;
    for (let count = MIN_READ; next !== null && next <= upTo; count = Math.min(2 * count, MAX_READ)) {
      const rows = JSON.parse(db.value(ROWS, [next, count]) as string) as [number, LoggedEvent[]][];
      for (const [first, events] of rows) {
        next = first + events.length;
        for (const [i, [type, time, record]] of events.entries()) {
          const position = first + i;
          if (position > from && position <= upTo) yield { id: idOf(position), type, time, record };
        }
      }
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
        const from = after === undefined ? removed : positionOf(after);
        const upTo = types ? Math.min(last, from + MAX_SCANNED) : last;
        const events: StoredEvent[] = [];
        for (const event of eventsBetween(from, upTo)) {
          if (types && !types.includes(event.type)) continue;
          events.push(event);
          if (events.length === limit) return { events, next: event.id, atEnd: event.id === idOf(last) };
        }
        return { events, next: idOf(upTo), atEnd: upTo === last };
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
