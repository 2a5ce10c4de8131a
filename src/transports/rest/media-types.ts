import { Negotiation } from '../../http/media-type.ts';
import type { Int64Format } from '../../operations/representation.ts';
import { NDJSON } from '../../rows/route.ts';

const JSON_TYPE = 'application/json';

/** The parameter that selects strings is OData's (OData JSON Format 4.01, section 3.2). */
export const CONTENT_TYPES: Readonly<Record<Int64Format, string>> = {
  integer: JSON_TYPE,
  string: `${JSON_TYPE};IEEE754Compatible=true`,
};

/** How a response is written: as JSON in one of the formats, or one record per line. */
export type ResponseFormat = Int64Format | 'lines';

/** By what Accept chooses (RFC 9110 section 12.5.1). */
export const FORMATS: Readonly<Record<string, ResponseFormat>> = {
  [CONTENT_TYPES.integer]: 'integer',
  [CONTENT_TYPES.string]: 'string',
  [`${JSON_TYPE};IEEE754Compatible=false`]: 'integer',
  [NDJSON]: 'lines',
};

const [DEFAULT, ...NAMED] = Object.keys(FORMATS) as [string, ...string[]];
/** What lists can be, one record per line included. */
export const LIST_TYPES = new Negotiation([DEFAULT], NAMED);
/** What everything else can be. */
export const TYPES = new Negotiation(
  [DEFAULT],
  NAMED.filter((type) => type !== NDJSON),
);
