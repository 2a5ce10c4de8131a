import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { preset } from '@graphql-codegen/client-preset';
import { codegen } from '@graphql-codegen/core';
import { gqlPluckFromCodeString } from '@graphql-tools/graphql-tag-pluck';
import { buildASTSchema, parse } from 'graphql';

/**
 * Runs the client preset with persisted documents as the command of GraphQL Code Generator does, which would
 * install another 70 MB: `client-preset.mjs SCHEMA SOURCE FOLDER`.
 */
const [, , schemaFile, source, folder] = process.argv;
const schema = parse(readFileSync(schemaFile, 'utf8'));
const documents = await gqlPluckFromCodeString(source, readFileSync(source, 'utf8'));
const sections = await preset.buildGeneratesSection({
  ...{ baseOutputDir: `${folder}/`, schema, schemaAst: buildASTSchema(schema), config: {} },
  documents: documents.map(({ body }) => ({ location: source, document: parse(body), rawSDL: body })),
  ...{ plugins: [], pluginMap: {}, presetConfig: { persistedDocuments: true } },
});
for (const section of sections) writeFileSync(section.filename, await codegen(section));
