import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonOf, listOf, objectOf, writeAny, writeBare, writeString } from '../../src/schema/json-writer.ts';
import { anyCharacter } from '../kit/cases.ts';

const texts = fc.oneof(fc.string({ unit: anyCharacter }), fc.string({ unit: 'grapheme' }), fc.string());

describe('jsonOf', () => {
  it('equals JSON.stringify for text of any kind and length', () => {
    const write = listOf(writeString);
    const ends = ['', '"', '\\', '\n', '\u007f', '\ud800', 'é', '🐕', 'x'.repeat(1_001), 'y'.repeat(70_000)];
    expect(jsonOf(write, ends)).toBe(JSON.stringify(ends));
    fc.assert(
      fc.property(fc.array(texts), (list) => {
        expect(jsonOf(write, list)).toBe(JSON.stringify(list));
      }),
    );
  });

  it('equals JSON.stringify for values of any form', () => {
    const write = objectOf([
      { name: 'first', write: writeAny },
      { name: 'say "hi"', write: listOf(writeAny) },
    ]);
    fc.assert(
      fc.property(fc.jsonValue(), fc.option(fc.array(fc.jsonValue())), (first, list) => {
        const value = { first, 'say "hi"': list };
        expect(jsonOf(write, value)).toBe(JSON.stringify(value));
      }),
    );
    expect(jsonOf(write, { first: NaN, 'say "hi"': [undefined, 9223372036854775807n, -0] })).toBe(
      '{"first":null,"say \\"hi\\"":[null,9223372036854775807,0]}',
    );
  });

  it('writes far more than it gathers', () => {
    const pets = Array.from({ length: 20_000 }, (_, id) => ({ id: String(id), name: id % 7 ? 'Rex' : 'Ré' }));
    const write = listOf(
      objectOf([
        { name: 'id', write: writeBare },
        { name: 'name', write: writeString },
      ]),
    );
    expect(jsonOf(write, pets)).toBe(`[${pets.map(({ id, name }) => `{"id":${id},"name":"${name}"}`)}]`);
  });

  it('leaves optional properties out where they are absent', () => {
    const write = objectOf([
      { name: 'id', write: writeAny },
      { name: 'note', write: writeAny, optional: true },
    ]);
    expect(jsonOf(listOf(write), [{ id: 1, note: null }, { id: 2 }, { id: 3, note: '' }])).toBe(
      '[{"id":1},{"id":2},{"id":3,"note":""}]',
    );
    expect(jsonOf(objectOf([]), {})).toBe('{}');
  });

  it('begins anew after an error', () => {
    const fail = () => {
      throw new Error('cannot be written');
    };
    expect(() => jsonOf(listOf(fail), [1])).toThrow('cannot be written');
    expect(jsonOf(listOf(writeAny), [1])).toBe('[1]');
  });
});
