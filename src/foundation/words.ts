/** Capitalises the first letter of a text. */
export const capitalised = (text: string): string => text[0]!.toUpperCase() + text.slice(1);

/** `pets`, `pets or orders`, `pets, orders or events` */
export const listed = (words: readonly string[], conjunction: 'and' | 'or'): string =>
  words.join(', ').replace(/, ([^,]*)$/, ` ${conjunction} $1`);

/** `a pet`, `an order` */
export const indefinite = (noun: string): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;

/** `1,000` */
export const grouped = (number: number): string => number.toLocaleString('en-US');

/** `1 pet`, `1,000 pets` */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${grouped(count)} ${count === 1 ? noun : plural}`;
