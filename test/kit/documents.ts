import fc, { type GeneratorValue } from 'fast-check';
import {
  type GraphQLArgument,
  GraphQLBoolean,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLInputType,
  GraphQLNonNull,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
} from 'graphql';

/** The text of a random operation, with values for its variables. */
export interface RandomDocument {
  text: string;
  /** As many as the document is to be sent times, each time with other values. */
  values: readonly Record<string, unknown>[];
}

/** The subjects of documents. */
export interface Subject {
  schema: GraphQLSchema;
  /** True if documents select a field. */
  selects(type: string, field: string): boolean;
  /** The id of a record of a type, perhaps of none. */
  idOf(type: string): string;
  /** How long pages are. */
  sizes: readonly number[];
}

/** How often a document is sent. */
const TIMES = 2;
/** Fields that have the same type wherever they are, so that a selection of several types may have them without alias. */
const ALIKE = /^(id|name|nodeId|status)$/;
/** Names that are properties of every object. */
const INHERITED = ['constructor', 'toString', '__proto__', 'hasOwnProperty'];

/** A field that was selected. */
interface Selected {
  field: GraphQLField<unknown, unknown>;
  /** Its alias, its name and its arguments. */
  head: string;
  type: GraphQLCompositeType | undefined;
  /** The selection of its value. */
  below: string;
}

/** Writes a random operation, which is valid: fields have aliases of their own unless they can be merged. */
class Writer {
  readonly #g: GeneratorValue;
  readonly #subject: Subject;
  readonly #inherited: string[];
  readonly #fragments: { name: string; on: GraphQLCompositeType; text: string }[] = [];
  readonly #variables = new Map<string, { declared: string; type: string; values: readonly unknown[] }>();
  /** Fields of each type, without what is selected below them. */
  readonly #fields = new Map<string, Selected[]>();
  #left: number;
  #names = 0;

  constructor(g: GeneratorValue, subject: Subject) {
    this.#g = g;
    this.#subject = subject;
    this.#left = this.#of([4, 10, 30, 80]);
    // Operations with such a name are not compiled.
    this.#inherited = this.#isSeldom() ? [...INHERITED] : [];
  }

  operation(kind: 'query' | 'mutation'): RandomDocument {
    const root = this.#subject.schema.getRootType(kind as never)!;
    const body = this.#selection(root, kind === 'query' ? this.#of([2, 4, 5, 6]) : 4);
    const declared = [...this.#variables.values()].map(({ declared }) => declared);
    const head = `${kind}${declared.length > 0 ? ` (${declared.join(', ')})` : ''} ${body}`;
    const fragments = this.#fragments.map(({ name, on, text }) => `fragment ${name} on ${on.name} ${text}`);
    const values = Array.from({ length: TIMES }, (_, time) =>
      Object.fromEntries(
        [...this.#variables]
          .map(([name, { values }]) => [name, values[time]] as const)
          .filter(([, value]) => value !== undefined),
      ),
    );
    return { text: [head, ...fragments].join(' '), values };
  }

  #of<T>(choices: readonly T[]): T {
    return choices[this.#g(fc.nat, choices.length - 1)] as T;
  }

  #isSeldom(): boolean {
    return this.#of([true, false, false, false, false, false, false]);
  }

  /** A new name, now and then one that every object has a property of. */
  #name(prefix: string): string {
    return (this.#isSeldom() && this.#inherited.pop()) || `${prefix}${this.#names++}`;
  }

  #selection(type: GraphQLCompositeType, depth: number): string {
    const parts = [];
    for (let n = this.#of([1, 2, 2, 3, 4]); n > 0 && (this.#left > 0 || parts.length === 0); n--)
      parts.push(this.#part(type, depth));
    return `{ ${parts.join(' ')} }`;
  }

  #part(type: GraphQLCompositeType, depth: number): string {
    this.#left--;
    const selected = this.#fields.get(type.name) ?? [];
    const fitting = this.#fragments.filter(({ on }) => this.#isFitting(on, type));
    const what = this.#of(['field', 'field', 'field', 'field', 'again', 'inline', 'fragment', 'spread']);
    const isAgain = what === 'again' || (type.name === 'Mutation' && this.#of([true, false]));
    if (isAgain && selected.length > 0) return this.#again(this.#of(selected), type, depth);
    if (what === 'spread' && fitting.length > 0) return `...${this.#of(fitting).name}${this.#directives()}`;
    if (depth > 0 && (what === 'inline' || what === 'fragment')) {
      const on = this.#of(this.#conditions(type));
      const text = this.#selection(on, depth - 1);
      if (what === 'inline') {
        const condition = on === type && this.#of([true, false]) ? '' : ` on ${on.name}`;
        return `...${condition}${this.#directives()} ${text}`;
      }
      const name = this.#name('F');
      this.#fragments.push({ name, on, text });
      return `...${name}${this.#directives()}`;
    }
    return this.#field(type, depth);
  }

  /** A field selects more, perhaps under another condition; a change is followed by another, which reads the same. */
  #again(selected: Selected, type: GraphQLCompositeType, depth: number): string {
    if (type.name !== 'Mutation') return this.#completed(selected, Math.max(1, depth));
    const { field, below } = selected;
    return `${this.#name('k')}: ${field.name}(${this.#arguments(field).join(', ')}) ${below}`;
  }

  /** The types that a condition on a value of this type may name. */
  #conditions(type: GraphQLCompositeType): GraphQLCompositeType[] {
    if (isInterfaceType(type)) return [type, ...this.#subject.schema.getPossibleTypes(type)];
    return [type, ...(type as GraphQLObjectType).getInterfaces()];
  }

  #isFitting(on: GraphQLCompositeType, type: GraphQLCompositeType): boolean {
    return this.#conditions(type).includes(on);
  }

