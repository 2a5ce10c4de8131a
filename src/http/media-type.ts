import Negotiator from 'negotiator';
import { lruCache } from '../foundation/cache.ts';
import { AppError } from '../foundation/errors.ts';

/** The length of the longest cached header: real clients send less. */
const MAX_KEPT_LENGTH = 500;

/** Chooses one of several media types by an Accept header (RFC 9110 section 12.5.1). */
export class Negotiation {
  readonly #types: readonly string[];
  /** Choices by header: clients repeat theirs, and parsing takes 5 µs. */
  readonly #choices = lruCache<{ type: string | undefined }>(50);

  /** @param types the default first */
  constructor(types: readonly string[]) {
    this.#types = types;
  }

  /** @returns undefined if the header excludes all types */
  choose(accept: string | undefined): string | undefined {
    const [first] = this.#types;
    if (accept === undefined || accept === '*/*' || accept === first || accept.trim() === '') return first;
    let choice = this.#choices.get(accept);
    if (!choice) {
      // Drops parameters such as a charset: no type here has any.
      const headers = { accept: accept.replace(/;(?!\s*q\s*=)[^;,]*/gi, '') };
      choice = { type: new Negotiator({ headers }).mediaType([...this.#types]) };
      if (accept.length <= MAX_KEPT_LENGTH) this.#choices.set(accept, choice);
    }
    return choice.type;
  }

  /** Chooses a media type. @param what the responder, for the message @throws NOT_ACCEPTABLE if none is acceptable */
  require(accept: string | undefined, what = 'This operation'): string {
    const type = this.choose(accept);
    if (type !== undefined) return type;
    throw new AppError('NOT_ACCEPTABLE', `${what} responds with ${this.#types.join(' or ')} only.`);
  }
}

/** True if a Content-Type names one of the media types in UTF-8. */
export function acceptsContentType(header: string, types: readonly string[]): boolean {
  const [type = '', ...parameters] = header
    .toLowerCase()
    .replace(/[\s"]+/g, '')
    .split(';');
  return (
    types.includes(type) &&
    parameters.every((parameter) => !parameter.startsWith('charset=') || /^charset=utf-?8$/.test(parameter))
  );
}
