import { describe, expect, it } from 'vitest';
import { accepts, acceptsContentType } from '../../src/http/media-type.ts';

const JSON_TYPE = ['application/json'];

describe('accepts', () => {
  it.each([
    [undefined, true],
    ['', true],
    ['*/*', true],
    ['application/json', true],
    ['application/*;q=0.1', true],
    ['text/html, application/json', true],
    ['text/html,*/*', true],
    ['application/json;q=0', false],
    ['application/json;q=0.0, */*', false],
    ['application/*;q=0, */*', false],
    ['application/*;q=0, application/json', true],
    ['*/*;q=0, application/json;q=0.001', true],
    ['text/*', false],
    ['application/jsonp', false],
    ['json', false],
  ])('given %s, returns %s', (header, expected) => {
    expect(accepts(header, JSON_TYPE)).toBe(expected);
  });
});

describe('acceptsContentType', () => {
  it.each([
    [undefined, true],
    ['application/json', true],
    ['Application/Json ; Charset=utf-8', true],
    ['application/json; charset=utf-8', true],
    ['application/json; charset="UTF-8"', true],
    ['application/json; charset=us-ascii', false],
    ['application/json; charset=utf-16', false],
    ['text/json', false],
    ['', false],
  ])('given %s, returns %s', (header, expected) => {
    expect(acceptsContentType(header, JSON_TYPE)).toBe(expected);
  });
});
