/** The constants of the cost of GraphQL operations, as listed by the server. */
export interface Pricing {
  /** Operations above this many units are refused. */
  maxCost: number;
  /** List entries per unit. */
  entriesPerUnit: number;
  weightPerUnit: number;
  /** Events covered by the cost of a subscription. */
  subscriptionRows: number;
  /** Entries of a list without `first` and `last`. */
  defaultPageSize: number;
  /** Weights other than 1, by `Type.field`. */
  weights: Record<string, number>;
  /** Root fields without a price, as `Type.field`. */
  free: string[];
}
