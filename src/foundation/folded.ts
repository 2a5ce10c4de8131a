/** Text in which folding changes nothing but capital letters. */
const ASCII = /^[ -~]*$/;

/**
 * The form by which names are ordered and found: compatibility characters replaced (NFKC), lower-cased without a locale,
 * without marks such as accents, composed (NFC). A final sigma becomes a plain one, since a prefix may end where the name
 * goes on.
 */
export function folded(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '')
    .normalize('NFC');
}

/**
 * The smallest text, by code points, that is larger than every text with this prefix; undefined if there is none.
 * Without lone surrogates, which UTF-8 cannot represent.
 */
export function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}
