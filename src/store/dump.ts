import { z } from 'zod';
import type { Field } from '../foundation/fields.ts';
import { parseId } from '../foundation/id.ts';
import { MAX_INT64 } from '../foundation/integers.ts';
import { andThen, forEachInOrder, type MaybePromise } from '../foundation/maybe-promise.ts';
import type { AnyRecord, Fields } from '../foundation/record.ts';
import { graphqlDialect } from '../foundation/validation.ts';
import {
  type AccessStore,
  type ApiKey,
  type DocumentStore,
  PLAN_NAMES,
  type TrustedDocument,
} from './store.ts';
import type { Webhook, WebhookStore, WebhookWrites } from './webhooks.ts';

/** A row as plain JSON. An int64 is a string of digits, so that nothing is rounded. */
export type DumpRow = Readonly<Record<string, unknown>>;

/** Rows per batch, which is read, written and committed as one. */
export const BATCH_SIZE = 1_000;

/**
 * One part of what a store holds, in a form that is the same on every engine. Each part of a store that keeps
 * anything contributes one; then it is exported, checked, imported and counted like the others.
 */
export interface DumpPart {
  /** The name of its file. */
  readonly name: string;
  /** What every row must be. */
  readonly rule: z.ZodType;
  /** Whether the ids of the rows ascend, so that none can be there twice. */
  readonly ascends?: boolean;
  /** All rows in batches, in an order that does not change. */
  batches(): AsyncIterable<readonly DumpRow[]>;
  /** Adds rows. Those that an interrupted import has added already stay as they are. */
  add(rows: readonly DumpRow[]): MaybePromise<void>;
  /** Whether there are rows that an import could disagree with. */
  isEmpty(): MaybePromise<boolean>;
}

/** How far an import got. */
export interface ImportProgress {
  /** Digest of the manifest, which identifies the export. */
  manifest: string;
  /** Rows added, by part. */
  rows: Readonly<Record<string, number>>;
}

/**
 * A store opened to be exported or filled, beside the port that serves requests. Its parts are in the order in
 * which they are added: parents before children, and API keys last, so that nobody can use a store that is
 * half imported.
 */
export interface Dump {
  readonly engine: 'sqlite' | 'mongodb';
  readonly parts: readonly DumpPart[];
  /** The unfinished import, if there is one. */
  progress(): MaybePromise<ImportProgress | null>;
  /** Marks the store as half imported, before the first row. */
  begin(progress: ImportProgress): MaybePromise<void>;
  /** Adds rows and records how far the import got, atomically if the engine can. */
  add(part: DumpPart, rows: readonly DumpRow[], progress: ImportProgress): MaybePromise<void>;
  /** Makes the store usable. */
  finish(): MaybePromise<void>;
  close(): MaybePromise<void>;
}

/** Why a store with an unfinished import is not opened. */
export const unfinishedImport = (store: string): Error =>
  new Error(`${store} has an unfinished import. Run the same import again to complete it: data import DIR.`);

/** The rows of a kind of record are the records themselves. */
export function recordRule({ id, fields }: AnyRecord): z.ZodType {
  const rules = Object.entries(fields as Fields).map(([name, field]): [string, z.ZodType] => {
    const rule = (field as Field).rule(graphqlDialect);
    return [name, field.presence === 'optional' ? rule.optional() : rule];
  });
  return z.strictObject({ id: id.rule(graphqlDialect), ...Object.fromEntries(rules) });
}

const COUNTED = z
  .string()
  .refine((id) => id === '0' || parseId(id) !== null, `must be 0 or more and at most ${MAX_INT64}`);

/** The last id assigned of a kind of record, or one above it that a client has chosen. */
export function counterRule(records: readonly AnyRecord[]): z.ZodType {
  const name = z.enum(records.map(({ plural }) => plural));
  return z.union([
    z.strictObject({ records: name, last: COUNTED }),
    z.strictObject({ records: name, chosen: COUNTED }),
  ]);
}

