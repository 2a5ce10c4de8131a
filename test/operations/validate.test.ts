import fc from 'fast-check';
import {
  type DocumentNode,
  Kind,
  Lexer,
  OverlappingFieldsCanBeMergedRule,
  parse,
  Source,
  specifiedRules,
  TokenKind,
  validate as validateByGraphQLJs,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { Int64IdsRule } from '../../src/kit/id-scalar.ts';
import { validate } from '../../src/operations/validate.ts';
import { schema } from '../../src/schema.ts';
import { cases } from '../kit/cases.ts';

const RUNS = Number(process.env.PROPERTY_RUNS ?? cases(60, 1_000));
const RULES = [...specifiedRules.filter((rule) => rule !== OverlappingFieldsCanBeMergedRule), Int64IdsRule];

/** Null if graphql-js throws: it evaluates directives of a subscription before checking them. */
function expectedOf(document: DocumentNode) {
  try {
    return validateByGraphQLJs(schema, document, RULES, { maxErrors: 100 });
  } catch {
    return null;
  }
}
const actualOf = (document: DocumentNode) => validate(schema, document, RULES, { max: 100, suggested: 100 });

/** Documents that together contain everything that rules check. */
const DOCUMENTS = [
  '{ pet(id: 1) { id name } __typename }',
  '{ pets(first: 1, filter: {status: [sold, pending], categoryId: "2"}) { nodes { id } } }',
  'query A { pet(id: 1) { ...F } } query B { pet(id: 2) { id } } fragment F on Pet { category { id } }',
  'query ($id: ID!, $s: Boolean = true) { pet(id: $id) @skip(if: $s) { id } }',
  'query Q($f: PetFilter = {status: sold}) { pets(filter: $f) { nodes { ... on Pet @include(if: true) { id } } } }',
  '{ node(nodeId: "x") { nodeId ... on Pet { name } ...G } } fragment G on Node { ... on Order { id } }',
  'mutation { updatePet(id: 1, input: {name: null, status: sold}) { id } }',
  'subscription { events(types: [pet_created]) { id pet { name } } }',
  'fragment F on Pet { ...F category { pets { nodes { ...F } } } }',
  'query ($v: [ID!]!) { nodes(nodeIds: $v) { nodeId } } type T { x: Int }',
];

/** More tokens, so that a change can introduce what a document does not have. */
const OTHERS =
  '$v $id @skip @skip(if:$v) @include(if:true) @x ... ...F ...X on Pet (id:1) (first:"1") { } id nome name: null 1.5 [ ]'.split(
    ' ',
  );

function tokensOf(text: string): string[] {
  const lexer = new Lexer(new Source(text));
  const tokens: string[] = [];
  for (let token = lexer.advance(); token.kind !== TokenKind.EOF; token = lexer.advance())
    tokens.push(text.slice(token.start, token.end));
  return tokens;
}

const changed = fc
  .tuple(
    fc.constantFrom(...DOCUMENTS),
    fc.array(
      fc.record({
        at: fc.nat(60),
        removed: fc.nat(2),
        put: fc.array(fc.constantFrom(...OTHERS, ...DOCUMENTS.flatMap(tokensOf)), { maxLength: 2 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  )
  .map(([text, changes]) => {
    const tokens = tokensOf(text);
    for (const { at, removed, put } of changes) tokens.splice(at % tokens.length, removed, ...put);
    return tokens.join(' ');
  });

function parsed(text: string): DocumentNode | null {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

describe('validation', () => {
  it('reports the same errors as graphql-js for randomly changed documents', () => {
    let faulty = 0;
    fc.assert(
      fc.property(changed, (text) => {
        const document = parsed(text);
        fc.pre(document !== null);
        const expected = expectedOf(document);
        // The contents of type definitions are not checked: a document with one is refused anyway.
        if (!expected || document.definitions.some(({ kind }) => kind === Kind.OBJECT_TYPE_DEFINITION)) {
          expect(actualOf(document).length, text).toBeGreaterThan(0);
          return;
        }
        if (expected.length > 0) faulty++;
        expect(
          actualOf(document).map(({ message, locations }) => ({ message, locations })),
          text,
        ).toEqual(expected.map(({ message, locations }) => ({ message, locations })));
      }),
      { numRuns: RUNS, maxSkipsPerRun: 1_000 },
    );
    expect(faulty).toBeGreaterThan(RUNS / 5);
  });

  it.each([
    // Variables.
    'query ($a: Int, $a: Int) { pets(first: $a) { totalCount } }',
    'query { pets(first: $a) { totalCount } }',
    'query ($a: Int) { __typename }',
    'query ($a: Pet) { pets(first: $a) { totalCount } }',
    'query ($a: String) { pets(first: $a) { totalCount } }',
    'query ($a: Nothing) { pets(first: $a) { totalCount } }',
    'query ($a: [[Nothing!]!]!) { pets(first: $a) { totalCount } }',
    'query ($a: Int = "x") { pets(first: $a) { totalCount } }',
    'query ($a: [PetStatus!] = [sold, gone]) { pets(filter: {status: $a}) { totalCount } }',
    'query ($a: ID! = "x") { pet(id: $a) { id } }',
    'query ($a: Int @nothing) { pets(first: $a) { totalCount } }',
    'query A($a: Int) { ...F } query B { ...F } fragment F on Query { pets(first: $a) { totalCount } }',
    // Fragments.
    '{ ...F }',
    '{ __typename } fragment F on Pet { id }',
    '{ ...F } fragment F on Query { ...F }',
    '{ ...F } fragment F on PetStatus { id }',
    '{ ...F } fragment F on Nothing { id }',
    '{ ...F } fragment F on Pet { id }',
    '{ ...F } fragment F on Query { __typename } fragment F on Query { __typename }',
    '{ ...F } fragment F on Query { nothing }',
    '{ ...F } fragment F on Query @nothing { __typename }',
    '{ ... on Pet { id } }',
    '{ ... on Nothing { id } }',
    '{ ... @nothing { __typename } }',
    '{ ... { nothing } }',
    '{ ...F @nothing } fragment F on Query { __typename }',
    '{ ...F @skip(if: 1) } fragment F on Query { __typename }',
    // Directives.
    '{ __typename @nothing }',
    '{ __typename @skip }',
    '{ __typename @skip(if: true) @skip(if: false) }',
    '{ __typename @skip(if: true, unless: false) }',
    '{ __typename @deprecated }',
    'query @skip(if: true) { __typename }',
    'query @nothing { __typename }',
    // Arguments and their values.
    '{ pet { id } }',
    '{ pet(id: 1, id: 1) { id } }',
    '{ pet(id: 1, name: 2) { id } }',
    '{ pet(id: "x") { id } }',
    '{ pet(id: true) { id } }',
    '{ pets(first: "1") { totalCount } }',
    '{ pets(filter: {status: gone}) { totalCount } }',
    '{ pets(filter: {status: [sold, [sold]]}) { totalCount } }',
    '{ pets(filter: {nothing: 1}) { totalCount } }',
    '{ pets(filter: {categoryId: 1, categoryId: 2}) { totalCount } }',
    '{ pets(filter: {categoryId: "x"}) { totalCount } }',
    'mutation { createPet(input: {name: "x"}) { id } }',
    '{ pet(id: 1) { orders(first: "1") { totalCount } } }',
    // Fields and operations.
    '{ nothing }',
    '{ pet(id: 1) }',
    '{ pet(id: 1) { id { x } } }',
    '{ pets { nodes { nothing } } }',
    'query A { __typename } query A { __typename }',
    '{ __typename } query A { __typename }',
    'subscription { events { id } more: events { id } }',
    'mutation { __schema { queryType { name } } }',
  ])('reports the same errors as graphql-js for %s', (text) => {
    const document = parse(text);
    const expected = expectedOf(document)!.map(({ message, locations }) => ({ message, locations }));
    expect(expected).not.toEqual([]);
    expect(actualOf(document).map(({ message, locations }) => ({ message, locations }))).toEqual(expected);
  });

  it.each([
    'subscription { events @skip { id } }',
    'subscription { ...F @include } fragment F on Subscription { events { id } }',
    'subscription ($yes: Boolean!) { events @include(if: $yes) { id } }',
  ])('refuses %s, for which graphql-js throws', (text) => {
    const document = parse(text);
    expect(expectedOf(document)).toBeNull();
    expect(actualOf(document).at(-1)!.message).toContain('Argument "if"');
  });

  it('rethrows unexpected errors of a rule and restores the stack trace limit', () => {
    const { stackTraceLimit } = Error;
    const broken = () => ({
      Field() {
        throw new TypeError('a bug');
      },
    });
    expect(() => validate(schema, parse('{ x }'), [broken], { max: 100, suggested: 20 })).toThrow('a bug');
    expect(Error.stackTraceLimit).toBe(stackTraceLimit);
  });

  it('stops after 100 errors and makes suggestions only for the first 2', () => {
    const names = Array.from({ length: 200 }, (_, i) => `a${i}: nome`).join(' ');
    const document = parse(`{ pet(id: 1) { ${names} } }`);
    const errors = validate(schema, document, RULES, { max: 100, suggested: 2 });
    expect(errors).toHaveLength(101);
    expect(errors.at(-1)!.message).toContain('Validation aborted.');
    expect(errors.map(({ message }) => message.includes('Did you mean')).lastIndexOf(true)).toBe(1);
  });

  it('leaves the stack traces of later errors intact', () => {
    validate(schema, parse('{ x }'), RULES, { max: 100, suggested: 20 });
    expect(new Error('later').stack).toContain('validate.test');
  });
});
