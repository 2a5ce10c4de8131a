import { ALL_READS, readScope, writeScope } from '../access/scopes.ts';
import { RESOURCES } from './routes.ts';

/** Every scope that a key can be given. What cannot be written over REST has none for writing. */
export const SCOPES: readonly string[] = [
  ALL_READS,
  // Several resources can share a scope.
  ...new Set(
    RESOURCES.flatMap(({ scope, routes }) => {
      if (scope === null) return [];
      const isWritable = routes.some(({ method }) => method !== 'GET');
      return isWritable ? [readScope(scope), writeScope(scope)] : [readScope(scope)];
    }),
  ),
];
