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
import { Int64IdsRule } from '../../src/graphql/id-scalar.ts';
import { schema } from '../../src/graphql/schema.ts';
import { validate } from '../../src/graphql/validate.ts';

const RUNS = Number(process.env.PROPERTY_RUNS ?? 1_000);
const RULES = [...specifiedRules.filter((rule) => rule !== OverlappingFieldsCanBeMergedRule), Int64IdsRule];

const expectedOf = (document: DocumentNode) =>
  validateByGraphQLJs(schema, document, RULES, { maxErrors: 100 });
const actualOf = (document: DocumentNode) => validate(schema, document, RULES, { max: 100, suggested: 100 });

/** Documents that hold between them whatever a rule looks at. */
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

/** Tokens that other documents have, so that a change can bring in what a document had nothing of. */
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

describe('Validation', () => {
  it('finds what graphql-js finds', () => {
    let faulty = 0;
    fc.assert(
      fc.property(changed, (text) => {
        const document = parsed(text);
        fc.pre(document !== null);
        const expected = expectedOf(document);
        // Of the parts of type definitions nothing is said: a document that has one is refused for that.
        if (document.definitions.some(({ kind }) => kind === Kind.OBJECT_TYPE_DEFINITION)) {
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

  it('stops where there are too many errors, and says so', () => {
    const names = Array.from({ length: 200 }, (_, i) => `a${i}: nome`).join(' ');
    const document = parse(`{ pet(id: 1) { ${names} } }`);
    const errors = validate(schema, document, RULES, { max: 100, suggested: 2 });
    expect(errors).toHaveLength(101);
    expect(errors.at(-1)!.message).toContain('Validation aborted.');
    expect(errors.map(({ message }) => message.includes('Did you mean')).lastIndexOf(true)).toBe(1);
  });

  it('leaves the stacks of later errors as they were', () => {
    validate(schema, parse('{ x }'), RULES, { max: 100, suggested: 20 });
    expect(new Error('later').stack).toContain('validate.test');
  });
});
