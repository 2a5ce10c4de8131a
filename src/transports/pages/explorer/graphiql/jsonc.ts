import { applyEdits, format, type ParseError, parse, printParseErrorCode, stripComments } from 'jsonc-parser';
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
  const plain = stripComments(text).replace(/,(?=\s*[}\]])/g, '');
  return plain.trim() === '' ? undefined : parseExactly(plain);
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
