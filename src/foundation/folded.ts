/** Text that folding leaves alone, apart from its capital letters. */
const ASCII = /^[ -~]*$/;

/**
 * The form of a name that names are ordered and found by: compatibility characters replaced (NFKC), lower case of no
 * locale, without marks such as accents, composed (NFC). A final sigma is a sigma, since a prefix ends where its name goes
 * on.
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
