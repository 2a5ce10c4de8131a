/** Capitalises the first letter of a text. */
export const capitalised = (text: string): string => text[0]!.toUpperCase() + text.slice(1);

/** `pets`, `pets or orders`, `pets, orders or events` */
export const listed = (words: readonly string[], conjunction: 'and' | 'or'): string =>
  words.join(', ').replace(/, ([^,]*)$/, ` ${conjunction} $1`);

/** `a pet`, `an order` */
export const indefinite = (noun: string): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;

/** Formats an integer: `1,000`. The first use of `toLocaleString` takes 60 ms of a start. */
export const grouped = (number: number): string => String(number).replace(/\B(?=(?:\d{3})+$)/g, ',');

/** `1 pet`, `1,000 pets` */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${grouped(count)} ${count === 1 ? noun : plural}`;
