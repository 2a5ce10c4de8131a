import { type GraphQLNamedType, getNamedType, isObjectType } from 'graphql';
import { type Permissions, permits, readScope } from '../access/scopes.ts';

/** Declares that a type's records belong to this scope. */
export function setScope(type: GraphQLNamedType, scope: string): void {
  Object.assign(type.extensions, { scope });
}

/** The scope that a type's records belong to, or those of a connection; undefined if keys need none. */
export function scopeOfType(type: GraphQLNamedType): string | undefined {
  const records = isObjectType(type) ? type.getFields().nodes : undefined;
  return (records ? getNamedType(records.type) : type).extensions.scope as string | undefined;
}

/** Whether a key may read the records of a type. */
export function mayRead(caller: Permissions, type: GraphQLNamedType): boolean {
  const scope = scopeOfType(type);
  return scope === undefined || permits(caller, readScope(scope));
}
