import { parse } from 'lossless-json';
import type { RestOperation } from '../../rest-operation.ts';
import { samplesOf } from './samples.ts';

type Json = Record<string, unknown>;

/** An operation of an OpenAPI description, as far as it is changed here. */
interface Operation extends Json {
  operationId: string;
  description?: string;
  responses: Record<string, { $ref?: string }>;
}

interface Description extends Json {
  info: { description: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  security?: unknown;
  components: { responses: Record<string, ErrorResponse>; securitySchemes?: unknown };
}

interface ErrorResponse {
  content?: { 'application/json'?: { examples?: Record<string, { summary: string; value: ErrorBody }> } };
}

interface ErrorBody {
  code: string;
  status: number;
}

/** The colours of marks for stability. The description says what they mean. */
const COLORS: Record<string, string> = { beta: '#1f5f99', experimental: '#6929c4' };

export const NOT_TRIED =
  'The specification disables the try-it panel for this operation. Use a request sample instead.';

export interface ReferenceOptions {
  operations: readonly RestOperation[];
  /** Whether to link to GraphiQL. */
  hasGraphiql: boolean;
  /** Of the page. */
  origin: string;
}

export interface Reference {
  /** The description as it is shown. */
  content: Json;
  /** The operations that may not be tried: method and URL by operationId. */
  untried: ReadonlyMap<string, string>;
}

/**
 * Prepares the OpenAPI description for people: exact integers, marks for stability and sunset, samples that
 * run, the equivalent GraphQL operation, and one table of errors for all operations.
 *
 * @param text the description as JSON
 */
export function referenceOf(text: string, { operations, hasGraphiql, origin }: ReferenceOptions): Reference {
  const description = parse(text, exactLimits, { parseNumber: exact }) as Description;
  // The key is entered in the header, and the console sends it.
  delete description.security;
  delete description.components.securitySchemes;
  const errors = new Map<string, { status: number; summary: string }>();
  for (const { content } of Object.values(description.components.responses)) {
    for (const { value, summary } of Object.values(content?.['application/json']?.examples ?? {}))
      errors.set(value.code, { status: value.status, summary });
  }
  description.info.description += errorTable(errors);
  const untried = new Map<string, string>();
  for (const [path, methods] of Object.entries(description.paths)) {
    const url = serverOf(description, origin) + path;
    for (const [name, operation] of Object.entries(methods)) {
      const method = name.toUpperCase();
      const rest = operations.find(({ operationId }) => operationId === operation.operationId);
      operation['x-codeSamples'] = samplesOf(method, url, operation, rest?.variables);
      if (operation['x-explorer-enabled'] === false) untried.set(operation.operationId, `${method} ${url}`);
      describeForPeople(operation, takeErrors(operation, description), rest, hasGraphiql);
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

const serverOf = ({ servers: [server] }: Description, origin: string): string =>
  new URL(server?.url ?? '/', origin).href.replace(/\/$/, '');

function describeForPeople(
  operation: Operation,
  errors: string,
  rest: RestOperation | undefined,
  hasGraphiql: boolean,
): void {
  const stability = String(operation['x-stability']);
  const color = COLORS[stability];
  const sunset = operation['x-sunset'];
  const badges: { name: string; color: string }[] = [];
  const notes: string[] = [];
  if (color !== undefined) badges.push({ name: stability, color });
  if (sunset) badges.push({ name: `sunset ${sunset}`, color: '#a2191f' });
  if (operation['x-explorer-enabled'] === false) notes.push(`**${NOT_TRIED}**`);
  notes.push(operation.description ?? '');
  notes.push(`[Errors](#description/errors): ${errors}`);
  if (rest) {
    const link = hasGraphiql ? `[Open in GraphiQL](/graphql#operation=${rest.operationId})\n\n` : '';
    notes.push(
      `<details><summary>The same in GraphQL</summary>\n\n${link}\`\`\`graphql\n${rest.document}\`\`\`\n\n</details>`,
    );
  }
  operation['x-badges'] = badges;
  operation.description = notes.filter((note) => note !== '').join('\n\n');
}

/** Removes the error responses of an operation, whose bodies all look alike. @returns their codes */
function takeErrors(operation: Operation, { components }: Description): string {
  const codes: string[] = [];
  for (const [status, { $ref }] of Object.entries(operation.responses)) {
    if (Number(status) < 400) continue;
    const { content } = components.responses[$ref?.split('/').at(-1) ?? ''] ?? {};
    for (const code of Object.keys(content?.['application/json']?.examples ?? {})) codes.push(`\`${code}\``);
    delete operation.responses[status];
  }
  return codes.join(', ');
}

function errorTable(errors: ReadonlyMap<string, { status: number; summary: string }>): string {
  const rows = [...errors]
    .toSorted(([, a], [, b]) => a.status - b.status)
    .map(([code, { status, summary }]) => `| ${status} | \`${code}\` | ${summary} |`);
  return `\n\n## Errors\n\n| Status | Code | When |\n|---|---|---|\n${rows.join('\n')}\n`;
}
