import type { Id } from './id.ts';
import type { AnyHooks } from './record.ts';
import type { Tables } from './table.ts';

/** The change of a record: a creation has no `before`, a deletion no `after`. */
export interface Change<R> {
  before: R | undefined;
  after: R | undefined;
}

/** A change before it is written: a new record has an id only if the client chose one. */
type Planned<R> = Change<R> | { before: undefined; after: Omit<R, 'id'> & { id?: Id } };

/**
 * A shop's own rules for a kind of record. They run in the transaction of every change except imports, and refuse a
 * change by throwing one of their refusals or passing on a table's error.
 */
export interface Hooks<R> extends AnyHooks {
  /** Runs before the record is written, once its own rules and references hold. Must not write the record itself. */
  before?(change: Planned<R>, tables: Tables): void | Promise<void>;
  /** Runs after the record is written, in the same commit. */
  after?(change: Change<R>, tables: Tables): void | Promise<void>;
}
