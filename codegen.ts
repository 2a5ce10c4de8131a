import { readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { codegen } from '@graphql-codegen/core';
import * as typedDocumentNode from '@graphql-codegen/typed-document-node';
import * as typescriptOperations from '@graphql-codegen/typescript-operations';
import { lexicographicSortSchema, parse, printSchema } from 'graphql';
import { api } from './src/api.ts';
import { readConfig } from './src/config.ts';
import { openApiJson } from './src/openapi/description.ts';
import { postmanJson } from './src/openapi/postman.ts';
import { config } from './test/clients/codegen-config.ts';

/**
 * Generates all committed artifacts: the SDL, the OpenAPI description, the typed documents, derived from these as any
 * client would, and the code in the guides, which is that of files that the tests run. `npm run codegen` writes the
 * files; with `-- --check` it names those that differ, and fails.
 */
const isCheck = process.argv.includes('--check');
async function generate(file: string, text: string): Promise<void> {
  if (!isCheck) return await writeFile(file, text);
  if ((await readFile(file, 'utf8').catch(() => '')) === text) return;
  process.stderr.write(`${file} is not what npm run codegen makes of the sources.\n`);
  process.exitCode = 1;
}

const sdl = `${printSchema(lexicographicSortSchema(api.schema))}\n`;
await generate('schema/schema.graphql', sdl);
const openApi = openApiJson(api, readConfig({}), { indent: 2 });
await generate('schema/openapi.json', `${openApi}\n`);
await generate('schema/postman.json', `${postmanJson(openApi, 'http://localhost:4000')}\n`);

const documents = 'test/clients/documents.graphql';
const typedDocuments = 'test/clients/documents.generated.ts';
await generate(
  typedDocuments,
  await codegen({
    filename: typedDocuments,
    schema: parse(sdl),
    documents: [{ location: documents, document: parse(await readFile(documents, 'utf8')) }],
    pluginMap: { typescriptOperations, typedDocumentNode },
    plugins: [{ typescriptOperations: {} }, { typedDocumentNode: {} }],
    config: {
      ...config,
      useTypeImports: true,
      enumsAsTypes: true,
      arrayInputCoercion: false,
    },
  }),
);

const guides = (await readdir('docs')).map((name) => `docs/${name}`);
for (const guide of guides.filter((name) => name.endsWith('.md'))) {
  const text = await readFile(guide, 'utf8');
  let embedded = text;
  // A comment names the file whose text is the block of code below it.
  for (const [block, path, language] of text.matchAll(/^<!-- (\S+) -->\n```(\w+)\n[\s\S]*?^```$/gm))
    embedded = embedded.replace(
      block,
      () => `<!-- ${path} -->\n\`\`\`${language}\n${readFileSync(path!, 'utf8')}\`\`\``,
    );
  if (embedded !== text) await generate(guide, embedded);
}
