/** Operations above this many units are refused. */
export const MAX_COST = 50;
/** List entries per unit. */
export const ENTRIES_PER_UNIT = 100;
/** Weight per unit. */
export const WEIGHT_PER_UNIT = 2_500;
/** Entries of a list that is not asked for a number of them. */
export const DEFAULT_PAGE_SIZE = 20;
