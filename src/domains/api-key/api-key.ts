import { grouped } from '../../foundation/words.ts';
import { bindingOf, isListName, newApiKey, type Principal } from '../../access/api-keys.ts';
import { isNetwork, MAX_NETWORKS, NetworkList } from '../../access/networks.ts';
import { PLANS } from '../../access/plans.ts';
import { requireScopes } from '../../access/scopes.ts';
import { AppError, type Issue, validationFailed } from '../../foundation/errors.ts';
import { choice, choices, instant, list, name, opaqueId, optional, text } from '../../foundation/fields.ts';
import type { Inputs } from '../../foundation/record-input.ts';
import { parsedText } from '../../foundation/validation.ts';
import {
  API_KEYS,
  type ApiKey,
  type ApiKeyChanges,
  changed,
  PLAN_NAMES,
  type PlanName,
} from '../../store/stored-api-keys.ts';
import type { Transaction } from '../../store/store.ts';
import { DOCUMENTS, listTerm } from '../../store/trusted-documents.ts';

function describePlan(plan: PlanName): string {
  const { limits } = PLANS[plan];
  if (!limits) return 'Limits are set per key.';
  const [perMinute, perDay] = [limits.perMinute, limits.perDay].map(grouped);
  return `${perMinute} requests per minute, ${perDay} per day.`;
}

export const Plan = choices(
  'Plan',
  'The plan of an API key.',
  Object.fromEntries(PLAN_NAMES.map((plan) => [plan, describePlan(plan)])) as Record<PlanName, string>,
);

/** The maximum number of scopes in a list; there are fewer. */
const MAX_SCOPES = 20;

/** The maximum number of children of a key. */
export const MAX_CHILDREN = 20;

const short = text(100, '', '');
const network = {
  ...short,
  rule: () =>
    parsedText('must be a network such as 203.0.113.0/24', (value) => (isNetwork(value) ? value : null)),
};
const scopes = optional(
  list(short, MAX_SCOPES, 'What the key may do; everything by default', ['pets:read', 'orders:write']),
);
const expiresAt = optional(
  instant('From when on the key is not valid; never by default', '2127-01-31T00:00:00Z'),
);
const allow = optional(
  list(network, MAX_NETWORKS, 'The networks the key may be used from; any by default', ['203.0.113.0/24']),
);
const documents = optional(
  text(
    110,
    'The list of GraphQL documents the key may run, after `report:` if others are only counted; any by default',
    'report:my-app',
  ),
);

export const ApiKeyDeclaration = {
  type: 'ApiKey',
  listName: 'ApiKeys',
  description: 'An API key and what it may do.',
  fields: {
    id: opaqueId(100, 'Unique identifier of the key, which is not the key itself', 'key_3RlZ5unNSlWY'),
    name: name('The owner of the key', 'My app'),
    plan: choice(Plan, 'The plan of the key', 'pro'),
    scopes,
    createdAt: instant('When the key was created', '2026-11-21T12:00:00Z'),
    lastUsedAt: optional(
      instant('When the key was last used; up to 10 seconds behind', '2026-11-22T08:30:00Z'),
    ),
    expiresAt,
    allow,
    documents,
    key: {
      ...optional(text(60, 'The key itself; only when created and rotated', 'petstore_…')),
      isSecret: true,
    },
  },
};

/** A key as shown to clients. @param key the key itself, shown once */
export const shownKey = (apiKey: ApiKey, key?: string): ApiKey & { key?: string } =>
  key === undefined ? apiKey : { ...apiKey, key };

const mine = <F extends { description: string }>(field: F): F => ({
  ...field,
  description: field.description.replace(/; \w+ by default$/, '; by default as its owner'),
});

/** The settings of a child, by the holder of its owner. Those left out or removed equal the owner's. */
export const inputs: Inputs = {
  kind: 'key',
  plural: 'keys',
  type: 'Key',
  choosesId: false,
  fields: {
    name: name('What the key is for', 'Till 7'),
    scopes: { ...mine(scopes), example: ['pets:read'] },
    expiresAt: mine(expiresAt),
    allow: mine(allow),
    documents: mine(documents),
  },
};

