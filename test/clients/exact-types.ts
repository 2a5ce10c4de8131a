import openapiTypescript, { astToString } from 'openapi-typescript';
import ts from 'typescript';

/** The types of an OpenAPI description, with each int64 as the string of digits that IEEE754Compatible=true makes of it. */
export async function exactTypes(description: URL): Promise<string> {
  const digits = ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword);
  const types = await openapiTypescript(description, {
    transform: ({ format }) => (format === 'int64' ? digits : undefined),
  });
  return astToString(types);
}
