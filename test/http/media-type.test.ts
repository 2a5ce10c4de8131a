import { describe, expect, it } from 'vitest';
import { Negotiation } from '../../src/http/media-type.ts';

const TYPES = new Negotiation(['application/json', 'application/xml', 'text/csv']);

describe('Negotiation', () => {
  it.each([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['application/json, text/plain, */*', 'application/json'],
    ['application/json; charset=utf-8', 'application/json'],
    ['application/*;v=2, text/plain', 'application/json'],
    ['text/csv; header=present; q=0.3, application/json;charset=utf-8;q=0.2', 'text/csv'],
    ['application/json;q=0, text/html', undefined],
    ['text/csv, application/xml', 'text/csv'],
    ['application/xml, text/csv', 'application/xml'],
    ['application/*, text/csv', 'text/csv'],
    ['*/*, application/xml', 'application/xml'],
    ['text/csv;q=0.5, application/xml;q=0.6', 'application/xml'],
    ['text/csv;q=0.5, */*;q=0.4, application/json;q=0.3', 'text/csv'],
    ['application/*;q=0.9, application/json;q=0.1', 'application/xml'],
    ['text/csv;q=x, text/plain', undefined],
    ['TEXT/CSV', 'text/csv'],
  ])('given %s, chooses %s', (header, expected) => {
    expect(TYPES.choose(header)).toBe(expected);
  });
});
