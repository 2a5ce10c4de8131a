import type { Method } from '../../domains/route.ts';

const JSON_TYPES = ['application/json'];
const PATCH_TYPES = ['application/json', 'application/merge-patch+json'];

/** The media types in which a method reads its body. */
export const bodyTypesOf = (method: Method): readonly string[] =>
  method === 'PATCH' ? PATCH_TYPES : JSON_TYPES;
