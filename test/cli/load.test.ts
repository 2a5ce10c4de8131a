import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { type LoadOptions, load } from '../../src/cli/load.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import type { Store } from '../../src/store/store.ts';
import { newFile, temporaryFolder } from '../kit/folder.ts';
import { startCommand } from '../kit/process.ts';
import { engines, enginesAtLength, type OpenedStore } from '../kit/stores.ts';

const home = temporaryFolder();
const fault = (error: Error) => error.message;

/** Opens an empty store for each test of this `describe`. */
function useStore(engine: (typeof engines)[number]) {
  const kit = {} as { store: Store };
  let opened: OpenedStore;
  beforeEach(async () => {
    opened = await engine.open();
    kit.store = opened.store;
  });
  afterEach(() => opened.close());
  const loadFrom = (kind: string, content: string | Buffer, options: Partial<LoadOptions> = {}) =>
    load(kit.store, {
      record: api.records.find(({ plural }) => plural === kind)!,
      file: newFile(home, content),
      onProgress: () => {},
      ...options,
    });
  const pets = async () =>
    (await kit.store.table(Pet).page({}, { limit: 100 })).items.map(
      ({ name, categoryId, status, quantity }) => `${name} ${categoryId} ${status} ${quantity}`,
    );
  const eventTypes = async () => (await kit.store.eventPage({ limit: 100 })).events.map(({ type }) => type);
  return { kit, loadFrom, pets, eventTypes };
}

