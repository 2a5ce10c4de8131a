import { parse } from 'lossless-json';

type Json = Record<string, unknown>;

/** An operation of an OpenAPI description, as far as it is changed here. */
interface Operation extends Json {
  operationId: string;
  description?: string;
}

interface Description extends Json {
  paths: Record<string, Record<string, Operation>>;
}

/** The colours of marks for stability. The description says what they mean. */
const COLORS: Record<string, string> = { beta: '#1f5f99', experimental: '#6929c4' };

/**
 * Prepares the OpenAPI description for people: exact integers, marks for stability and sunset, and a link to the same
 * operation in GraphiQL.
 *
 * @param text the description as JSON
 * @param links to GraphiQL, by operationId
 * @returns the description as it is shown, and the operationIds of those that may not be tried
 */
export function referenceOf(text: string, links: ReadonlyMap<string, string>) {
  const description = parse(text, exactLimits, { parseNumber: exact }) as Description;
  const untried: string[] = [];
  for (const methods of Object.values(description.paths)) {
    for (const operation of Object.values(methods)) {
      const { operationId } = operation;
      const isUntried = operation['x-explorer-enabled'] === false;
      if (isUntried) untried.push(operationId);
      const stability = String(operation['x-stability']);
      const sunset = operation['x-sunset'];
      operation['x-badges'] = [
        ...(stability in COLORS ? [{ name: stability, color: COLORS[stability] }] : []),
        ...(sunset ? [{ name: `sunset ${sunset}`, color: '#a2191f' }] : []),
      ];
      const link = links.get(operationId);
      operation.description = [
        isUntried &&
          '**The specification disables the try-it panel for this operation. Use a request sample instead.**',
        operation.description,
        link !== undefined && `[Open in GraphiQL](${link})`,
      ]
        .filter(Boolean)
        .join('\n\n');
    }
  }
  return { content: description, untried };
}

/** Integers that a double cannot hold stay text. */
const exact = (literal: string): number | string =>
  /^-?\d+$/.test(literal) && !Number.isSafeInteger(Number(literal)) ? literal : Number(literal);

/** A `parse` reviver that says limits beyond 2^53 in words, because Scalar would round them. */
function exactLimits(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('maximum' in value)) return value;
  const { maximum, description, ...schema } = value as Json;
  if (typeof maximum !== 'string') return value;
  const limit = `Up to ${maximum}.`;
  return { ...schema, description: description === undefined ? limit : `${description}. ${limit}` };
}
