import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import {
  buildSchema,
  type DocumentNode,
  getNamedType,
  Kind,
  parse,
  print,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { beforeAll, expect, it } from 'vitest';
import { cases } from '../kit/cases.ts';
import { dataOf, expectQueryRefusal, fill, makeWorld, onEachEngine, query, send } from '../kit/petstore.ts';

/**
 * Random documents and the same documents without what their key may not use, which a scope table of its own
 * and the published schema say: the key may run the first only if nothing had to be removed, is told what
 * it lacks, and gets for the second what a key that may do everything gets.
 */

const SCHEMA = buildSchema(readFileSync(new URL('../../schema/schema.graphql', import.meta.url), 'utf8'));

/** The domain of what has a type, but for connections and edges: that of their nodes. */
const DOMAINS: Record<string, string> = {
  Pet: 'pets',
  Category: 'categories',
  Order: 'orders',
  InventoryItem: 'inventory',
  Event: 'events',
  Webhook: 'webhooks',
  WebhookAttempt: 'webhooks',
};
/** The domain of root fields that return an id. */
const DELETIONS: Record<string, string> = {
  deletePet: 'pets',
  deleteCategory: 'categories',
  deleteOrder: 'orders',
  deleteWebhook: 'webhooks',
};

/** The domain of the records of events. */
const EVENTS: Record<string, string> = {
  pet: 'pets',
  category: 'categories',
  order: 'orders',
  inventory: 'inventory',
};

const domainOf = (type: string): string | undefined => DOMAINS[type.replace(/(Connection|Edge)$/, '')];

/** The scopes that a document needs, and itself without what needs others than those that are held. */
function withoutForbidden(document: DocumentNode, isHeld: (scope: string) => boolean) {
  const needed = new Set<string>();
  const info = new TypeInfo(SCHEMA);
  const decide = (scope: string | undefined) => {
    if (scope === undefined) return undefined;
    needed.add(scope);
    return isHeld(scope) ? undefined : null;
  };
  const readScopeOf = (type: string) => domainOf(type) && `${domainOf(type)}:read`;
  const condition = (type: string) => decide(readScopeOf(type));
  const kept = visit(
    document,
    visitWithTypeInfo(info, {
      Field({ name }) {
        const returned = getNamedType(info.getType())?.name ?? '';
        const isWrite = info.getParentType() === SCHEMA.getMutationType();
        const domain = isWrite ? (DELETIONS[name.value] ?? domainOf(returned)) : domainOf(returned);
        return decide(domain && `${domain}:${isWrite ? 'write' : 'read'}`);
      },
      InlineFragment: ({ typeCondition }) => typeCondition && condition(typeCondition.name.value),
      FragmentDefinition: ({ typeCondition }) => condition(typeCondition.name.value),
    }),
  );
  // What is removed needs scopes below it too.
  if (print(kept) !== print(document)) {
    for (const scope of withoutForbidden(document, () => true).needed) needed.add(scope);
  }
  return { needed, document: withoutUnusedFragments(kept) };
}

/** A document without spreads of fragments that it does not have, nor fragments that nothing spreads. */
function withoutUnusedFragments(document: DocumentNode): DocumentNode {
  const names = new Set(
    document.definitions.flatMap((one) => (one.kind === Kind.FRAGMENT_DEFINITION ? [one.name.value] : [])),
  );
  const spread = new Set<string>();
  const known = visit(document, {
    FragmentSpread({ name }) {
      if (!names.has(name.value)) return null;
      spread.add(name.value);
      return undefined;
    },
  });
  const used = {
    ...known,
    definitions: known.definitions.filter(
      (one) => one.kind !== Kind.FRAGMENT_DEFINITION || spread.has(one.name.value),
    ),
  };
  return used.definitions.length === document.definitions.length ? used : withoutUnusedFragments(used);
}

/** Whether a key with these scopes has one, perhaps by another that includes it. */
const isIncluded = (held: readonly string[], scope: string): boolean =>
  held.includes(scope) ||
  (scope.endsWith(':read') && (held.includes('*:read') || held.includes(scope.replace(/read$/, 'write'))));

// Fields by type, with arguments; each that has a type below it is selected from.
const PAGE = '(first: 2)';
const FIELDS: Record<string, (string | [field: string, type: string])[]> = {
  Query: [
    ['pet(id: $P)', 'Pet'],
    [`pets${PAGE}`, 'PetConnection'],
    ['category(id: $C)', 'Category'],
    [`categories${PAGE}`, 'CategoryConnection'],
    ['order(id: $O)', 'Order'],
    [`orders${PAGE}`, 'OrderConnection'],
    ['inventoryItem(petId: $P)', 'InventoryItem'],
    [`inventory${PAGE}`, 'InventoryItemConnection'],
    ['events(first: 20)', 'EventConnection'],
    ['node(nodeId: $N)', 'Node'],
    ['nodes(nodeIds: $M)', 'Node'],
    ['webhook(id: $P)', 'Webhook'],
    ['rateLimit', 'RateLimit'],
    ['apiKey', 'ApiKey'],
  ],
  Mutation: [
    ['createPet(input: {name: "x", categoryId: $C})', 'Pet'],
    ['updateCategory(id: $C, input: {})', 'Category'],
    ['updateOrder(id: $O, input: {})', 'Order'],
    ['updateInventory(petId: $P, input: {quantity: 1})', 'InventoryItem'],
    ['rotateWebhookSecret(id: $P)', 'Webhook'],
    ...Object.keys(DELETIONS).map((name) => `${name}(id: $P)`),
  ],
  Pet: [
    ...['id', 'name', 'status'],
    ['category', 'Category'],
    ['inventory', 'InventoryItem'],
    [`orders${PAGE}`, 'OrderConnection'],
  ],
  Category: ['id', 'name', [`pets${PAGE}`, 'PetConnection']],
  Order: ['id', 'complete', 'petId', ['pet', 'Pet']],
  InventoryItem: ['id', 'quantity', 'status', ['pet', 'Pet']],
  Event: [
    ...['id', 'time', 'data'],
    ['pet', 'Pet'],
    ['category', 'Category'],
    ['order', 'Order'],
    ['inventoryItem', 'InventoryItem'],
  ],
  EventConnection: [
    ['nodes', 'Event'],
    ['edges', 'EventEdge'],
  ],
  EventEdge: ['cursor', ['node', 'Event']],
  Node: ['nodeId'],
  Webhook: ['id', ['attempts', 'WebhookAttempt']],
  WebhookAttempt: ['eventId'],
  RateLimit: ['plan'],
  ApiKey: ['plan'],
  ...Object.fromEntries(
    ['Pet', 'Category', 'Order', 'InventoryItem'].flatMap((node) => [
      [`${node}Connection`, ['totalCount', ['nodes', node], ['edges', `${node}Edge`]]],
      [`${node}Edge`, ['cursor', ['node', node]]],
    ]),
  ),
};
const RECORDS = ['Pet', 'Category', 'Order', 'InventoryItem'];
const DIRECTIVES = ['', '', '', ' @skip(if: true)', ' @include(if: $yes)', ' @include(if: $no)'];

/** A selection set that begins with `__typename`, so that it stays valid whatever is removed from it. */
const memo = new Map<string, fc.Arbitrary<string>>();
function selection(type: string, depth: number): fc.Arbitrary<string> {
  const known = memo.get(`${type} ${depth}`);
  if (known) return known;
  const leaves = ['__typename'];
  const options: fc.Arbitrary<string>[] = [];
  for (const field of FIELDS[type]!) {
    if (typeof field === 'string') leaves.push(`~: ${field}`);
    else if (depth > 0)
      options.push(selection(field[1], depth - 1).map((below) => `~: ${field[0]}%${below}`));
  }
  if (depth > 0) {
    const conditions = RECORDS.includes(type) ? [type, 'Node'] : type === 'Node' ? ['Node', ...RECORDS] : [];
    for (const condition of conditions) {
      const below = selection(condition, depth - 1);
      options.push(below.map((text) => `... on ${condition}%${text}`));
      options.push(below.map((text) => `...< on ${condition} ${text}>`));
    }
    options.push(selection(type, depth - 1).map((below) => `...%${below}`));
  }
  const least =
    { Event: '__typename type', EventEdge: '__typename node { __typename type }' }[type] ?? '__typename';
  const made = fc
    .array(
      fc.tuple(
        fc.oneof(fc.constantFrom(...leaves), ...options.map((arbitrary) => ({ arbitrary, weight: 2 }))),
        fc.constantFrom(...DIRECTIVES),
      ),
      { minLength: depth > 1 ? 1 : 0, maxLength: depth > 2 ? 3 : 2 },
    )
    .map(
      (parts) =>
        `{ ${least} ${parts.map(([text, directive]) => text.replace('%', () => directive)).join(' ')} }`,
    );
  memo.set(`${type} ${depth}`, made);
  return made;
}

/** Gives each field an alias of its own, and makes `<…>` fragments with names, each spread twice. */
function completed(kind: string, text: string): string {
  let count = 0;
  const fragments: string[] = [];
  let body = text.replaceAll('~', () => `x${count++}`);
  for (let inner = /<( on [^<>]*)>/.exec(body); inner; inner = /<( on [^<>]*)>/.exec(body)) {
    const name = `F${fragments.length}`;
    fragments.push(`fragment ${name}${inner[1]}`);
    body = body.replace(inner[0], `${name} ...${name}`);
  }
  // Variables have to be used, whatever is removed.
  const used = '__typename @include(if: $yes) @skip(if: $no)';
  const head = `${kind} ($yes: Boolean = true, $no: Boolean = false) `;
  return [head + body.replace('{', `{ ${used}`), ...fragments].join(' ');
}

const document = fc
  .oneof({ arbitrary: fc.constant('query'), weight: 4 }, { arbitrary: fc.constant('mutation'), weight: 1 })
  .chain((kind) =>
    selection(kind === 'query' ? 'Query' : 'Mutation', 4).map(
      (text) => [kind, completed(kind, text)] as const,
    ),
  );
const scopes = fc
  .record({
    all: fc.constantFrom(true, false, false, false),
    domains: fc.tuple(
      ...[...new Set(Object.values(DOMAINS))].map((domain) =>
        fc.constantFrom([], [`${domain}:read`], domain === 'events' ? [] : [`${domain}:write`]),
      ),
    ),
  })
  .map(({ all, domains }) => [...(all ? ['*:read'] : []), ...domains.flat()]);

/** What a key sees of a result: no records from `node` and `nodes`, and no events, that it may not read. */
function visible(value: unknown, isHeld: (scope: string) => boolean): unknown {
  const mayRead = (domain: string | undefined) => domain === undefined || isHeld(`${domain}:read`);
  if (Array.isArray(value)) {
    return value
      .filter((each) => mayRead(EVENTS[(each?.node ?? each)?.type?.split('_')[0]]))
      .map((each) => visible(each, isHeld));
  }
  if (typeof value !== 'object' || value === null) return value;
  if ('__typename' in value && !mayRead(domainOf(String(value.__typename)))) return null;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, visible(each, isHeld)]));
}

