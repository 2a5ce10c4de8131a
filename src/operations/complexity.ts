import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  Lexer,
  type SelectionSetNode,
  Source,
  TokenKind,
} from 'graphql';
import { tooComplex } from './refusal.ts';

/** More tokens than any legitimate operation needs, yet parsed and validated within milliseconds. */
export const MAX_TOKENS = 2_000;
/** Nested brackets: far more than an affordable operation has, far fewer than would overflow the stack. */
const MAX_SYNTAX_DEPTH = 200;
/** Fields and fragments visited while expanding a document, so that expansion always ends. */
const MAX_EXPANDED = 10_000;
/** Pairs of fields with one response key. Validation compares all of them, and again the pairs below each pair. */
const MAX_PAIRS = 50_000;
/** Levels to expand. Deeper selections are refused after validation. */
const MAX_EXPANDED_DEPTH = 40;
/** Length of a name, which is repeated in messages, logs, compiled code and, as a response key, for every row. */
export const MAX_NAME_LENGTH = 100;

/** @throws QUERY_TOO_COMPLEX if the nesting would overflow the parser's stack */
export function checkNesting(text: string): void {
  // With so few opening brackets, the nesting cannot be too deep.
  if ((text.match(/[{[(]/g)?.length ?? 0) <= MAX_SYNTAX_DEPTH) return;
  const lexer = new Lexer(new Source(text));
  let depth = 0;
  for (let count = 0; count <= MAX_TOKENS; count++) {
    const { kind } = lexer.advance();
    if (kind === TokenKind.EOF) return;
    if (kind === TokenKind.BRACE_L || kind === TokenKind.BRACKET_L || kind === TokenKind.PAREN_L) depth++;
    else if (kind === TokenKind.BRACE_R || kind === TokenKind.BRACKET_R || kind === TokenKind.PAREN_R)
      depth--;
    if (depth > MAX_SYNTAX_DEPTH) throw tooComplex(`has more than ${MAX_SYNTAX_DEPTH} brackets open at once`);
  }
}

/**
 * Counts the tokens of a document, comments included, and measures its names.
 *
 * @throws QUERY_TOO_COMPLEX if there are too many, or if a name is too long
 */
export function countTokens({ loc }: DocumentNode): number {
  let tokens = 0;
  for (let token = loc!.startToken.next!; token.next; token = token.next) {
    tokens++;
    if (tokens > MAX_TOKENS) throw tooComplex(`has more than ${MAX_TOKENS} tokens and comments`);
    if (token.kind === TokenKind.NAME && token.value.length > MAX_NAME_LENGTH)
      throw tooComplex(`has a name of more than ${MAX_NAME_LENGTH} characters`);
  }
  return tokens;
}

/**
 * Refuses documents that would take long to validate against any schema.
 *
 * @param document parsed but not yet validated
 * @throws QUERY_TOO_COMPLEX
 */
export function checkExpansion(document: DocumentNode): void {
  const expansion = new Expansion(document);
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) expansion.expand([definition.selectionSet], 0);
  }
  expansion.expandTheRest();
}

/** How much longer than for a plain field it takes to compare two: validation prints their arguments each time. */
const comparisonWeight = ({ arguments: given }: FieldNode): number =>
  given!.length === 0 ? 1 : 16 + given!.at(-1)!.loc!.end - given![0]!.loc!.start;

/** The fragments of a document by name. */
export const fragmentsIn = ({ definitions }: DocumentNode): ReadonlyMap<string, FragmentDefinitionNode> =>
  new Map(
    definitions.flatMap((node) => (node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node]] : [])),
  );

/** Expands fragments and merges fields by response key as validation does, but regardless of types. */
class Expansion {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #reached = new Set<FragmentDefinitionNode>();
  #expanded = 0;
  #pairs = 0;

  constructor(document: DocumentNode) {
    this.#fragments = fragmentsIn(document);
  }

  expand(sets: readonly SelectionSetNode[], depth: number): void {
    if (depth > MAX_EXPANDED_DEPTH) return;
    const groups = new Map<string, FieldNode[]>();
    this.#group(sets, groups, new Set());
    for (const nodes of groups.values()) {
      this.#pairs += (nodes.length ** 2 - 1) * comparisonWeight(nodes[0]!);
      if (this.#pairs > MAX_PAIRS) throw tooComplex('selects the same fields too often');
      const below = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
      if (below.length > 0) this.expand(below, depth + 1);
    }
  }

  /** Validation also visits unused fragments before it refuses them. */
  expandTheRest(): void {
    for (const fragment of this.#fragments.values()) {
      if (!this.#reached.has(fragment)) this.expand([fragment.selectionSet], 0);
    }
  }

  #group(
    sets: readonly SelectionSetNode[],
    groups: Map<string, FieldNode[]>,
    open: Set<FragmentDefinitionNode>,
  ): void {
    for (const { selections } of sets) {
      for (const selection of selections) {
        if (++this.#expanded > MAX_EXPANDED) throw tooComplex(`selects more than ${MAX_EXPANDED} fields`);
        if (selection.kind === Kind.FIELD) {
          const key = (selection.alias ?? selection.name).value;
          const group = groups.get(key);
          if (group) group.push(selection);
          else groups.set(key, [selection]);
        } else if (selection.kind === Kind.INLINE_FRAGMENT) {
          this.#group([selection.selectionSet], groups, open);
        } else {
          const fragment = this.#fragments.get(selection.name.value);
          // A recursive fragment. Validation refuses it.
          if (!fragment || open.has(fragment)) continue;
          open.add(fragment);
          this.#reached.add(fragment);
          this.#group([fragment.selectionSet], groups, open);
          open.delete(fragment);
        }
      }
    }
  }
}