const API_KEY_RULE = z.looseObject({
  id: z.string().min(1),
  name: z.string(),
  plan: z.enum(PLAN_NAMES),
  secrets: z.array(z.looseObject({ hash: z.string().regex(/^[0-9a-f]{64}$/), prefix: z.string() })),
});

/** The API keys of a store, on any engine. */
export const keysPart = (store: Pick<AccessStore, 'apiKeys' | 'apiKeyById' | 'createApiKey'>): DumpPart => ({
  name: 'keys',
  rule: API_KEY_RULE,
  async *batches() {
    yield (await store.apiKeys()) as unknown as readonly DumpRow[];
  },
  add: (rows) =>
    forEachInOrder(rows as unknown as readonly ApiKey[], (key) =>
      andThen(store.apiKeyById(key.id), (known) => known ?? store.createApiKey(key)),
    ),
  isEmpty: () => andThen(store.apiKeys(), ({ length }) => length === 0),
});

/** A webhook with its secrets. Its place is not moved, because the log begins anew. */
const WEBHOOK_RULE = z.strictObject({
  id: z.string().min(1),
  apiKeyId: z.string().min(1),
  createdAt: z.number(),
  version: z.number(),
  settings: z.looseObject({
    url: z.string(),
    enabled: z.boolean(),
    secrets: z.array(z.looseObject({ secret: z.string().startsWith('whsec_') })),
  }),
});

/**
 * The webhooks of a store, on any engine.
 *
 * @param beginning a place in its log
 */
export const webhooksPart = (
  store: Pick<WebhookStore, 'webhooks' | 'webhookById'>,
  { createWebhook }: Pick<WebhookWrites, 'createWebhook'>,
  beginning: () => MaybePromise<string>,
): DumpPart => ({
  name: 'webhooks',
  rule: WEBHOOK_RULE,
  async *batches() {
    yield (await store.webhooks()).map(({ progress: _, ...row }) => row);
  },
  add: (rows) =>
    forEachInOrder(rows as unknown as readonly Omit<Webhook, 'progress'>[], (row) =>
      andThen(
        store.webhookById(row.id),
        (known) =>
          known ??
          andThen(beginning(), (after) => {
            const progress = { after, moves: 0, attempted: 0, attempts: [] };
            return createWebhook({ ...row, progress }, Number.POSITIVE_INFINITY);
          }),
      ),
    ),
  isEmpty: () => andThen(store.webhooks(), ({ length }) => length === 0),
});

const DOCUMENT_RULE = z.strictObject({
  list: z.string().min(1),
  id: z.string().regex(/^[\x21-\x7e]{1,128}$/),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  text: z.string().min(1),
  addedAt: z.number(),
  lastUsedAt: z.number().optional(),
});

/** The trusted documents of a store, on any engine. */
export const documentsPart = (store: Pick<DocumentStore, 'documents' | 'addDocuments'>): DumpPart => ({
  name: 'documents',
  rule: DOCUMENT_RULE,
  async *batches() {
    yield (await store.documents()) as unknown as readonly DumpRow[];
  },
  add: (rows) => store.addDocuments(rows as unknown as readonly TrustedDocument[]),
  isEmpty: () => andThen(store.documents(), ({ length }) => length === 0),
});

const COUNT = z.number().min(0);

/** The state of a key's windows and bans. */
export const USAGE_RULE = z.strictObject({
  apiKeyId: z.string().min(1),
  minuteStart: COUNT,
  minuteUsed: COUNT,
  dayStart: COUNT,
  dayUsed: COUNT,
  refusedUntil: COUNT,
  strikes: z.array(COUNT),
  bannedUntil: COUNT,
  bans: COUNT,
});

/** What a key did on a day by one operation and transport. */
export const USAGE_HISTORY_RULE = z.strictObject({
  apiKeyId: z.string().min(1),
  date: z.iso.date(),
  operation: z.string().regex(/^\w+$/),
  transport: z.string().regex(/^\w+$/),
  requests: COUNT,
  units: COUNT,
  refused: COUNT,
});
