/** A pattern for a text of which any character may be percent-encoded, also several times. */
const spelled = (text: string): string =>
  text.replace(
    /./g,
    (character) => `(?:${character}|%(?:25)*${Buffer.from(character).toString('hex').replace('f', '[fF]')})`,
  );
/** An API key or signing secret, or enough of one to recognise it. */
const SECRET = new RegExp(`(${spelled('petstore_')}|${spelled('whsec_')})[\\w+/=%-]{8,}`, 'g');

/** Masks secrets in a text, since a client may put one in a URL, name or header by mistake. */
export const masked = (text: string): string =>
  text.includes('petstore') || text.includes('whsec') || text.includes('%')
    ? text.replace(SECRET, '$1…')
    : text;

/** The parts of a message: quoted texts, and everything else split at spaces, without the punctuation at its end. */
const PARTS = /"([^"]+)"|[^\s"]+?(?=[.:;,!?)]*(?:[\s"]|$))/g;
const WORDS = /[\p{L}\p{N}_]+…?/gu;
/** The minimum length of a word worth hiding, in characters. */
const LEAST = 3;

/** The words of a text. */
export const wordsOf = (text: string): readonly string[] => text.match(WORDS) ?? [];

/**
 * Hides everything in a message that repeats the request, for logs that keep no bodies.
 *
 * @param message may be cut, with a `…` in place of the rest
 * @param sent the parts of the request as received: JSON, GraphQL or URL-encoded
 * @param isPublic true for words that need no hiding, such as names in the schema
 */
export function withoutInput(
  message: string,
  sent: readonly string[],
  isPublic: (word: string) => boolean,
): string {
  const texts = sent.filter((text) => text !== '').flatMap(readingsOf);
  if (texts.length === 0) return message;
  const words = new Set(texts.flatMap(wordsOf));
  const isSentWord = (word: string): boolean => {
    if (word.length < LEAST || isPublic(word)) return false;
    const start = word.endsWith('…') ? word.slice(0, -1) : undefined;
    return start === undefined ? words.has(word) : [...words].some((each) => each.startsWith(start));
  };
  const withoutWords = (part: string) => part.replace(WORDS, (word) => (isSentWord(word) ? '…' : word));
  return message.replace(PARTS, (part, quoted: string = part) => {
    const inner = quoted.replace(/…$/, '');
    const isSent =
      inner.length >= LEAST &&
      wordsOf(inner).some((word) => !isPublic(word)) &&
      texts.some((text) => text.includes(inner));
    // A single word is hidden only if it is a whole word of the request.
    if (isSent && wordsOf(inner)[0] !== inner) return part.replace(quoted, () => '…');
    return withoutWords(part);
  });
}

/** A text as received, and decoded as URL-encoded text, JSON, or a document within JSON. */
function readingsOf(text: string): string[] {
  const decoded = text
    .replaceAll('+', ' ')
    .replace(/(?:%[\da-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString());
  const once = unescaped(decoded);
  return [...new Set([text, decoded, once, unescaped(once)])];
}

const unescaped = (text: string): string =>
  text.replace(/\\(?:u([\da-f]{4})|(.))/gi, (_, code: string | undefined, character: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return 'bfnrt'.includes(character) ? ' ' : character;
  });
