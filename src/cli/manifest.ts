import { readFileSync } from 'node:fs';

/** A document with the id that its manifest gives it. */
export interface ManifestEntry {
  id: string;
  text: string;
}

const ID = /^[\x21-\x7e]{1,128}$/;
const FORMS =
  'It must be JSON: a manifest of @apollo/generate-persisted-query-manifest, or an object of ids and documents as Relay and the client preset of GraphQL Code Generator write it.';

/**
 * Reads the documents of a manifest.
 *
 * @throws Error naming the file and what is wrong with it
 */
export function readManifest(file: string): ManifestEntry[] {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as Error).message}. ${FORMS}`);
  }
  if (!isObject(content)) throw new Error(`${file} is no manifest. ${FORMS}`);
  const entries =
    content.format === 'apollo-persisted-query-manifest' && Array.isArray(content.operations)
      ? content.operations.map((operation) => (isObject(operation) ? [operation.id, operation.body] : []))
      : Object.entries(content);
  const faults: string[] = [];
  for (const [id, text] of entries) {
    if (typeof id !== 'string' || !ID.test(id))
      faults.push(`the id ${JSON.stringify(id)} must have 1 to 128 visible ASCII characters`);
    else if (typeof text !== 'string') faults.push(`the document of ${id} is no text`);
  }
  if (entries.length === 0) faults.push('it has no documents');
  if (faults.length > 0) throw new Error(`${file}: ${faults.join('; ')}. ${FORMS}`);
  return entries.map(([id, text]) => ({ id: id as string, text: text as string }));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
