import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { capitalised, indefinite } from './src/foundation/words.ts';

/**
 * Writes a new domain, and adds it to the list: `npm run domain vetVisit -- --of pet --plural vetVisits`. It has a name,
 * and the record that it belongs to if there is one; docs/adding-a-domain.md says what a person decides from there.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { of: { type: 'string' }, plural: { type: 'string' } },
});
const [kind] = positionals;
const USAGE =
  'Usage: npm run domain KIND -- [--of PARENT] [--plural KINDS], each written like pet or vetVisit';
for (const word of [kind, values.of ?? 'pet', values.plural ?? 'pets'])
  if (word === undefined || !/^[a-z][A-Za-z0-9]*$/.test(word)) {
    process.stderr.write(`${USAGE}\n`);
    process.exit(1);
  }
const { of: parent, plural = `${kind}s` } = values;
const type = capitalised(kind!);
const Parent = parent && capitalised(parent);
const folder = `src/domains/${kind}`;

const record = `import { name${parent ? ', reference' : ''} } from '../../foundation/fields.ts';
import { declareRecord, type RecordOf } from '../../foundation/record.ts';
${parent ? `import { ${Parent} } from '../${parent}/${parent}.ts';\n` : ''}
export const ${type} = declareRecord({
  kind: '${kind}',
  plural: '${plural}',
  type: '${type}',
  description: '${capitalised(indefinite(kind!))}.',
  fields: {
    name: name('The name of the ${kind}', 'Rex'),
${parent ? `    ${parent}Id: reference(${Parent}, 'ID of the ${parent} it belongs to'),\n` : ''}  },
${parent ? `  filters: ['${parent}Id'],\n` : ''}  sorts: ['name'],
});
export type ${type} = RecordOf<typeof ${type}>;
`;

const kit = ['connectionOf', 'creation', 'deletion', 'inputsOf', 'list', 'lookup', 'update'];
const graphql = `import { builder } from '../../kit/builder.ts';
import { type Domain, eventsOf } from '../../kit/domain.ts';
import { exposed } from '../../kit/fields.ts';
import { finder, sortEnum } from '../../kit/list-arguments.ts';
import { NODE_ID, NodeInterface, nodeType } from '../../kit/node.ts';
import { ${[...kit, ...(parent ? ['childList', 'parent'] : [])].toSorted().join(', ')} } from '../../kit/record-fields.ts';
${parent ? `import { ${Parent} } from '../${parent}/${parent}.ts';\nimport { ${Parent}Type } from '../${parent}/${parent}.type.ts';\n` : ''}import { ${plural} } from './${kind}.routes.ts';
import { ${type} } from './${kind}.ts';

const { fields } = ${type};

export const ${type}Type = builder.objectRef<${type}>(${type}.type).implement({
  interfaces: [NodeInterface],
  description: ${type}.description,
  fields: (t) => ({
    nodeId: t.id({ description: NODE_ID, resolve: nodeType(${type}) }),
    id: t.exposeID('id', exposed(${type}.id)),
    name: t.exposeString('name', exposed(fields.name)),
${parent ? `    ${parent}Id: t.exposeID('${parent}Id', exposed(fields.${parent}Id)),\n    ${parent}: t.field(parent(${type}, '${parent}Id', ${Parent}, ${Parent}Type, 'The ${parent} it belongs to.')),\n` : ''}  }),
});

const ${type}Connection = connectionOf(${type}Type);

const ${type}FilterInput = builder.inputType('${type}Filter', {
  description: 'Selects ${plural} that match all given conditions.',
  fields: (t) => ({
${parent ? `    ${parent}Id: t.id({ description: 'Those of this ${parent}.' }),\n` : ''}    name: t.string(finder(${type}, 'name')),
  }),
});

const ${type}Sort = builder.enumType('${type}Sort', sortEnum(${type}));

const inputs = inputsOf(${type}, (t, options) => ({
  name: t.string(options(fields.name)),
${parent ? `  ${parent}Id: t.id(options(fields.${parent}Id)),\n` : ''}}));

const lists = { filter: ${type}FilterInput, sort: ${type}Sort };
${
  parent
    ? `const below = { ...lists, description: 'The ${plural} of this ${parent}, by default ordered by id.' };

builder.objectField(${Parent}Type, '${plural}', (t) =>
  t.connection(childList(${type}, ${type}Type, '${parent}Id', below), ${type}Connection),
);
`
    : ''
}
builder.queryFields((t) => ({
  ${kind}: t.field(lookup(${type}, ${type}Type)),
  ${plural}: t.connection(list(${type}, ${type}Type, lists), ${type}Connection),
}));

builder.mutationFields((t) => ({
  create${type}: t.field(creation(${type}, ${type}Type, inputs.created)),
  update${type}: t.field(update(${type}, ${type}Type, inputs.changes)),
  delete${type}: t.id(deletion(${type})),
}));

export const ${kind}: Domain = { record: ${type}, resource: ${plural}, type: ${type}Type, ...eventsOf(${type}) };
`;

const routes = `import { ${parent ? 'filterParameter, ' : ''}listParameters } from '../../rows/parameter.ts';
import { recordRoutes } from '../../rows/record-routes.ts';
import type { Resource } from '../../rows/route.ts';
import { shapeOf } from '../../rows/shape.ts';
import { ${type} } from './${kind}.ts';

const shape = shapeOf(${type});

export const ${plural}: Resource = {
  scope: '${plural}',
  shape,
  routes: Object.values(
    recordRoutes(${type}, shape, {
      tag: 'Store',
      query: [${parent ? `filterParameter(${type}, '${parent}Id', 'Only those of this ${parent}.'), ` : ''}...listParameters(${type})],
      example: { name: 'Bella' },
    }),
  ),
};
`;

// Fails if there is one.
mkdirSync(folder);
for (const [end, text] of Object.entries({ ts: record, 'type.ts': graphql, 'routes.ts': routes }))
  writeFileSync(`${folder}/${kind}.${end}`, text);
const list = 'src/domains/index.ts';
const text = readFileSync(list, 'utf8').replace(/^(export const DOMAINS: .* = \[.*)\];$/m, `$1, ${kind}];`);
writeFileSync(list, `import { ${kind} } from './${kind}/${kind}.type.ts';\n${text}`);
process.stdout.write(`Wrote ${folder}, and added it to ${list}. Next: npm run format, npm run codegen.\n`);
