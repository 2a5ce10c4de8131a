import { parse, stringify } from 'lossless-json';

/**
 * A number that a double cannot hold, in a form that `JSON.stringify` writes digit by digit ("JSON.parse
 * source text access" proposal). Browsers without support get a string of digits.
 */
const raw = (digits: string): unknown => {
  const { rawJSON } = JSON as unknown as { rawJSON?: (text: string) => unknown };
  return rawJSON ? rawJSON(digits) : digits;
};

const isExact = (literal: string) => !/^-?\d+$/.test(literal) || Number.isSafeInteger(Number(literal));

/** Parses JSON into values that `JSON.stringify` writes with the original integers. @throws SyntaxError */
export const parseExactly = (text: string): unknown =>
  parse(text, undefined, { parseNumber: (literal) => (isExact(literal) ? Number(literal) : raw(literal)) });

/** Indents JSON without changing its numbers. @throws SyntaxError */
export const indentExactly = (text: string): string => stringify(parse(text), undefined, 2) ?? '';
