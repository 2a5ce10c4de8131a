import { isDeepStrictEqual } from 'node:util';
import type { JsonSchema } from '../foundation/fields.ts';

const KINDS = ['schemas', 'parameters', 'headers', 'responses'] as const;
export type ComponentKind = (typeof KINDS)[number];

/** The shared components of the description, collected as it is built. */
export class Components {
  readonly #parts = new Map<ComponentKind, Map<string, JsonSchema>>(KINDS.map((kind) => [kind, new Map()]));

  /**
   * Adds a component unless it exists.
   *
   * @param part the component, or a function that creates it if there is none of this name
   * @returns a reference to it
   * @throws Error if there is a different one of this name
   */
  add(kind: ComponentKind, name: string, part: JsonSchema | (() => JsonSchema)): JsonSchema {
    const parts = this.#parts.get(kind)!;
    const added = parts.get(name);
    if (added === undefined) parts.set(name, typeof part === 'function' ? part() : part);
    else if (typeof part !== 'function' && !isDeepStrictEqual(part, added))
      throw new Error(`Two of the ${kind} are called ${name}`);
    return refTo(kind, name);
  }

  /** All components, sorted by name. */
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