// Files are read above the store.
describe.each(enginesAtLength)('the forms of a file, loaded to $name', (engine) => {
  const { kit, loadFrom, pets, eventTypes } = useStore(engine);

  it.each([
    [
      'commas',
      '\ufeffname,category.name,status,quantity\r\n"Rex, the ""dog""",Dogs,,3\r\n\r\nMimi,Dogs,sold,\r\n',
    ],
    ['semicolons', 'name;category.name;status;quantity\n"Rex, the ""dog""";Dogs;;3\nMimi;Dogs;sold;0'],
    ['tabs', 'name\tcategoryId\tstatus\tquantity\n"Rex, the ""dog"""\t1\t\t3\nMimi\t1\tsold\t'],
    [
      'JSON lines',
      '{"name":"Rex, the \\"dog\\"","categoryId":1,"quantity":3}\n{"name":"Mimi","category.name":"Dogs","status":"sold"}\n',
    ],
  ])('reads %s, with the defaults of any write and an event each', async (_form, content) => {
    await kit.store.table(Category).insert({ name: 'dogs' });
    const { id } = await kit.store.table(Category).insert({ name: 'Dogs' });
    await kit.store.table(Category).insert({ name: 'Dogs and others' });
    await loadFrom(
      'pets',
      content.replaceAll('\t1\t', `\t${id}\t`).replace('"categoryId":1', `"categoryId":${id}`),
    );
    expect(await pets()).toEqual([`Rex, the "dog" ${id} available 3`, `Mimi ${id} sold 0`]);
    expect(await eventTypes()).toEqual([
      ...Array(3).fill('category.created'),
      ...Array(2).fill('pet.created'),
    ]);
  });

  it('says once what is wrong with a header, and shows the first 50 faults', async () => {
    const rows = Array.from({ length: 70 }, (_, n) => `Pet ${n},a\n`).join('');
    const columns = 'known: name, categoryId, status, quantity, category.name';
    const hint = '--map COLUMN=FIELD names the field of a column, --ignore-unknown ignores such columns.';
    expect(await loadFrom('pets', `Category Name,colour,name\nDogs,red,Tom\n${rows}`).catch(fault)).toBe(
      `Nothing was loaded: the header is wrong.
Category Name: is not a known column (${columns}); did you mean category.name?
colour: is not a known column
${hint}`,
    );
    expect(await loadFrom('pets', 'name,name\nRex,Rex').catch(fault)).toMatch(/\nname: is there twice$/);
    const map = new Map([['Category Name', 'category.name']]);
    await loadFrom('pets', 'Category Name,colour,name\nDogs,red,Tom\n', {
      map,
      ignoreUnknown: true,
      createParents: true,
    });
    expect(await pets()).toEqual(['Tom 1 available 0']);
    expect(await loadFrom('pets', 'name\nTom', { map }).catch(fault)).toContain(
      'there is no column Category Name',
    );
    const message = await loadFrom('pets', `name,categoryId\n${rows}`).catch(fault);
    expect(message).toMatch(/^Nothing was loaded: 70 faults\.\n(line .*\n){50}… and 20 more$/);
    const unknown = await loadFrom('pets', '{"name":"","categoryId":1,"colour":"red"}').catch(fault);
    expect(unknown).toContain('line 1: colour: is not a known field (known: name, categoryId, ');
    expect(unknown).toContain('line 1: name: ');
    expect(await loadFrom('orders', '{"pet.name":"Rex"}').catch(fault)).toContain(
      'line 1: pet.name: there is no pet called Rex',
    );
  });

  const programs = readdirSync(join(import.meta.dirname, '../fixtures/load'));
  it.each(programs)('reads %s as a program has written it', async (name) => {
    const file = join(import.meta.dirname, '../fixtures/load', name);
    const { lines } = await load(kit.store, { record: Pet, file, createParents: true, onProgress: () => {} });
    expect(lines).toEqual(['Loaded 3 pets and 2 categories.']);
    expect(await pets()).toEqual(['Rex, the "dog" 1 available 3', 'Mimi 2 sold 0', 'José 1 pending 12']);
  });

  it('tells the line of a fault, whatever ends lines, and where a quote opens that is not closed', async () => {
    const { id } = await kit.store.table(Category).insert({ name: 'Dogs' });
    const faults = async (...lines: string[]) =>
      String(await loadFrom('pets', lines.join('')).catch(fault))
        .split('\n')
        .slice(1);
    const of = (line: number) => `line ${line}: categoryId: must be an integer from 1 to 9223372036854775807`;
    const name = 'name: must not contain control characters';
    expect(
      await faults(
        'name,categoryId\n',
        '"two\r\nlines",x\r\n',
        '\r\n',
        ',\r\n',
        'Tom,x\r\n',
        `Rex,${id}\r\n`,
      ),
    ).toEqual([`line 3: ${name}`, of(3), of(6)]);
    expect(await faults('name,categoryId\r', '"two\rlines",x\r', 'Tom,x')).toEqual([
      `line 3: ${name}`,
      of(3),
      of(4),
    ]);
    const rest = 'what follows was not read';
    expect(
      await faults('name,categoryId\r\n', 'Tom,x\r\n', `"Rex,${id}\r\n`, '"Mimi",1\r\n', 'Kiwi,x\r\n'),
    ).toEqual([of(2), `line 4: text follows a closing quote; the quote opens on line 3; ${rest}`]);
    const open = [`line 3: the quote that opens on line 3 is not closed; ${rest}`];
    expect(await faults('name,categoryId\n', `Rex,${id}\n`, `"Tom,${id}\n`, `Luna,${id}\n`)).toEqual(open);
    expect(
      await faults('name,categoryId\n', `Rex,${id}\n`, `"Tom,${id}\n`, `Luna,${id}\n`.repeat(400_000)),
    ).toEqual(open);
    expect(await faults('name,categoryId\n', `5" pipe,${id}\n`)).toEqual([
      `line 2: a value has a quote inside: write it as "…""…"; ${rest}`,
    ]);
    const array = `[{"name":"Rex","categoryId":${id}},\n{"name":"Mimi",\n"categoryId":"x"}, {"name":1,"categoryId":2}`;
    expect(await faults(array)).toEqual([
      'line 2: item 2: categoryId: must be an integer from 1 to 9223372036854775807',
      'line 3: what opens here is not closed: the file ends before',
      'line 3: item 3: name: must be a string',
    ]);
    expect(await faults('name,categoryId,\n', `Rex,${id},\n`, `Tom,${id},red\n`)).toEqual([
      'line 3: has 3 values, but the header has 2 columns',
    ]);
  });

  it('refuses what is not UTF-8, and files that are not there', async () => {
    expect(
      await loadFrom('pets', Buffer.from('name,categoryId\nM\xfcsli,1\n', 'latin1')).catch(fault),
    ).toMatch(/is not in UTF-8\. Save it as "CSV UTF-8"\.$/);
    const options = { record: Pet, file: join(home, 'none') };
    expect(await load(kit.store, { ...options, onProgress: () => {} }).catch(fault)).toMatch(
      /none cannot be read: there is no such file$/,
    );
  });
});

