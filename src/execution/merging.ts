import {
  type DocumentNode,
  type FieldNode,
  GraphQLError,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isLeafType,
  isListType,
  isNonNullType,
  Kind,
  print,
  type ValueNode,
} from 'graphql';
import { type SelectedField, type Selection, selectEverything } from './selection.ts';

/** Stop after this many conflicts. */
const MAX_CONFLICTS = 100;

/**
 * Finds fields with the same response key that cannot be merged (GraphQL specification, section 5.3.2).
 * graphql-js compares all pairs, which can take tens of milliseconds for a document of 2,000 tokens. This
 * compares each field with the first one only, since all of them must be equal. It skips selections whose
 * type condition can never apply.
 *
 * @param document otherwise valid
 * @throws QUERY_TOO_COMPLEX if the document is too deep or too large
 */
export function findMergeConflicts(schema: GraphQLSchema, document: DocumentNode): GraphQLError[] {
  const search = new Search();
  for (const node of document.definitions) {
    if (node.kind === Kind.OPERATION_DEFINITION)
      search.checkSelection(selectEverything(schema, document, node));
  }
  return search.conflicts;
}

/** Everything selected under one response key, regardless of type. */
interface Shape {
  field: SelectedField;
  below: Selection[];
}

class Search {
  readonly conflicts: GraphQLError[] = [];

  /** Fields of one object must be the same field with the same arguments. */
  checkSelection(selection: Selection): void {
    for (const { key, nodes, subselections } of selection) {
      const [first, ...others] = nodes;
      for (const other of others) {
        const reason = describeDifference(first, other);
        if (reason) this.#add(key, reason, first, other);
      }
      for (const part of subselections.values()) this.checkSelection(part);
      if (subselections.size > 1) this.#checkShapes([...subselections.values()]);
    }
  }

  /** Fields of different object types, of which only one can occur, must return the same shape. */
  #checkShapes(selections: readonly Selection[]): void {
    const shapes = new Map<string, Shape>();
    for (const field of selections.flat()) {
      const shape = shapes.get(field.key);
      if (!shape) {
        shapes.set(field.key, { field, below: [...field.subselections.values()] });
        continue;
      }
      shape.below.push(...field.subselections.values());
      const [one, other] = [shape.field.definition.type, field.definition.type];
      if (haveDifferentShapes(one, other)) {
        const reason = `they return conflicting types "${one}" and "${other}"`;
        this.#add(field.key, reason, shape.field.nodes[0], field.nodes[0]);
      }
    }
    for (const { below } of shapes.values()) if (below.length > 1) this.#checkShapes(below);
  }

  #add(key: string, reason: string, ...nodes: FieldNode[]): void {
    if (this.conflicts.length >= MAX_CONFLICTS) return;
    const message = `Fields "${key}" conflict because ${reason}. Use different aliases on the fields to fetch both if this was intentional.`;
    this.conflicts.push(new GraphQLError(message, { nodes }));
  }
}

function describeDifference(one: FieldNode, other: FieldNode): string | undefined {
  if (one.name.value !== other.name.value)
    return `"${one.name.value}" and "${other.name.value}" are different fields`;
  return argumentsOf(one) === argumentsOf(other) ? undefined : 'they have differing arguments';
}

const argumentsOf = ({ arguments: given }: FieldNode): string =>
  given!
    .map(({ name, value }) => `${name.value}:${print(sorted(value))}`)
    .sort()
    .join();

/** The order of fields in an object literal is irrelevant. */
function sorted(value: ValueNode): ValueNode {
  if (value.kind === Kind.LIST) return { ...value, values: value.values.map(sorted) };
  if (value.kind !== Kind.OBJECT) return value;
  const fields = value.fields.map((field) => ({ ...field, value: sorted(field.value) }));
  return { ...value, fields: fields.sort((a, b) => (a.name.value < b.name.value ? -1 : 1)) };
}

function haveDifferentShapes(one: GraphQLOutputType, other: GraphQLOutputType): boolean {
  for (const isWrapper of [isNonNullType, isListType]) {
    if (isWrapper(one) && isWrapper(other)) return haveDifferentShapes(one.ofType, other.ofType);
    if (isWrapper(one) || isWrapper(other)) return true;
  }
  return (isLeafType(one) || isLeafType(other)) && getNamedType(one) !== getNamedType(other);
}
