import { expect, it } from 'vitest';
import { formatTable } from '../../src/cli/table.ts';

it('aligns columns and replaces control characters and line separators', () => {
  expect(
    formatTable(
      ['ID', 'NAME'],
      [
        ['key_1', 'A\u001b[2Jname'],
        ['k', 'two\nlines\u2028'],
        ['', ''],
      ],
    ),
  ).toEqual(['ID     NAME', 'key_1  A\ufffd[2Jname', 'k      two\ufffdlines\ufffd', '']);
});
