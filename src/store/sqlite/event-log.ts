import { eventsGone, unknownEvent } from '../../foundation/errors.ts';
import { deferred } from '../../foundation/turns.ts';
import type { AnyDeclaration } from '../../foundation/record.ts';
import {
  allEventTypes,
  type EventPage,
  type EventRecord,
  type EventRequest,
  type EventType,
  NOW,
  renamedIn,
  type StoredEvent,
} from '../events.ts';
import type { SqliteConnection, Value } from './connection.ts';
import type { Writer } from './writer.ts';

/** The number of events that a follower reads at once. */
const BATCH_SIZE = 500;
/** The number of events written at once, so that those of a large transaction don't pile up in memory. */
const WRITTEN_AT_ONCE = 500;
/** The number of events removed at once, which takes a few milliseconds. */
const REMOVED_AT_ONCE = 2_500;

const EVENT = `json_array(position, type, time, json(record))`;

type Row = [position: number, type: EventType, time: number, record: EventRecord];

/**
 * The event log. Events are written in the transaction of the writes they describe, at positions without gaps, and
 * become visible once it is committed.
 *
 * @param declarations the records whose events are read; other events are skipped
 * @param now milliseconds since 1970
 * @param keepFor how long events are kept, in milliseconds
 */
export function eventLog(
  db: SqliteConnection,
  writer: Writer,
  declarations: readonly AnyDeclaration[],
  now: () => number,
  keepFor = Number.POSITIVE_INFINITY,
) {
  const types = allEventTypes(declarations);
  const recordIn = renamedIn(declarations);
  const name = db.value('select name from event_log') as string;
  /** The bounds of the log, which has all positions after `removed` up to `last`. */
  let removed = 0;
  let last = 0;
  /** The open transaction's events that are not in the table yet, and the number of those that are. */
  let pending: Omit<StoredEvent, 'id'>[] = [];
  let added = 0;
  /** Resolves when more events are committed, or at the next housekeeping. */
  let written = deferred();

  const idOf = (position: number): string => `${name}-${position}`;
  const idForm = new RegExp(`^${name}-(0|[1-9]\\d{0,15})$`);

  const positionOf = (id: string, path: 'after' | 'before' = 'after'): number => {
    const position = Number(idForm.exec(id)?.[1]);
    if (!(position <= last)) throw unknownEvent(path);
    if (position < removed) throw eventsGone();
    return position;
  };

  const rowsOf = (sql: string, params: Value[]): StoredEvent[] =>
    db
      .json<Row[]>(`select json_group_array(${EVENT}) from (${sql})`, params)!
      .map(([position, type, time, record]) => ({
        id: idOf(position),
        type,
        time,
        record: recordIn(type, record),
      }));

  const tell = (): void => {
    written.resolve();
    written = deferred();
  };

  const readBounds = (): void => {
    removed = db.value('select removed from event_log') as number;
    last = db.value('select coalesce(max(position), ?) from events', [removed]) as number;
  };
  readBounds();

  const write = (): void => {
    db.insert('events', pending, ({ type, time, record }, n) => [
      BigInt(last + added + 1 + n),
      type,
      BigInt(time),
      JSON.stringify(record),
    ]);
    added += pending.length;
    pending = [];
  };

  writer.follow({
    refresh() {
      pending = [];
      added = 0;
      readBounds();
      tell();
    },
    beforeCommit: write,
    onCommitted() {
      if (added === 0) return;
      last += added;
      added = 0;
      tell();
    },
  });

  /**
   * Reads a page of the first events after a position, or of the latest before it. Each type has its own index range,
   * so no other events are examined.
   */
  function readPage(from: number, { types: wanted, limit, backward, meter }: EventRequest): EventPage {
    const [after, before] = backward ? [removed, from] : [from, last + 1];
    const order = backward ? 'position desc' : 'position';
    const each = (isOfType: string) =>
      `select * from (
         select position from events where ${isOfType} position > ? and position < ? order by ${order} limit ?
       )`;
    const bounds = [after, before, limit + 1];
    const positions = wanted?.map(() => each('type = ? and')).join(' union all ') ?? each('');
    const params = wanted?.flatMap((type) => [type, ...bounds]) ?? bounds;
    const sql = `select * from events where position in (${positions}) order by ${order} limit ?`;
    const events = wanted?.length === 0 ? [] : rowsOf(sql, [...params, limit + 1]);
    const atEnd = events.length <= limit;
    if (!atEnd) events.length = limit;
    meter?.spend('events', events.length);
    const next = atEnd ? idOf(backward ? removed + 1 : last) : events.at(-1)!.id;
    const read = events.filter(({ type }) => types.has(type));
    return { events: backward ? read.reverse() : read, next, atEnd };
  }

  const removeSome = (before: number): void => {
    const some = 'select max(position) from events where position <= ? and time < ?';
    removed = (db.value(some, [removed + REMOVED_AT_ONCE, before]) as number | null) ?? removed;
    db.run('update event_log set removed = ?', [removed]);
    db.run('delete from events where position <= ?', [removed]);
  };

  return {
    /** Logs a change in the open transaction. */
    append({ type, record }: Pick<StoredEvent, 'type' | 'record'>): void {
      if (pending.push({ type, time: now(), record }) === WRITTEN_AT_ONCE) write();
    },

    async eventPage(request: EventRequest): Promise<EventPage> {
      const { after, before, backward } = request;
      if (after === NOW) return { events: [], next: idOf(last), atEnd: true };
      if (backward) return readPage(before === undefined ? last + 1 : positionOf(before, 'before'), request);
      return readPage(after === undefined ? removed : positionOf(after), request);
    },

    async *followEvents(after: string): AsyncIterable<EventPage> {
      let next = after;
      while (true) {
        if (positionOf(next) === last) await written.promise;
        const page = readPage(positionOf(next), { limit: BATCH_SIZE });
        next = page.next;
        yield page;
      }
    },

    /** Removes some of the outdated events, and wakes followers. Must be called every {@link FOLLOW_WAIT}. */
    housekeep(): void {
      tell();
      // Not only the first event: the clock may have been ahead when it was written.
      const some = 'select min(time) from events where position <= ?';
      const oldest = db.value(some, [removed + REMOVED_AT_ONCE]) as number | null;
      const before = now() - keepFor;
      // Other writes report a full or missing disk.
      if (oldest !== null && oldest < before)
        writer.write(() => removeSome(before), 'single').catch(() => {});
    },
  };
}
