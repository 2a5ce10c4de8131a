import openapiTypescript, { astToString } from 'openapi-typescript';
import ts from 'typescript';

/** The types of an OpenAPI description, with int64 as strings, as returned with IEEE754Compatible=true. */
export async function exactTypes(description: URL): Promise<string> {
  const digits = ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword);
  const types = await openapiTypescript(description, {
    transform: ({ format }) => (format === 'int64' ? digits : undefined),
  });
  return astToString(types);
}
