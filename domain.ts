import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { capitalised, indefinite } from './src/foundation/words.ts';

/**
 * Writes a new domain, and adds it to the list: `npm run domain vetVisit -- --of pet --plural vetVisits`. It has a
 * name, and the record that it belongs to if there is one; docs/adding-a-domain.md lists the decisions left to a
 * person.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { of: { type: 'string' }, plural: { type: 'string' } },
});
const [kind] = positionals;
const USAGE =
  'Usage: npm run domain KIND -- [--of PARENT] [--plural KINDS], each written like pet or vetVisit';
const refuse = (message: string): never => {
  process.stderr.write(`${message}\n`);
  process.exit(1);
};
const { of: parent, plural = `${kind}s` } = values;
for (const word of [kind, parent ?? 'pet', plural])
  if (word === undefined || !/^[a-z][A-Za-z0-9]*$/.test(word)) refuse(USAGE);
if (kind === plural) refuse(`A kind and its plural need two names: --plural ${kind}Records`);
if (existsSync(`src/domains/${kind}`)) refuse(`src/domains/${kind} is there already.`);
if (parent && !existsSync(`src/domains/${parent}/${parent}.ts`))
  refuse(`There is no src/domains/${parent}/${parent}.ts to refer to.`);
const type = capitalised(kind!);
const Parent = parent && capitalised(parent);
const folder = `src/domains/${kind}`;

const record = `import { name${parent ? ', reference' : ''} } from '../../foundation/fields.ts';
import { declareRecord } from '../../foundation/declare-record.ts';
import type { RecordOf } from '../../foundation/record.ts';
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

const domain = `import { recordDomain } from '../record-domain.ts';
import { ${type} } from './${kind}.ts';

export const ${kind} = recordDomain(${type}, { tag: 'Store', example: { name: 'Bella' } });
`;

mkdirSync(folder);
for (const [end, text] of Object.entries({ ts: record, 'domain.ts': domain }))
  writeFileSync(`${folder}/${kind}.${end}`, text);
const list = 'src/domains/index.ts';
const text = readFileSync(list, 'utf8').replace(/^(export const DOMAINS: .* = \[.*)\];$/m, `$1, ${kind}];`);
writeFileSync(list, `import { ${kind} } from './${kind}/${kind}.domain.ts';\n${text}`);
process.stdout.write(`Wrote ${folder}, and added it to ${list}. Next: npm run format, npm run codegen.\n`);
