import { hash } from 'node:crypto';

/**
 * A strong entity tag (RFC 9110 section 8.8.3): equal for equal bodies, whichever request or instance made them, and no
 * two bodies with one tag can be made up.
 */
export const etagOf = (body: string): string => `"${hash('sha256', body, 'base64url')}"`;

/** If-None-Match: weak comparison; `*` matches whatever exists. */
export const matchesWeakly = (header: string, etag: string): boolean =>
  header.trim() === '*' || tagsOf(header).some((tag) => tag.replace(/^W\//, '') === etag);

/** If-Match: strong comparison; `*` matches whatever exists. */
export const matchesStrongly = (header: string, etag: string): boolean =>
  header.trim() === '*' || tagsOf(header).includes(etag);

const tagsOf = (header: string): string[] => header.match(/(?:W\/)?"[^"]*"/g) ?? [];
