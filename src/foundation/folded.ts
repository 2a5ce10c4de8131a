/** Text in which folding only lower-cases letters. */
const ASCII = /^[ -~]*$/;

/**
 * The form by which names are sorted and searched: compatibility characters replaced (NFKC), lower-cased without a
 * locale, marks such as accents removed, composed (NFC). A final sigma becomes a plain one, since a prefix may end
 * inside a name.
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
 * The smallest text, by code points, greater than every text with this prefix; undefined if none exists. Skips
 * surrogates, which UTF-8 cannot represent.
 */
export function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}