/** The output of the rules of {@link inputs}. */
export interface KeyPatch {
  name?: string | undefined;
  scopes?: readonly string[] | null | undefined;
  expiresAt?: string | null | undefined;
  allow?: readonly string[] | null | undefined;
  documents?: string | null | undefined;
}
export type NewKey = KeyPatch & { name: string };

/** The owner of a child, and what checks its settings: the transaction that writes them, as outside reads would wait for it. */
interface Owner extends Pick<Transaction, 'objects'> {
  principal: Principal;
  now: () => number;
  /** All scopes. */
  allScopes: readonly string[];
}

/**
 * Checks changes to a child, which can do no more than its owner. Removed settings become the owner's.
 *
 * @throws FORBIDDEN for permissions that the owner lacks, VALIDATION_FAILED
 */
export async function narrowed(input: KeyPatch, owner: Owner): Promise<ApiKeyChanges> {
  const { principal, objects, now, allScopes } = owner;
  const own = (await objects(API_KEYS).get([principal.id]))[0]!;
  const { name, scopes, allow, documents } = input;
  const expiresAt = input.expiresAt == null ? input.expiresAt : Date.parse(input.expiresAt);
  const issues: Issue[] = [];
  if (scopes?.some((scope) => !allScopes.includes(scope)))
    issues.push({ path: 'scopes', message: `must be some of ${allScopes.join(', ')}` });
  if (expiresAt != null && expiresAt <= now())
    issues.push({ path: 'expiresAt', message: 'must be in the future' });
  if (expiresAt != null && own.expiresAt !== undefined && expiresAt > own.expiresAt)
    issues.push({ path: 'expiresAt', message: 'must not be after the expiry of the key that makes it' });
  if (documents != null && !(await isListed(documents, objects)))
    issues.push({
      path: 'documents',
      message: 'must be a list of documents that exists, or report: and one',
    });
  if (issues.length > 0) throw validationFailed(issues);
  if (scopes) requireScopes(principal, scopes);
  const foreign = own.allow ? allow?.filter((each) => !new NetworkList(own.allow!).covers(each)) : [];
  if (foreign && foreign.length > 0)
    throw new AppError('FORBIDDEN', `The API key may not be used from ${foreign.join(', ')} itself.`);
  if (documents != null && own.documents !== undefined && !isWithin(documents, own.documents))
    throw new AppError('FORBIDDEN', `The API key is bound to ${own.documents} itself.`);
  const inherited = <T>(value: T | null | undefined, ofOwner: T | undefined) =>
    value === null ? (ofOwner ?? null) : value;
  return {
    ...(name !== undefined && { name }),
    scopes: inherited(scopes, own.scopes),
    expiresAt: inherited(expiresAt, own.expiresAt),
    allow: inherited(allow, own.allow),
    documents: inherited(documents, own.documents),
  };
}

const isListed = async (documents: string, objects: Transaction['objects']): Promise<boolean> => {
  const { list } = bindingOf(documents);
  return isListName(list) && (await objects(DOCUMENTS).find(listTerm(list))).length > 0;
};

/** True if a binding to documents permits nothing that the owner's doesn't. */
function isWithin(documents: string, own: string): boolean {
  const [inner, outer] = [bindingOf(documents), bindingOf(own)];
  return inner.list === outer.list && (inner.isStrict || !outer.isStrict);
}

/** Creates a child. @throws like `narrowed` */
export async function newChild(
  { name, scopes = null, expiresAt = null, allow = null, documents = null }: NewKey,
  maker: Owner,
): Promise<{ key: string; apiKey: ApiKey & { owner: string } }> {
  const { principal, now } = maker;
  const { plan, limits, id: owner } = principal;
  if (principal.account !== owner)
    throw new AppError('FORBIDDEN', 'This key was made by another one, and makes none itself.');
  const changes = await narrowed({ scopes, expiresAt, allow, documents }, maker);
  const { key, apiKey } = newApiKey({ name, plan, limits, now: now() });
  return { key, apiKey: { ...changed(apiKey, changes), owner } };
}
