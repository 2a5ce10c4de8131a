/** The intersection of the members of a union. */
type Intersection<U> = (U extends unknown ? (member: U) => void : never) extends (all: infer I) => void
  ? I
  : never;

/** The methods of all these objects in one: what each domain has of the port, as the whole port. */
export const merged = <Slice extends object>(slices: readonly Slice[]): Intersection<Slice> =>
  Object.assign({}, ...slices);
