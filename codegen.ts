import { writeFile } from 'node:fs/promises';
import { type CodegenConfig, generate } from '@graphql-codegen/cli';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { schema } from './src/graphql/schema.ts';

/**
 * Writes everything that is generated and committed: the SDL and the typed documents. `npm run codegen`
 * writes; `npm run codegen:check` runs it and fails where that changed a file.
 */
const sdl = `${printSchema(lexicographicSortSchema(schema))}\n`;
await writeFile('schema/schema.graphql', sdl);

const scalars = { ID: 'string', DateTime: 'string' };
const config: CodegenConfig = {
  schema: 'schema/schema.graphql',
  silent: true,
  errorsOnly: true,
  generates: {
    'src/rest/documents.generated.ts': {
      documents: 'src/rest/documents.graphql',
      plugins: ['typescript-operations', 'typed-document-node'],
      config: { scalars, useTypeImports: true, enumsAsTypes: true, arrayInputCoercion: false },
    },
  },
};
await generate(config, true);
