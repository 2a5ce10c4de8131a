import type { Id } from '../../foundation/id.ts';
import type { Connection } from './connection.ts';
import type { Append } from './event-log.ts';
import type { Records, RecordTable } from './records.ts';

/**
 * SQL by the schema version it leads to, as recorded in `user_version`. Released migrations never change. A
 * new one gets the version after the latest release.
 */
export type Migrations = Readonly<Record<number, string>>;

/** What a domain works with. */
export interface DomainContext {
  db: Connection;
  /** Logs a change. Must be called in the transaction that makes it. */
  append: Append;
  /** Creates the reader of a table. */
  records<T extends { id: Id }>(table: RecordTable<T>): Records<T>;
  /** Whether another domain's table has this record. */
  exists(table: string, id: Id): boolean;
}

/** A domain in the embedded engine: its tables and its part of the port. */
export interface SqliteDomain {
  migrations: Migrations;
  open(tools: DomainContext): { reads: object; writes: object };
}
