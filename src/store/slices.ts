/** The intersection of the members of a union. */
type Intersection<U> = (U extends unknown ? (member: U) => void : never) extends (all: infer I) => void
  ? I
  : never;

/** Merges the domains' parts of the port into the whole port. */
export const merged = <Slice extends object>(slices: readonly Slice[]): Intersection<Slice> =>
  Object.assign({}, ...slices);
