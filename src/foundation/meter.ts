import { grouped } from './words.ts';
import { AppError } from './errors.ts';

/** Operations above this many units are refused. */
export const MAX_PRICE = 50;
/** List entries per unit. */
export const ENTRIES_PER_UNIT = 100;
/** Weight per unit. */
export const WEIGHT_PER_UNIT = 2_500;
/** Maximum number of groups in one answer. */
export const MAX_GROUPS = 1_000;
/** Entries of a list that was requested without a number. */
export const DEFAULT_PAGE_SIZE = 20;

/**
 * The kinds of metered work, each with the allowance of any request (`base`) and the addition for each unit
 * (`perUnit`). The only table of such bounds, shown in docs/operating.md: code draws on it where the work is done, so a
 * new field, type or transport is bounded by default.
 */
export const ALLOWANCES = {
  /** Entries in lists, on all levels. */
  entries: { what: 'lists entries', base: 0, perUnit: 100 },
  /** Records read, including those of one-to-one fields and those that a filter discards. */
  records: { what: 'examines records', base: 1_000, perUnit: 2_500 },
  /** Records counted, for which an index is enough, and blocks of them. */
  counted: { what: 'counts records', base: 1_000_000, perUnit: 100_000 },
  /** Events read for a page, including those that a filter discards. The page ends early once it is used up. */
  events: { what: 'examines events', base: 0, perUnit: 1_000 },
  /** Logged requests read for a page, counted and limited like events. */
  requests: { what: 'examines requests', base: 0, perUnit: 1_000 },
} as const;

/** A kind of work that is metered. */
export type Metered = keyof typeof ALLOWANCES;

/** The amount of a kind of work that a request of this price may do. */
export const allowanceOf = (what: Metered, units: number): number =>
  ALLOWANCES[what].base + ALLOWANCES[what].perUnit * units;

/** Counts the work of a request against the allowances it paid for. */
export class Meter {
  /** The price of the request, in units. */
  readonly units: number;
  readonly #used: { [What in Metered]?: number } = {};
  #end: AppError | undefined;

  constructor(units: number) {
    this.units = units;
  }

  /** The unused allowance for this work. Readers that can end early ask for it before they begin. */
  left(what: Metered): number {
    return Math.max(0, allowanceOf(what, this.units) - (this.#used[what] ?? 0));
  }

  /** Counts the work of a reader that ends early instead of failing. */
  spend(what: Metered, amount: number): void {
    this.#used[what] = (this.#used[what] ?? 0) + amount;
  }

  /** Counts work that is done or about to be done. @throws QUERY_TOO_COMPLEX if it exceeds the allowance */
  draw(what: Metered, amount: number): void {
    this.spend(what, amount);
    const allowance = allowanceOf(what, this.units);
    if (this.#used[what]! <= allowance) return;
    const [verb, ...rest] = ALLOWANCES[what].what.split(' ');
    const most = `${grouped(allowance)} ${rest.join(' ')}`;
    this.#end ??= new AppError('QUERY_TOO_COMPLEX', `The operation ${verb} more than ${most}.`);
    throw this.#end;
  }

  /**
   * Must be called before every further read, so that all parts of a failed operation stop.
   *
   * @throws QUERY_TOO_COMPLEX if an allowance was exceeded
   */
  check(): void {
    if (this.#end) throw this.#end;
  }
}
