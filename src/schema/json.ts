import { stringify } from 'lossless-json';

/** Serialises a value to JSON, with bigints as integers. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // Only a bigint makes JSON.stringify throw, and results rarely contain one.
    if (!(error instanceof TypeError)) throw error;
    return stringify(value)!;
  }
}
