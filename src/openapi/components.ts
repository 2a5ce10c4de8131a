import type { JsonSchema } from '../domains/shape.ts';

const KINDS = ['schemas', 'parameters', 'headers', 'responses'] as const;
export type ComponentKind = (typeof KINDS)[number];

/** Parts of the description that several operations refer to, collected on the way. */
export class Components {
  readonly #parts = new Map<ComponentKind, Map<string, JsonSchema>>(KINDS.map((kind) => [kind, new Map()]));

  /**
   * Keeps a part under its name, unless it is there already.
   *
   * @param part or how to make it
   * @returns the reference to it
   */
  add(kind: ComponentKind, name: string, part: JsonSchema | (() => JsonSchema)): JsonSchema {
    const parts = this.#parts.get(kind)!;
    if (!parts.has(name)) parts.set(name, typeof part === 'function' ? part() : part);
    return refTo(kind, name);
  }

  /** All of them, in the order of their names. */
  toJson(): JsonSchema {
    return Object.fromEntries(
      [...this.#parts].map(([kind, parts]) => [
        kind,
        Object.fromEntries([...parts].sort(([a], [b]) => (a < b ? -1 : 1))),
      ]),
    );
  }
}

export const refTo = (kind: ComponentKind, name: string): JsonSchema => ({
  $ref: `#/components/${kind}/${name}`,
});
