import { AppError } from '../foundation/errors.ts';

/** The permissions of a principal. */
export interface Permissions {
  /** Includes implied scopes; absent if everything is permitted. Check with {@link permits}. */
  scopes?: ReadonlySet<string>;
}

/** The scope of all reads. */
export const ALL_READS = '*:read';

const READ = ':read';
const WRITE = ':write';

/** The scope to read a domain's data. */
export const readScope = (domain: string): string => domain + READ;
/** The scope to read and change a domain's data. */
export const writeScope = (domain: string): string => domain + WRITE;

/** The scopes of a key, including those they imply. */
export const impliedScopes = (scopes: readonly string[]): ReadonlySet<string> =>
  new Set(
    scopes.flatMap((scope) =>
      scope.endsWith(WRITE) ? [scope, scope.slice(0, -WRITE.length) + READ] : [scope],
    ),
  );

/** True if the scope is permitted, or undefined (none is needed). */
export const permits = ({ scopes }: Permissions, scope: string | undefined): boolean =>
  scopes === undefined ||
  scope === undefined ||
  scopes.has(scope) ||
  (scope.endsWith(READ) && scopes.has(ALL_READS));

/** The permissions common to all of these. */
export function intersection(...permissions: readonly Permissions[]): Permissions {
  const scopes = permissions
    .flatMap(({ scopes }) => [...(scopes ?? [])])
    .filter((scope) => permissions.every((each) => permits(each, scope)));
  return permissions.some((each) => each.scopes) ? { scopes: new Set(scopes) } : {};
}

/** Checks the scopes of a request before any of it runs. @throws FORBIDDEN that names all missing ones */
export function requireScopes(principal: Permissions, scopes: Iterable<string>): void {
  const missing = [...scopes].filter((scope) => !permits(principal, scope));
  if (missing.length === 0) return;
  const what = missing.length === 1 ? 'scope' : 'scopes';
  throw new AppError('FORBIDDEN', `The API key lacks the ${what} ${missing.join(', ')}.`);
}
