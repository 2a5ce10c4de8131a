import { parse, stringify } from 'lossless-json';

/**
 * Numbers that a double can't hold, as JSON text that `JSON.stringify` writes out digit by digit (the proposal
 * "JSON.parse source text access"); browsers without it get a string of the digits.
 */
const raw = (digits: string): unknown => {
  const { rawJSON } = JSON as unknown as { rawJSON?: (text: string) => unknown };
  return rawJSON ? rawJSON(digits) : digits;
};

const isExact = (literal: string) => !/^-?\d+$/.test(literal) || Number.isSafeInteger(Number(literal));

/** Parses JSON into values that `JSON.stringify` writes with every integer as it was. @throws SyntaxError */
export const parseExactly = (text: string): unknown =>
  parse(text, undefined, { parseNumber: (literal) => (isExact(literal) ? Number(literal) : raw(literal)) });

/** JSON, indented, with every number as it came. @throws SyntaxError */
export const indentExactly = (text: string): string => stringify(parse(text), undefined, 2) ?? '';
