import { applyEdits, format, type ParseError, parse, printParseErrorCode } from 'jsonc-parser';

// Stands in for GraphiQL's own module of this name, which needs Prettier's parser of JavaScript.

/** JSON with comments and trailing commas. @throws SyntaxError that says what is wrong and where */
export function parseJSONC(text: string): unknown {
  const errors: ParseError[] = [];
  const parsed: unknown = parse(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  const [error] = errors;
  if (error) {
    const before = text.slice(0, error.offset).split('\n');
    const name = printParseErrorCode(error.error)
      .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase();
    throw new SyntaxError(`${name} at line ${before.length}, column ${before.at(-1)!.length + 1}`);
  }
  return parsed;
}

/** @returns undefined for no text. @throws for what is no object; GraphiQL puts the name of the editor before it */
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
