/** The same text with a capital at its beginning. */
export const capitalised = (text: string): string => text[0]!.toUpperCase() + text.slice(1);

/** `a pet`, `an order` */
export const indefinite = (noun: string): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