/** Whether a result is another one with fewer fields. */
const isPart = (part: unknown, whole: unknown): boolean =>
  typeof part === 'object' && part !== null && typeof whole === 'object' && whole !== null
    ? Array.isArray(part)
      ? Array.isArray(whole) &&
        part.length === whole.length &&
        part.every((each, i) => isPart(each, whole[i]))
      : Object.entries(part).every(([name, each]) => isPart(each, (whole as Record<string, unknown>)[name]))
    : part === whole;

onEachEngine('a document without what its key may not use', (kit, { name: engine }) => {
  let ids: Record<string, string>;
  beforeAll(async () => {
    const world = await makeWorld(kit);
    const nodeId = (type: string, id: string) =>
      JSON.stringify(Buffer.from(`${type}:${id}`).toString('base64url'));
    const nodes = [
      nodeId('Pet', world.P),
      nodeId('Category', world.C),
      nodeId('Order', world.O),
      nodeId('InventoryItem', world.P),
    ];
    ids = { ...world, N: nodes[1]!, M: `[${nodes}]` };
  });

  it('agrees with the whole document', async () => {
    const { gateway, clock } = kit;
    const seen = { whole: 0, reduced: 0, mutations: 0 };
    await fc.assert(
      fc.asyncProperty(document, scopes, async ([kind, template], held) => {
        clock.advance(1_000);
        const text = fill(template, ids);
        const isHeld = (scope: string) => isIncluded(held, scope);
        const { needed, document: reduced } = withoutForbidden(parse(text), isHeld);
        const missing = [...needed].filter(
          (scope) =>
            !isHeld(scope) && !(scope.endsWith(':read') && needed.has(scope.replace(/read$/, 'write'))),
        );
        const key = await gateway.restrictedKey({ scopes: held });
        const cost = (query: string, with_ = key) =>
          send(gateway, 'POST /graphql/cost', { key: with_, body: { query } });
        const priced = await cost(text);
        if (missing.length > 0) {
          expectQueryRefusal(priced, 'FORBIDDEN');
          const named = /^The API key lacks the scopes? (.*)\.$/.exec(priced.json.errors[0].message)?.[1];
          expect(named?.split(', ').sort(), priced.about).toEqual(missing.sort());
          expectQueryRefusal(await query(gateway, text, undefined, { key }), 'FORBIDDEN');
        } else expect(priced.status, priced.about).toBe(200);
        const rest = print(reduced);
        if (kind === 'mutation') {
          seen.mutations++;
          expect((await cost(rest)).json.cost, rest).toBe((await cost(rest, gateway.key)).json.cost);
          return;
        }
        seen[missing.length > 0 ? 'reduced' : 'whole']++;
        const whole = dataOf(await query(gateway, text));
        const part = dataOf(await query(gateway, rest));
        expect(isPart(part, whole), rest).toBe(true);
        const own = await query(gateway, rest, undefined, { key });
        expect(dataOf(own), own.about).toEqual(visible(part, isHeld));
      }),
      { numRuns: engine === 'sqlite' ? cases(20, 500) : cases(4, 50) },
    );
    if (engine === 'sqlite') for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
  }, 120_000);
});