describe.each(engines)('loading a file to $name', (engine) => {
  const { kit, loadFrom, pets, eventTypes } = useStore(engine);

  it('names all faults with their line and field, and writes nothing', async () => {
    await kit.store.table(Category).insert({ name: 'Cats' });
    await kit.store.table(Category).insert({ name: 'Cats' });
    const content = [
      'name,category.name,categoryId,status,quantity',
      ',,1,gold,-1',
      '"two\nlines",,1,,',
      'Rex,Dogs,,,',
      'Mimi,Cats,,,',
      'Tom,Cats,1,,',
      'Luna,,99,,',
      'Kiwi,,1',
      'Good,,1,sold,2',
      'Gold,,1,gold,-1',
    ].join('\n');
    const message = await loadFrom('pets', content).catch(fault);
    expect(message).toBe(`Nothing was loaded: 12 faults.
line 2: name: is required
line 2: status: must be one of available, pending, sold
line 2: quantity: must be an integer from 0 to 2147483647
line 4: name: must not contain control characters
line 5: category.name: there is no category called Dogs; --create-parents makes it
line 6: category.name: several categories are called Cats; use ids
line 7: category.name: is given beside categoryId
line 7: category.name: several categories are called Cats; use ids
line 8: categoryId: there is no category 99
line 9: has 3 values, but the header has 5 columns
line 11: status: must be one of available, pending, sold
line 11: quantity: must be an integer from 0 to 2147483647`);
    expect(await pets()).toEqual([]);
  });

  it('creates missing parents once, and nothing on a dry run', async () => {
    const content = 'name,category.name\n'.concat(
      ...Array.from({ length: 30 }, (_, n) => `Pet ${n},${n % 2 ? 'A' : 'B'}\n`),
    );
    const create = { createParents: true };
    const dry = await loadFrom('pets', content, { ...create, dryRun: true });
    expect(dry.lines).toEqual([
      '30 pets and 2 categories can be loaded. Nothing was written.',
      'New categories: B, A.',
    ]);
    expect(await eventTypes()).toEqual([]);
    expect((await loadFrom('pets', content, create)).lines).toEqual(['Loaded 30 pets and 2 categories.']);
    expect(await kit.store.table(Category).count({})).toBe(2);
    expect(await kit.store.table(Pet).count({ categoryId: '1' })).toBe(15);
    // Names lead to what search by prefix finds.
    const alike = 'name,category.name\nX,a\nX,B\u0301\nX,Ca\u0301t\nX,C\u00e1t\nX,cat\n';
    expect((await loadFrom('pets', alike, create)).lines).toEqual(['Loaded 5 pets and 1 category.']);
  });

  it('changes records whose ids rows have, and adds the others', async () => {
    const update = { update: true };
    await loadFrom('orders', 'id,quantity,complete\n7,1,\n8,2,true\n');
    const before = (await eventTypes()).length;
    const file = 'id,quantity,complete\n7,5,\n8,2.0,TRUE\n9,,\n';
    expect((await loadFrom('orders', file, { ...update, dryRun: true })).lines).toEqual([
      '1 order and 1 order to change can be loaded; 1 order had the same values already. Nothing was written.',
    ]);
    expect((await loadFrom('orders', file, update)).lines).toEqual([
      'Loaded 1 order, changed 1 order; 1 order had the same values already.',
    ]);
    expect((await eventTypes()).slice(before)).toEqual(['order.updated', 'order.created']);
    expect(await kit.store.table(Order).byIds(['7', '8', '9'])).toEqual([
      { id: '7', quantity: 5, complete: false },
      { id: '8', quantity: 2, complete: true },
      { id: '9', complete: false },
    ]);
    const { id } = await kit.store.table(Category).insert({ name: 'Dogs' });
    const [pet] =
      (await loadFrom('pets', `name,categoryId\nRex,${id}`)) &&
      (await kit.store.table(Pet).page({}, { limit: 1 })).items;
    const wrong = `id,name\n${pet!.id},Max\n99,Tom\n${pet!.id},Rex\n`;
    expect(await loadFrom('pets', wrong, update).catch(fault)).toBe(
      `Nothing was loaded: 2 faults.\nline 3: id: there is no pet 99\nline 4: id: ${pet!.id} is on an earlier line too`,
    );
    await loadFrom('pets', `id,name\n${pet!.id},Max\n`, update);
    expect(await pets()).toEqual([`Max ${id} available 0`]);
    await loadFrom('orders', `{"id":10,"petId":${pet!.id}}\n`);
    await loadFrom('orders', '{"id":10,"petId":null}\n', update);
    expect(await kit.store.table(Order).byIds(['10'])).toEqual([{ id: '10', complete: false }]);
  });

  it('says which line to continue from, from which exactly the rest is loaded', async () => {
    const { id } = await kit.store.table(Category).insert({ name: 'Dogs' });
    // More than three commits.
    const count = engine.name === 'sqlite' ? 1_600 : 800;
    const content = 'name,categoryId\n'.concat(
      ...Array.from({ length: count }, (_, n) => `Pet ${n},${id}\n`),
    );
    const file = newFile(home, content);
    let commits = 0;
    // The second fails, and the process ends before it can tell of the third.
    const interrupted: Store = {
      ...kit.store,
      continueLoad: async (...args) => {
        const result = ++commits === 2 ? undefined : await kit.store.continueLoad(...args);
        if (commits > 1) throw new Error('The disk is full.');
        return result as never;
      },
    };
    const options = { record: Pet, file, onProgress: () => {} };
    const stopping = new AbortController();
    stopping.abort(new Error('stopped by SIGINT'));
    expect(await load(kit.store, { ...options, signal: stopping.signal }).catch(fault)).toBe(
      'stopped by SIGINT\nNothing was loaded.',
    );
    const message = String(await load(interrupted, options).catch(fault));
    const [, loaded, line] = /^The disk is full\.\nLoaded (\S+) pets\. Continue with --from (\d+)\.$/.exec(
      message,
    )!;
    expect(await kit.store.table(Pet).count({})).toBe(Number(loaded!.replace(',', '')));
    expect(Number(line)).toBe(Number(loaded!.replace(',', '')) + 2);
    await load(interrupted, { ...options, from: Number(line) }).catch(fault);
    expect(await kit.store.table(Pet).count({})).toBeGreaterThan(Number(line) - 2);
    expect((await load(kit.store, { ...options, from: Number(line) })).lines[0]).toMatch(
      / had been loaded before/,
    );
    expect((await load(kit.store, { ...options, from: Number(line) })).lines).toContain('Loaded 0 pets.');
    expect(await kit.store.table(Pet).count({})).toBe(count);
    expect((await load(kit.store, options)).lines).toEqual([`Loaded ${count.toLocaleString('en-US')} pets.`]);
  });

  it('takes chosen ids exactly, once', async () => {
    const big = '9007199254740993';
    const order = `{"id":${big},"complete":true,"shipDate":"2026-01-31T09:30:00Z"}`;
    await loadFrom('orders', `${order}\n{}\n`);
    expect(await loadFrom('orders', `${order}\n{"id":7}\n{"id":7}\n{"id":0}\n[]\nx`).catch(fault)).toBe(
      `Nothing was loaded: 5 faults.
line 1: id: ${big} is taken; --update changes the order that has it
line 3: id: 7 is on an earlier line too
line 4: id: must be an integer from 1 to 9223372036854775807
line 5: The line must be a JSON object.
line 6: The line is not valid JSON.`,
    );
    const csv = await loadFrom('orders', 'id,complete,quantity\n8,TRUE,2\n9,yes,1.5\n').catch(fault);
    expect(csv).toContain('line 3: complete: must be true or false');
    expect(csv).toContain('line 3: quantity: must be an integer');
  });

  it('assigns no id that a later row has chosen, in whichever commit', async () => {
    const ids = Array.from({ length: 600 }, (_, n) => n + 1);
    const rows = ['{}', ...ids.map((id) => `{"id":${id}}`), '{}'];
    expect((await loadFrom('orders', rows.join('\n'))).lines).toEqual(['Loaded 602 orders.']);
    expect(await kit.store.table(Order).byIds(ids.map(String))).not.toContain(null);
  });

  it('checks rules over several fields and unique combinations before anything is written', async () => {
    const { id } = await kit.store.table(Category).insert({ name: 'Dogs' });
    await kit.store.table(Pet).insert({ name: 'Rex', categoryId: id });
    const strict = {
      ...Pet,
      rules: ({ status, quantity }: { status: string; quantity: number }) =>
        status === 'sold' && quantity > 0 ? [{ path: 'quantity', message: 'must be 0 of a sold pet' }] : [],
      unique: [['categoryId', 'status']],
    } as unknown as typeof Pet;
    const rows =
      'name,category.name,status,quantity\nTom,Dogs,sold,1\nRex,Dogs,,\nKim,Dogs,pending,\nKim,Dogs,pending,1\nKim,Cats,,\n';
    for (const dryRun of [true, false])
      expect(await loadFrom('pets', rows, { record: strict, createParents: true, dryRun }).catch(fault))
        .toBe(`Nothing was loaded: 3 faults.
line 2: quantity: must be 0 of a sold pet
line 3: There is already a pet with this categoryId and status.
line 5: There is already a pet with this categoryId and status.`);
    expect(await pets()).toEqual([`Rex ${id} available 0`]);
  });
});

/** The blocks of code in a section of docs/tasks.md. */
function recipe(title: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../docs/tasks.md'), 'utf8');
  const section = text.split(/^## /m).find((section) => section.startsWith(`${title}\n`))!;
  return [...section.matchAll(/```\w*\n([\s\S]*?)```/g)].map(([, code]) => code!);
}

it('does what docs/tasks.md says, with its file', async () => {
  const [commands, pets] = recipe('Bring your data in') as [string, string];
  const [file, settings] = [newFile(home, pets), { DATA_FILE: join(home, 'recipe.db') }];
  const outputs: string[] = [];
  for (const line of commands.trim().split('\n')) {
    const [npx, petstore, name, ...args] = line.split(' ');
    expect([npx, petstore]).toEqual(['npx', 'petstore']);
    const done = await startCommand(name!, settings, ...args.map((arg) => (arg === 'pets.csv' ? file : arg)));
    expect(done, done.stderr).toMatchObject({ code: 0 });
    outputs.push(done.stdout);
  }
  expect(outputs).toEqual([
    '2 pets and 2 categories can be loaded. Nothing was written.\nNew categories: Dogs, Cats.\n',
    'Loaded 2 pets and 2 categories.\n',
  ]);
});
