import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJSONC } from '../../../../../src/transports/pages/explorer/graphiql/jsonc.ts';

describe('variables as they are typed', () => {
  it('are what JSON.parse reads, with comments and trailing commas left out, whatever texts contain', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom(',}', ', ]', '// no', '/* no */', '"', '\\'));
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), tie('list'), tie('object')),
      list: fc.array(tie('json'), { maxLength: 4 }),
      object: fc.dictionary(text, tie('json'), { maxKeys: 4 }),
    }));
    const written = (value: unknown): string => {
      if (typeof value !== 'object' || value === null) return `${JSON.stringify(value)} // , }\n`;
      if (Array.isArray(value)) return `[${value.map((each) => `${written(each)}, /* ] */`).join('')} ]`;
      const fields = Object.entries(value).map(
        ([name, each]) => `${JSON.stringify(name)}: ${written(each)},`,
      );
      return `{ ${fields.join('\n')} }`;
    };
    fc.assert(
      fc.property(json, (value) => {
        expect(parseJSONC(written(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it.each(['', '  \n', '// nothing yet'])('are none: %j', (text) => {
    expect(parseJSONC(text)).toBeUndefined();
  });
});
