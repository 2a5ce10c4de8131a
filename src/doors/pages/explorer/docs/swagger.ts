import type * as ReactNamespace from 'react';

/** What of Swagger UI is used here; its own types leave plugins open. */

/** An Immutable.js value. */
export interface Immutable {
  get(name: string): unknown;
  getIn(path: readonly (string | number)[]): unknown;
  toJS(): unknown;
}

/** A component of any props. */
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
