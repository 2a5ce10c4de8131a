/** The largest int32, for counts: GraphQL's Int ends here. */
export const MAX_INT32 = 2147483647;

/** The largest int64, for ids. Beyond what a double holds, so it is a bigint. */
export const MAX_INT64 = 9223372036854775807n;
