import type * as ReactNamespace from 'react';

/** The parts of Swagger UI used here. Its own types do not cover plugins. */

/** An Immutable.js value. */
export interface Immutable {
  get(name: string): unknown;
  getIn(path: readonly (string | number)[]): unknown;
  toJS(): unknown;
}

/** A component with arbitrary props. */
// biome-ignore lint/suspicious/noExplicitAny: components of Swagger UI have no declared props
export type Component = ReactNamespace.ComponentType<any>;

export interface System {
  React: typeof ReactNamespace;
  getComponent(name: string, container?: boolean): Component;
  specSelectors: { specJson(): Immutable; url(): string };
  specActions: { updateJsonSpec(spec: unknown): void };
  oas3Selectors: { requestBodyValue(path: string, method: string): unknown };
}

export interface SwaggerUI {
  (options: Record<string, unknown>): { preauthorizeApiKey(scheme: string, key: string): void };
  presets: { apis: unknown };
}
