import { type FieldNode, type GraphQLResolveInfo, Kind } from 'graphql';
import { generateKey } from '../../access/api-keys.ts';
import { writeScope } from '../../access/scopes.ts';
import { notFound } from '../../foundation/errors.ts';
import { OPAQUE } from '../../schema/arguments.ts';
import type { Builder } from '../../schema/builder.ts';
import type { Context } from '../../schema/context.ts';
import { declaredType } from '../../schema/declared-type.ts';
import { inputsOf, opaqueArguments } from '../../schema/record-types.ts';
import type { ScopesOfField } from '../../schema/required-scopes.ts';
import { GRACE, graceArgument } from '../rotation.ts';
import { unchanged, write } from '../../schema/write.ts';
import type { Transaction } from '../../store/store.ts';
import { type ApiKey, apiKeyWritesOf } from '../../store/stored-api-keys.ts';
import {
  ApiKeyDeclaration,
  inputs,
  type KeyPatch,
  MAX_CHILDREN,
  narrowed,
  newChild,
  type NewKey,
  shownKey,
} from './api-key.ts';

/** The scope to manage or even see keys. */
const MANAGED = { scope: writeScope('keys') };

const ownerOf = ({ objects }: Transaction, { principal, now }: Context, { schema }: GraphQLResolveInfo) => ({
  objects,
  principal,
  now,
  allScopes: schema.extensions.scopes as readonly string[],
});

/** Without an id, a key rotates itself, which needs no scope. */
const scopesOfRotation: ScopesOfField = ({ arguments: args = [] }: FieldNode) =>
  args.some(({ name, value }) => name.value === 'id' && value.kind !== Kind.NULL) ? [MANAGED.scope] : [];

/** Adds the API key of the request and its children. */
export function addApiKeys(builder: Builder): void {
  const ApiKeyType = declaredType<ReturnType<typeof shownKey>>(builder, ApiKeyDeclaration);
  const { created: NewKeyInput, changes: KeyPatchInput } = inputsOf(builder, inputs);

  const { ID, inputOf } = opaqueArguments(builder, 'key');

  builder.queryFields((t) => ({
    apiKey: t.field({
      type: ApiKeyType,
      description: 'The API key of the request.',
      resolve: async (_root, _args, { store, principal: { id, plan } }) => {
        const key = await store.apiKeyById(id);
        if (!key) throw notFound('key', id);
        return shownKey({ ...key, plan });
      },
    }),
    keys: t.field({
      type: [ApiKeyType],
      description: 'All keys that this key has made, oldest first.',
      extensions: { ...MANAGED, maxItems: MAX_CHILDREN },
      resolve: async (_root, _args, { loaders, store, principal: { id, plan } }) => {
        const children = await loaders.list(() => store.childrenOf(id));
        return children.map((key) => shownKey({ ...key, plan }));
      },
    }),
    key: t.field({
      type: ApiKeyType,
      nullable: true,
      description: 'Looks up a key that this key has made by its id; null if there is none.',
      args: ID,
      extensions: MANAGED,
      resolve: async (_root, { id }, { store, principal }) => {
        const key = await store.apiKeyById(id);
        const isOwn = key?.owner === principal.id && key.revokedAt === undefined;
        return isOwn ? shownKey({ ...key, plan: principal.plan }) : null;
      },
    }),
  }));

  builder.mutationFields((t) => ({
    createKey: t.field({
      type: ApiKeyType,
      description:
        'Creates a key that draws on the budget of this one and can do no more. The result has the key itself.',
      args: inputOf(NewKeyInput, 'The key.'),
      extensions: MANAGED,
      resolve: (writer, args, context, info) =>
        write(async (transaction) => {
          const { key, apiKey } = await newChild(args.input as NewKey, ownerOf(transaction, context, info));
          return shownKey(await apiKeyWritesOf(transaction).createChild(apiKey, MAX_CHILDREN), key);
        })(writer, args, context),
    }),
    updateKey: t.field({
      type: ApiKeyType,
      description: 'Updates a key that this key has made.',
      args: { ...ID, ...inputOf(KeyPatchInput, 'The changes.') },
      extensions: MANAGED,
      resolve: (writer, args, context, info) =>
        write(async (transaction) => {
          const changes = await narrowed(args.input as KeyPatch, ownerOf(transaction, context, info));
          const { id, plan } = context.principal;
          const check = unchanged('ApiKey', context);
          const key = await apiKeyWritesOf(transaction).updateChild(id, args.id, changes, check);
          return shownKey({ ...key, plan });
        })(writer, args, context),
    }),
    deleteKey: t.id({
      description: 'Revokes a key that this key has made, for good, and returns its id.',
      args: ID,
      extensions: MANAGED,
      resolve: write(async (transaction, { id }, context) => {
        const { principal, now } = context;
        await apiKeyWritesOf(transaction).revokeChild(principal.id, id, now(), unchanged('ApiKey', context));
        return id;
      }),
    }),
    rotateKey: t.field({
      type: ApiKeyType,
      description:
        'Gives a key another secret: one that this key has made, or without `id` this key itself. The old one works too for `grace` seconds; of all, at most the latest ten. The result has the new one.',
      args: {
        id: t.arg.id({ description: 'The id of the key; by default this one.', extensions: OPAQUE }),
        ...graceArgument(builder),
      },
      extensions: { scope: scopesOfRotation },
      resolve: write(async (transaction, { id, grace }, { principal, now }) => {
        const { key, secret } = generateKey();
        const until = now() + (grace ?? GRACE.default) * 1_000;
        const rotated: ApiKey = await apiKeyWritesOf(transaction).rotateKey(
          principal.id,
          id ?? principal.id,
          secret,
          until,
        );
        return shownKey({ ...rotated, plan: principal.plan }, key);
      }),
    }),
  }));
}
