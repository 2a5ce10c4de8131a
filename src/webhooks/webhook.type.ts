import { randomUUID } from 'node:crypto';
import { PLANS } from '../access/plans.ts';
import { GRACE, graceArgument } from '../domains/rotation.ts';
import type { EventTypes } from '../events/event-types.ts';
import { AppError, notFound, validationFailed } from '../foundation/errors.ts';
import type { MaybePromise } from '../foundation/turns.ts';
import type { Builder } from '../schema/builder.ts';
import type { Context } from '../schema/context.ts';
import { declaredType } from '../schema/declared-type.ts';
import { inputsOf, opaqueArguments } from '../schema/record-types.ts';
import { unchanged, write } from '../schema/write.ts';
import { NOW } from '../store/events.ts';
import {
  MAX_ATTEMPTS,
  type Webhook,
  type WebhookAttempt,
  type WebhookFailure,
  webhooksOf,
  webhookWritesOf,
} from './stored-webhooks.ts';
import {
  createdWebhook,
  declarationsOf,
  MAX_WEBHOOKS,
  type NewWebhook,
  newSigningSecret,
  webhookPatch,
  webhookRotation,
  shownWebhook,
  WebhookAttemptDeclaration,
  WebhookFailureDeclaration,
  type WebhookPatch,
} from './webhook.ts';

/**
 * Checks an input against the deployment and the log.
 *
 * @returns the input with a position in place of {@link NOW}
 * @throws VALIDATION_FAILED, GONE
 */
async function checked<T extends Pick<WebhookPatch, 'url' | 'after'>>(
  input: T,
  { webhooks, store }: Context,
): Promise<T> {
  const { url, after } = input;
  const refusal = url === undefined ? undefined : webhooks!.refusal(url);
  if (refusal !== undefined) throw validationFailed([{ path: 'url', message: refusal }]);
  if (after === undefined) return input;
  const { next } = await store.eventPage({ after, limit: 1 });
  return after === NOW ? { ...input, after: next } : input;
}

/** The key's webhook with this id; null if it doesn't exist. */
async function find(id: string, { store, principal }: Context): Promise<Webhook | null> {
  const webhook = await webhooksOf(store).byId(id);
  return webhook?.apiKeyId === principal.id ? webhook : null;
}

/** The check of a write against If-Match. */
const unchangedWebhook = (context: Context) => {
  const check = unchanged('Webhook', context);
  return check && ((webhook: Webhook) => check(shownWebhook(webhook)));
};

/** The time after which a call that sends a test has ended, or its instance has died, in milliseconds. */
const TEST_TIME = 20_000;
const NOT_SENT = Symbol();

/**
 * The outcome of an earlier call with the same Idempotency-Key.
 *
 * @returns null if the instance of that call has died; the same event is then sent again
 * @throws CONFLICT while that call is still running
 */
async function sentBefore(
  { time }: { time: number },
  writeOnce: (work: () => Promise<WebhookAttempt>) => MaybePromise<WebhookAttempt>,
  { now }: Context,
): Promise<WebhookAttempt | null> {
  try {
    return await writeOnce(() => Promise.reject(NOT_SENT));
  } catch (error) {
    if (error !== NOT_SENT) throw error;
    if (now() > time + TEST_TIME) return null;
    throw new AppError('CONFLICT', 'The test is still being sent.', { retryAfter: 1 });
  }
}

