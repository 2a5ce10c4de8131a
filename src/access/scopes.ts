import { AppError } from '../foundation/errors.ts';

/** The permissions of a key's holder. */
export interface Permissions {
  /** Includes the scopes they imply; everything if absent. Use {@link permits} to check. */
  scopes?: ReadonlySet<string>;
}

/** All reads. */
export const ALL_READS = '*:read';

const READ = ':read';
const WRITE = ':write';

/** The scope to read the data of this domain. */
export const readScope = (domain: string): string => domain + READ;
/** The scope to change that data, which includes reading it. */
export const writeScope = (domain: string): string => domain + WRITE;

/** The scopes of a key together with those they imply. */
export const impliedScopes = (scopes: readonly string[]): ReadonlySet<string> =>
  new Set(
    scopes.flatMap((scope) =>
      scope.endsWith(WRITE) ? [scope, scope.slice(0, -WRITE.length) + READ] : [scope],
    ),
  );

/** True if a key has a scope, or needs none (undefined). */
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

/** Checks the scopes of a request before any of it runs. @throws FORBIDDEN naming all that are missing */
export function requireScopes(principal: Permissions, scopes: Iterable<string>): void {
  const missing = [...scopes].filter((scope) => !permits(principal, scope));
  if (missing.length === 0) return;
  const what = missing.length === 1 ? 'scope' : 'scopes';
  throw new AppError('FORBIDDEN', `The API key lacks the ${what} ${missing.join(', ')}.`);
}
