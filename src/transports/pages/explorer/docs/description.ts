import { parse } from 'lossless-json';

type Json = Record<string, unknown>;

/** An operation of an OpenAPI description, as far as it is changed here. */
interface Operation extends Json {
  operationId: string;
  description?: string;
}

interface Description extends Json {
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
}

/** The colours of marks for stability. The description says what they mean. */
const COLORS: Record<string, string> = { beta: '#1f5f99', experimental: '#6929c4' };

export const NOT_TRIED =
  'The specification disables the try-it panel for this operation. Use a request sample instead.';

export interface Reference {
  /** The description as it is shown. */
  content: Json;
  /** The operations that may not be tried: method and URL by operationId. */
  untried: ReadonlyMap<string, string>;
}

/**
 * Prepares the OpenAPI description for people: exact integers, marks for stability and sunset, and a link to the same
 * operation in GraphiQL.
 *
 * @param text the description as JSON
 * @param links to GraphiQL, by operationId
 * @param origin of the page
 */
export function referenceOf(text: string, links: ReadonlyMap<string, string>, origin: string): Reference {
  const description = parse(text, exactLimits, { parseNumber: exact }) as Description;
  const untried = new Map<string, string>();
  const server = new URL(description.servers[0]?.url ?? '/', origin).href.replace(/\/$/, '');
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const { operationId } = operation;
      const isUntried = operation['x-explorer-enabled'] === false;
      if (isUntried) untried.set(operationId, `${method.toUpperCase()} ${server}${path}`);
      const stability = String(operation['x-stability']);
      const sunset = operation['x-sunset'];
      operation['x-badges'] = [
        ...(stability in COLORS ? [{ name: stability, color: COLORS[stability] }] : []),
        ...(sunset ? [{ name: `sunset ${sunset}`, color: '#a2191f' }] : []),
      ];
      const link = links.get(operationId);
      operation.description = [
        isUntried && `**${NOT_TRIED}**`,
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
