import { mergeAst } from '@graphiql/toolkit';
import {
  type DocumentNode,
  type FieldNode,
  type GraphQLSchema,
  Kind,
  TypeInfo,
  valueFromASTUntyped,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { DEFAULT_PAGE_SIZE } from '../../../../foundation/pricing.ts';

/** A list in an operation. */
export interface PagedList {
  /** Response keys from the root: `categories › pets`. */
  path: string;
  node: FieldNode;
  /** Entries on one page. */
  size: number;
  /** The most entries it can return, over all parents. */
  entries: number;
}

const WRAPPERS = new Set(['nodes', 'edges', 'node']);
const SIZES = ['first', 'last'];

/** Finds the lists of an operation. @returns the largest first, and the document they are nodes of */
export function listsIn(
  schema: GraphQLSchema,
  operation: DocumentNode,
  variables: Record<string, unknown>,
): { lists: PagedList[]; document: DocumentNode } {
  const document = mergeAst(operation, schema);
  const lists: PagedList[] = [];
  const types = new TypeInfo(schema);
  const path: string[] = [];
  const entries = [1];
  const fields = {
    enter(node: FieldNode) {
      path.push(node.alias?.value ?? node.name.value);
      const isPaged = types.getFieldDef()?.args.some(({ name }) => name === 'first');
      const size = isPaged ? pageSize(node, variables) : 1;
      entries.push(entries.at(-1)! * size);
      const keys = path.filter((key) => !WRAPPERS.has(key));
      if (isPaged) lists.push({ path: keys.join(' › '), node, size, entries: entries.at(-1)! });
    },
    leave() {
      path.pop();
      entries.pop();
    },
  };
  visit(document, visitWithTypeInfo(types, { Field: fields }));
  return { lists: lists.toSorted((a, b) => b.entries - a.entries), document };
}

function pageSize({ arguments: given = [] }: FieldNode, variables: Record<string, unknown>): number {
  const sizes = given
    .filter(({ name }) => SIZES.includes(name.value))
    .map(({ value }) => valueFromASTUntyped(value, variables))
    .filter((size) => typeof size === 'number');
  return sizes.length > 0 ? Math.max(...sizes) : DEFAULT_PAGE_SIZE;
}

/** Changes the size of a list's page. */
export const resized = (document: DocumentNode, list: PagedList, size: number): DocumentNode =>
  visit(document, { Field: (node) => (node === list.node ? withSize(node, size) : undefined) });

function withSize(node: FieldNode, size: number): FieldNode {
  const { arguments: given = [] } = node;
  const name = given.find((argument) => SIZES.includes(argument.name.value))?.name ?? {
    kind: Kind.NAME as const,
    value: 'first',
  };
  const others = given.filter((argument) => !SIZES.includes(argument.name.value));
  const value = { kind: Kind.INT as const, value: String(size) };
  return { ...node, arguments: [{ kind: Kind.ARGUMENT, name, value }, ...others] };
}
