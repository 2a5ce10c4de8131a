import { applyEdits, createScanner, format, type ParseError, parse, printParseErrorCode } from 'jsonc-parser';
import { parseExactly } from '../exact-json.ts';

// Replaces GraphiQL's module of the same name, which needs Prettier's JavaScript parser and rounds integers.

/** Parses JSON with comments and trailing commas. @throws SyntaxError with reason and position */
export function parseJSONC(text: string): unknown {
  const errors: ParseError[] = [];
  parse(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  const [error] = errors;
  if (error) {
    const before = text.slice(0, error.offset).split('\n');
    const name = printParseErrorCode(error.error)
      .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase();
    throw new SyntaxError(`${name} at line ${before.length}, column ${before.at(-1)!.length + 1}`);
  }
  const plain = plainJson(text);
  return plain === '' ? undefined : parseExactly(plain);
}

/** Takes out white space, comments and trailing commas. */
function plainJson(text: string): string {
  const scanner = createScanner(text, true);
  let plain = '';
  while (scanner.getPosition() < text.length) {
    scanner.scan();
    const token = text.slice(scanner.getTokenOffset(), scanner.getPosition());
    if (plain.endsWith(',') && (token === '}' || token === ']')) plain = plain.slice(0, -1);
    plain += token;
  }
  return plain;
}

/** @returns undefined for empty text. @throws unless it is an object; GraphiQL prefixes the editor's name */
export function tryParseJSONC(text = ''): Record<string, unknown> | undefined {
  let parsed: unknown;
  try {
    parsed = parseJSONC(text);
  } catch (error) {
    throw new Error(`are invalid JSON: ${(error as Error).message}.`);
  }
  if (!parsed) return undefined;
  if (typeof parsed !== 'object' || Array.isArray(parsed)) throw new TypeError('are not a JSON object.');
  return parsed as Record<string, unknown>;
}

export const formatJSONC = async (text: string): Promise<string> =>
  applyEdits(text, format(text, undefined, { tabSize: 2, insertSpaces: true }));
