import { expect, it } from 'vitest';
import { formatTable } from '../../src/cli/text-table.ts';

it('aligns columns, fits 80 characters and shows no control characters', () => {
  const long = 'a name, and another one '.repeat(4).trim();
  const lines = formatTable(
    ['ID', 'NAME'],
    [
      ['1', 'x\u001b[31m'],
      ['k'.repeat(30), long],
    ],
  );
  expect(lines.slice(0, 2)).toEqual([
    'ID                              NAME',
    `1${' '.repeat(31)}x\ufffd[31m`,
  ]);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
  expect(lines.slice(2).join(' ').replaceAll(/ +/g, ' ')).toBe(`${'k'.repeat(30)} ${long}`);
});

it.each([12, 128])('breaks no id of %i characters, however wide the other columns are', (length) => {
  const header = ['ID', 'PLAN', 'USED TODAY', 'LAST USED', 'SECRET', 'NAME'];
  const id = 'x'.repeat(length);
  const used = '2147483647 of 2147483647';
  const lines = formatTable(header, [[id, 'enterprise', used, '2026-01-31', 'AbCdEf…', 'y'.repeat(200)]]);
  expect(lines[1]).toMatch(new RegExp(`^${id}  enterprise +2147483647 `));
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(Math.max(80, length + 64));
});

it('formats any number of rows', () => {
  expect(
    formatTable(
      ['ID'],
      Array.from({ length: 150_000 }, (_, n) => [n]),
    ),
  ).toHaveLength(150_001);
});
