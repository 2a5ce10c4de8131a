import { z } from 'zod';
import type { Field } from '../foundation/fields.ts';
import { parseId } from '../foundation/id.ts';
import { MAX_INT64 } from '../foundation/integers.ts';
import { andThen, forEachInOrder, type MaybePromise } from '../foundation/maybe-promise.ts';
import type { AnyRecord, Fields } from '../foundation/record.ts';
import { graphqlDialect } from '../foundation/validation.ts';
import { type AccessStore, PLAN_NAMES, type TrustedDocument } from './store.ts';
import type { Webhook, WebhookStore, WebhookWrites } from './webhooks.ts';

/** A row as plain JSON. An int64 is a string of digits, so that nothing is rounded. */
export type DumpRow = Readonly<Record<string, unknown>>;

/** Rows per batch, which is read, written and committed as one. */
export const BATCH_SIZE = 1_000;

/** How the rows of one part of a store are read and added. */
export interface DumpRows {
  /** All rows in batches, in an order that does not change. */
  batches(): AsyncIterable<readonly DumpRow[]>;
  /** Adds rows. Those that an interrupted import has added already stay as they are. */
  add(rows: readonly DumpRow[]): MaybePromise<void>;
}

/**
 * One part of what a store holds, in a form that is the same on every engine. Each part of a store that keeps
 * anything contributes one; then it is exported, checked, imported and counted like the others.
 */
export interface DumpPart extends DumpRows {
  /** The name of its file. */
  readonly name: string;
  /** What every row must be. */
  readonly rule: z.ZodType;
  /** Whether the ids of the rows ascend, so that none can be there twice. */
  readonly ascends?: boolean;
  /** Whether its rows go together with those that are there; else an import needs a store without any. */
  readonly isMerged?: boolean;
}

/** How far an import got. */
export interface ImportProgress {
  /** Digest of the manifest, which identifies the export. */
  manifest: string;
  /** Rows added, by part. */
  rows: Record<string, number>;
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
function recordRule({ id, fields }: AnyRecord): z.ZodType {
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
function counterRule(records: readonly AnyRecord[]): z.ZodType {
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

const DOCUMENT_RULE = z.strictObject({
  list: z.string().min(1),
  id: z.string().regex(/^[\x21-\x7e]{1,128}$/),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  text: z.string().min(1),
  addedAt: z.number(),
  lastUsedAt: z.number().optional(),
});

const COUNT = z.number().min(0);

/** The state of a key's windows and bans. */
const USAGE_RULE = z.strictObject({
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
const USAGE_HISTORY_RULE = z.strictObject({
  apiKeyId: z.string().min(1),
  date: z.iso.date(),
  operation: z.string().regex(/^\w+$/),
  transport: z.string().regex(/^\w+$/),
  requests: COUNT,
  units: COUNT,
  refused: COUNT,
});

/** The rows that each engine reads and adds in its own way. */
interface OwnRows {
  /** The ids that may never be assigned again. */
  counters: DumpRows;
  rowsOf(record: AnyRecord): DumpRows;
  usage: DumpRows;
  usageHistory: DumpRows;
}

type DumpStore = Pick<AccessStore, 'apiKeys' | 'apiKeyById' | 'createApiKey' | 'documents' | 'addDocuments'> &
  Pick<WebhookStore & WebhookWrites, 'webhooks' | 'webhookById' | 'createWebhook'>;

/**
 * The parts of a store, in the order in which they are added.
 *
 * @param beginning a place in its log, where webhooks begin
 */
export const partsOf = (
  records: readonly AnyRecord[],
  { counters, rowsOf, usage, usageHistory }: OwnRows,
  store: DumpStore,
  beginning: () => MaybePromise<string>,
): readonly DumpPart[] => [
  { name: 'counters', rule: counterRule(records), isMerged: true, ...counters },
  ...records.map((record) => ({
    ...{ name: record.plural, rule: recordRule(record), ascends: true },
    ...rowsOf(record),
  })),
  { name: 'usage', rule: USAGE_RULE, ...usage },
  { name: 'usageHistory', rule: USAGE_HISTORY_RULE, ...usageHistory },
  {
    ...{ name: 'documents', rule: DOCUMENT_RULE, batches: inOne(() => store.documents()) },
    add: (rows) => store.addDocuments(rows as unknown as readonly TrustedDocument[]),
  },
  {
    name: 'webhooks',
    rule: WEBHOOK_RULE,
    batches: inOne(() =>
      andThen(store.webhooks(), (all) => all.map(({ progress: _, ...webhook }) => webhook)),
    ),
    add: (rows) =>
      addNew<Webhook>(rows, store.webhookById, (webhook) =>
        andThen(beginning(), (after) => {
          const progress = { after, moves: 0, attempted: 0, attempts: [] };
          return store.createWebhook({ ...webhook, progress }, Number.POSITIVE_INFINITY);
        }),
      ),
  },
  {
    ...{ name: 'keys', rule: API_KEY_RULE, batches: inOne(() => store.apiKeys()) },
    add: (rows) => addNew(rows, store.apiKeyById, store.createApiKey),
  },
];

const inOne = (read: () => MaybePromise<readonly object[]>): DumpRows['batches'] =>
  async function* () {
    yield (await read()) as readonly DumpRow[];
  };

/** Adds rows one after the other, except those that are there already. */
const addNew = <T extends { id: string }>(
  rows: readonly DumpRow[],
  byId: (id: string) => MaybePromise<T | null>,
  add: (row: T) => MaybePromise<unknown>,
): MaybePromise<void> =>
  forEachInOrder(rows as unknown as readonly T[], (row) =>
    andThen(byId(row.id), (known) => known ?? add(row)),
  );