  #field(type: GraphQLCompositeType, depth: number): string {
    const all = Object.values((type as GraphQLObjectType).getFields()).filter(
      (field) =>
        this.#subject.selects(type.name, field.name) &&
        (depth > 0 || !isCompositeType(getNamedType(field.type))),
    );
    const deep = all.filter((field) => isCompositeType(getNamedType(field.type)));
    if (all.length === 0 || this.#isSeldom()) return `${this.#name('k')}: __typename${this.#directives()}`;
    const field = this.#of(deep.length > 0 && this.#of([true, false]) ? deep : all);
    const written = this.#arguments(field);
    const alias = ALIKE.test(field.name) && this.#of([true, false]) ? '' : `${this.#name('k')}: `;
    const named = getNamedType(field.type);
    const made: Selected = {
      field,
      below: '',
      head: `${alias}${field.name}${written.length > 0 ? `(${written.join(', ')})` : ''}`,
      type: isCompositeType(named) ? named : undefined,
    };
    const text = this.#completed(made, depth);
    this.#fields.set(type.name, [...(this.#fields.get(type.name) ?? []), made]);
    return text;
  }

  #completed(selected: Selected, depth: number): string {
    selected.below = selected.type ? this.#selection(selected.type, depth - 1) : '';
    return `${selected.head}${this.#directives()} ${selected.below}`;
  }

  #directives(): string {
    if (this.#of([true, true, true, false])) return '';
    const name = this.#of(['skip', 'include']);
    const when = () => this.#value(NON_NULL_BOOLEAN, '');
    const other = this.#isSeldom() ? ` @${name === 'skip' ? 'include' : 'skip'}(if: ${when()})` : '';
    return ` @${name}(if: ${when()})${other}`;
  }

  /** Arguments with their values. A page has a size and a place, or an order. */
  #arguments({ name, args, type }: GraphQLField<unknown, unknown>): string[] {
    const of = getNamedType(type).name.replace('Connection', '');
    const paging = this.#of([
      ['first', 'filter'],
      ['first', 'after', 'filter'],
      ['last', 'before', 'filter'],
      ['first', 'sort', 'filter'],
    ]);
    const isWritten = (argument: GraphQLArgument) =>
      isNonNullType(argument.type) ||
      (this.#of([true, true, false]) && (!PAGING.has(argument.name) || paging.includes(argument.name)));
    return args
      .filter(isWritten)
      .filter((argument) => of !== 'Event' || !/after|before|types/.test(argument.name))
      .map(
        (argument) =>
          `${argument.name}: ${this.#value(argument, of === 'ID' ? name.replace('delete', '') : of)}`,
      );
  }

  /** A literal, a variable, or a literal with variables in it. @param of the type of the record that an id belongs to */
  #value(input: Pick<GraphQLArgument, 'name' | 'type'>, of: string): string {
    if (this.#of([true, false, false])) return this.#variable(input, of);
    const type = getNullableType(input.type);
    if (isListType(type))
      return `[${this.#items(() => this.#value({ ...input, type: type.ofType }, of)).join(' ')}]`;
    if (isInputObjectType(type)) {
      const fields = this.#fieldsOf(type).map((field) => `${field.name}: ${this.#value(field, of)}`);
      return `{${fields.join(', ')}}`;
    }
    const value = this.#valueOf({ ...input, type }, of);
    return isEnumType(type) ? String(value) : JSON.stringify(value);
  }

  #variable(input: Pick<GraphQLArgument, 'name' | 'type'>, of: string): string {
    const isOptional = !isNonNullType(input.type);
    const type = String(input.type);
    const reusable = [...this.#variables].filter(
      ([, variable]) => variable.type === `${type} ${input.name} ${of}`,
    );
    if (reusable.length > 0 && this.#of([true, false])) return `$${this.#of(reusable)[0]}`;
    const values = Array.from({ length: TIMES }, () =>
      isOptional && this.#of([true, false]) ? this.#of([undefined, null]) : this.#valueOf(input, of),
    );
    const name = `v${this.#names++}`;
    // A default lets a variable of the nullable type stand where null is refused.
    const leaf = getNullableType(input.type);
    const hasDefault = !isListType(leaf) && !isInputObjectType(leaf) && this.#isSeldom();
    const value = this.#valueOf(input, of);
    const text = hasDefault ? ` = ${isEnumType(leaf) ? value : JSON.stringify(value)}` : '';
    const declared = `$${name}: ${hasDefault && this.#of([true, false]) ? String(leaf) : type}${text}`;
    this.#variables.set(name, { declared, type: `${type} ${input.name} ${of}`, values });
    return `$${name}`;
  }

  /** A value as JSON has it. */
  #valueOf(input: Pick<GraphQLArgument, 'name' | 'type'>, of: string): unknown {
    const type = getNullableType(input.type) as GraphQLInputType;
    if (isListType(type)) return this.#items(() => this.#valueOf({ ...input, type: type.ofType }, of));
    if (isInputObjectType(type))
      return Object.fromEntries(this.#fieldsOf(type).map((field) => [field.name, this.#valueOf(field, of)]));
    if (isEnumType(type)) return this.#of(type.getValues()).name;
    const { idOf, sizes } = this.#subject;
    const node = this.#of(['Pet', 'Category', 'Order', 'InventoryItem']);
    const makers: Record<string, () => unknown> = {
      Boolean: () => this.#of([true, false]),
      DateTime: () => '2026-01-31T09:30:00Z',
      Int: () => this.#of(input.name === 'quantity' ? [1, 2, 3] : sizes),
      String: () => (PAGING.has(input.name) ? idOf(of) : this.#of(['Rex', ' Bella ', 'O"Hara', 'Ünal \\ 1'])),
      ID: () => {
        if (input.name.startsWith('nodeId'))
          return Buffer.from(`${node}:${idOf(node)}`).toString('base64url');
        const parent = /^(\w+)Id$/.exec(input.name)?.[1];
        const id = idOf(parent ? parent[0]!.toUpperCase() + parent.slice(1) : of);
        return this.#isSeldom() ? Number(id) : id;
      },
    };
    return makers[type.name]!();
  }

  #items<T>(make: () => T): T[] {
    return Array.from({ length: this.#of([1, 2, 3]) }, make);
  }

  /** Some of the fields of an input object, with all that records need. */
  #fieldsOf(type: { name: string; getFields(): Record<string, Pick<GraphQLArgument, 'name' | 'type'>> }) {
    const isNeeded = (name: string) =>
      /^(New(Pet|Category)|InventoryUpdate)$/.test(type.name) && /^(name|categoryId|quantity)$/.test(name);
    return (
      Object.values(type.getFields())
        // What finds by name or range orders by it.
        .filter(
          ({ name, type: of }) =>
            !type.name.endsWith('Filter') || (name !== 'name' && !getNamedType(of).name.endsWith('Range')),
        )
        .filter((field) => isNonNullType(field.type) || isNeeded(field.name) || this.#of([true, false]))
    );
  }
}

const PAGING = new Set(['first', 'last', 'after', 'before', 'filter', 'sort']);
const NON_NULL_BOOLEAN = { name: 'if', type: new GraphQLNonNull(GraphQLBoolean) };

/** Writes a random operation. */
export const documentOf = (kind: 'query' | 'mutation', g: GeneratorValue, subject: Subject): RandomDocument =>
  new Writer(g, subject).operation(kind);