/** Adds webhooks. @param types the event types */
export function addWebhooks(builder: Builder, types: EventTypes): void {
  const { WebhookDeclaration, inputs } = declarationsOf(types);
  const AttemptType = declaredType<WebhookAttempt>(builder, WebhookAttemptDeclaration);
  const FailureType = declaredType<WebhookFailure>(builder, WebhookFailureDeclaration);

  const WebhookType = declaredType<ReturnType<typeof shownWebhook>>(builder, WebhookDeclaration, (t) => ({
    failing: t.expose('failing', {
      type: FailureType,
      nullable: true,
      description: 'The event that cannot be delivered at the moment.',
    }),
    attempts: t.field({
      type: [AttemptType],
      description: `The last ${MAX_ATTEMPTS} attempts, newest first.`,
      extensions: { maxItems: MAX_ATTEMPTS },
      resolve: ({ attempts }) => [...attempts],
    }),
  }));

  const { created: NewWebhookInput, changes: WebhookPatchInput } = inputsOf(builder, inputs);

  const { ID, inputOf } = opaqueArguments(builder, 'webhook');

  builder.queryFields((t) => ({
    webhook: t.field({
      type: WebhookType,
      nullable: true,
      description: 'Looks up a webhook of this key by id; null if there is none.',
      args: ID,
      resolve: (_root, { id }, context) =>
        find(id, context).then((webhook) => webhook && shownWebhook(webhook)),
    }),
    webhooks: t.field({
      type: [WebhookType],
      description: 'All webhooks of this key, oldest first.',
      extensions: { maxItems: MAX_WEBHOOKS },
      resolve: async (_root, _args, { loaders, store, principal }) => {
        const webhooks = await loaders.list(() => webhooksOf(store).ofKey(principal.id));
        return webhooks.map((webhook) => shownWebhook(webhook));
      },
    }),
  }));

  builder.mutationFields((t) => ({
    createWebhook: t.field({
      type: WebhookType,
      description:
        'Creates a webhook, which sends every event from now on to a URL (Standard Webhooks 1.0.0). The result has its secret.',
      args: inputOf(NewWebhookInput, 'The webhook.'),
      resolve: async (writer, args, context) => {
        const { principal, now } = context;
        const input = await checked(args.input as NewWebhook, context);
        return write(async (transaction) => {
          const webhook = createdWebhook(input, principal, now());
          await webhookWritesOf(transaction).create(webhook, PLANS[principal.plan].webhooks);
          return shownWebhook(webhook, webhook.settings.secrets[0]);
        })(writer, args, context);
      },
    }),
    updateWebhook: t.field({
      type: WebhookType,
      description: 'Updates a webhook. Ends a running wait.',
      args: { ...ID, ...inputOf(WebhookPatchInput, 'The changes.') },
      resolve: async (writer, args, context) => {
        const input = await checked(args.input as WebhookPatch, context);
        return write(async (transaction) => {
          const patched = await webhookWritesOf(transaction).change(
            context.principal.id,
            args.id,
            (webhook) => {
              unchangedWebhook(context)?.(webhook);
              return webhookPatch(input)(webhook);
            },
          );
          return shownWebhook(patched);
        })(writer, args, context);
      },
    }),
    deleteWebhook: t.id({
      description: 'Deletes a webhook and returns its id.',
      args: ID,
      resolve: write((transaction, { id }, context) =>
        webhookWritesOf(transaction).delete(context.principal.id, id, unchangedWebhook(context)),
      ),
    }),
    rotateWebhookSecret: t.field({
      type: WebhookType,
      description:
        'Replaces the secret of a webhook. The old one signs too for `grace` seconds. The result has the new one.',
      args: {
        ...ID,
        ...graceArgument(builder),
      },
      resolve: write(async (transaction, { id, grace }, { principal, now }) => {
        const secret = newSigningSecret();
        const rotated = webhookRotation(secret, grace ?? GRACE.default, now());
        return shownWebhook(await webhookWritesOf(transaction).change(principal.id, id, rotated), secret);
      }),
    }),
    testWebhook: t.field({
      type: AttemptType,
      description:
        'Sends a `webhook.test` now, even while disabled. Must be the only field of its operation.',
      // A sent test can't be rolled back.
      extensions: { alone: true },
      args: ID,
      resolve: async (writer, args, context) => {
        const webhook = await find(args.id, context);
        const writeOnce = <T>(work: () => Promise<T>) => write(work, 'single')(writer, args, context);
        const required = (): Webhook => {
          if (!webhook) throw notFound('webhook', args.id);
          return webhook;
        };
        const id = `test_${randomUUID()}`;
        const test = await writeOnce(async () => {
          required();
          return { id, time: context.now() };
        });
        const sent = test.id === id ? null : await sentBefore(test, writeOnce, context);
        if (sent) return sent;
        const attempt = await context.webhooks!.test(required(), test);
        return context.idempotency ? writeOnce(async () => attempt) : attempt;
      },
    }),
  }));
}
