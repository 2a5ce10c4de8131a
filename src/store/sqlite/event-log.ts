import { eventsGone, unknownEvent } from '../../errors.ts';
import type {
  EventFollower,
  EventPage,
  EventRequest,
  EventType,
  EventTypes,
  Following,
  StoredEvent,
} from '../events.ts';
import type { Connection, Value } from './connection.ts';

/** How much of the log one page looks at where it takes only some types: bounds the work of a read that finds nothing. */
const LOOKED_AT = 5_000;
/** How many events one statement writes or removes. */
const MAX_WRITTEN = 16;
const REMOVED_AT_ONCE = 500;
/** Between two removals, in milliseconds: others have their turn. */
const REMOVAL_PAUSE = 20;
/** How often expired events are looked for, in milliseconds. */
const REMOVAL_INTERVAL = 10_000;

/** The statement that writes so many events. */
const INSERTS = Array.from(
  { length: MAX_WRITTEN + 1 },
  (_, count) => `insert into events values ${new Array(count).fill('(?,?,?,?)').join()}`,
);

type Record = StoredEvent['record'];
/** An event whose position is not known yet. */
type NewEvent = Omit<StoredEvent, 'id'>;

/** Takes down what a write has done, for the log. */
export type Append = <T extends EventType>(type: T, record: EventTypes[T]) => void;

/**
 * The log of changes: rows that are written in the transaction of the writes they tell of, and shown once that is committed.
 *
 * @param now milliseconds since 1970
 */
export function eventLog(db: Connection, now: () => number) {
  const [name, removedAtStart] = db.get('select name, removed from event_log', []) as [string, number];
  let removed = removedAtStart;
  let last = Number(db.value('select coalesce(max(position), ?) from events', [removed]));
  let pending: NewEvent[] = [];
  let timer: NodeJS.Timeout | undefined;
  const followers = new Set<EventFollower>();

  const idOf = (position: number): string => `${name}-${position}`;

  const positionOf = (id: string): number => {
    const digits = id.startsWith(`${name}-`) ? id.slice(name.length + 1) : '';
    const position = /^(0|[1-9]\d{0,15})$/.test(digits) ? Number(digits) : Number.NaN;
    if (!(position <= last)) throw unknownEvent();
    if (position < removed) throw eventsGone();
    return position;
  };

  const write = (): void => {
    for (let from = 0; from < pending.length; from += MAX_WRITTEN) {
      const events = pending.slice(from, from + MAX_WRITTEN);
      const values: Value[] = [];
      let position = last + from;
      for (const { type, time, record } of events)
        values.push(++position, type, time, JSON.stringify(record));
      db.run(INSERTS[events.length]!, values);
    }
  };

  const committed = (): void => {
    if (pending.length === 0) return;
    const events =
      followers.size === 0 ? [] : pending.map((event, i) => ({ id: idOf(last + i + 1), ...event }));
    last += pending.length;
    pending = [];
    if (events.length > 0) for (const follower of followers) follower.onEvents(events);
  };

  db.collectWith({
    get size() {
      return pending.length;
    },
    truncate(size) {
      pending.length = size;
    },
    write,
    committed,
  });

  const append: Append = (type, record) => void pending.push({ type, time: now(), record });

  /** Removes some events that were written before a time; the newest one stays. @returns how many */
  const removeSome = (before: number): number => {
    const oldest = 'select position, time from events where position < ? order by position limit ?';
    const upTo = db.value(`select max(position) from (${oldest}) where time < ?`, [
      last,
      REMOVED_AT_ONCE,
      before,
    ]) as number | null;
    if (upTo === null) return 0;
    const count = db.transaction(() => {
      db.run('update event_log set removed = ?', [upTo]);
      return db.run('delete from events where position <= ?', [upTo]);
    });
    removed = upTo;
    return count;
  };

  const remove = (keepFor: number): void => {
    let count = 0;
    try {
      count = removeSome(now() - keepFor);
    } catch {
      // A disk that is full or away fails the writes too, which is told to those who write; the next look tries again.
    }
    timer = setTimeout(remove, count === REMOVED_AT_ONCE ? REMOVAL_PAUSE : REMOVAL_INTERVAL, keepFor).unref();
  };

  return {
    append,
    store: {
      eventPage({ after, types, limit }: EventRequest): EventPage {
        const from = after === undefined ? removed : positionOf(after);
        const upTo = types ? Math.min(last, from + LOOKED_AT) : last;
        const params: Value[] = [from, upTo, limit];
        if (types) params.push(JSON.stringify(types));
        // What is not committed yet has positions behind `last`.
        const rows = db.value(
          `select json_group_array(json_array(position, type, time, json(record))) from (
             select * from events where position > ? and position <= ?
             ${types ? 'and type in (select value from json_each(?4))' : ''}
             order by position limit ?3
           )`,
          params,
        ) as string;
        const events = (JSON.parse(rows) as [number, EventType, number, Record][]).map(
          ([position, type, time, record]) => ({ id: idOf(position), type, time, record }),
        );
        const isFull = events.length === limit;
        const next = isFull ? events.at(-1)!.id : idOf(upTo);
        return { events, next, atEnd: isFull ? next === idOf(last) : upTo === last };
      },

      followEvents(follower: EventFollower): Following {
        followers.add(follower);
        return { caughtUp() {}, lag: () => 0, stop: () => void followers.delete(follower) };
      },
    },
    /** Removes events of more than this age, in milliseconds, a few at a time, from now on. */
    keep(keepFor: number): void {
      remove(keepFor);
    },
    close(): void {
      clearTimeout(timer);
    },
  };
}
