import { stringify } from 'lossless-json';

/** A value as JSON text, its bigints as integers. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // The only thing in answers that JSON.stringify refuses is a bigint, which hardly any has.
    if (!(error instanceof TypeError)) throw error;
    return stringify(value)!;
  }
}
