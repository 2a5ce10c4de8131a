/**
 * A strong entity tag (RFC 9110 section 8.8.3): equal for equal bodies, whichever request or instance made them. It has to tell
 * versions apart, not to withstand forgery, so a fast hash of 64 bits and the length serve where SHA would cost more than
 * the rest of the answer.
 */
export function etagOf(body: string): string {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let i = 0; i < body.length; i++) {
    const unit = body.charCodeAt(i);
    high = Math.imul(high ^ unit, 2654435761);
    low = Math.imul(low ^ unit, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return `"${body.length.toString(36)}-${(high >>> 0).toString(36)}${(low >>> 0).toString(36)}"`;
}

/** If-None-Match: weak comparison; `*` matches whatever exists. */
export const matchesWeakly = (header: string, etag: string): boolean =>
  header.trim() === '*' || tagsOf(header).some((tag) => tag.replace(/^W\//, '') === etag);

/** If-Match: strong comparison; `*` matches whatever exists. */
export const matchesStrongly = (header: string, etag: string): boolean =>
  header.trim() === '*' || tagsOf(header).includes(etag);

const tagsOf = (header: string): string[] => header.match(/(?:W\/)?"[^"]*"/g) ?? [];
