import { describe, expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import {
  expectAnswer,
  expectRefusal,
  type Kit,
  makeWorld,
  onAnyEngine,
  send,
  sqlite,
  useGateway,
} from '../../kit/petstore.ts';

const LARGEST = '9223372036854775807';
type Listed = { id?: number; petId?: number };

/** The target of `Link: <…>; rel="next"`; undefined without a Link. */
function nextOf(link: string | string[] | undefined): string | undefined {
  if (link === undefined) return undefined;
  const match = /^<([^>]+)>; rel="next"$/.exec(String(link));
  expect(match, String(link)).not.toBeNull();
  return match![1];
}

/** Follows the links through all pages. Every page but the last must be full. */
async function walk({ gateway }: Kit, path: string, limit: number) {
  const pages: Listed[][] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const response = await send(gateway, next);
    expectAnswer(response, 200);
    pages.push(response.json);
    next = nextOf(response.headers.link);
    if (next !== undefined) expect(response.json, response.about).toHaveLength(limit);
    expect(pages.length, response.about).toBeLessThan(50);
  }
  return pages;
}

onAnyEngine('REST lists', (kit) => {
  it('takes no cursor of another list, though it has the same order', async () => {
    await makeWorld(kit);
    const first = await send(kit.gateway, '/categories?sort=name&limit=1');
    const after = new URL(nextOf(first.headers.link)!, 'http://a').searchParams.get('after');
    const answer = await send(kit.gateway, `/pets?sort=name&after=${after}`);
    expectRefusal(answer, 'VALIDATION_FAILED');
    expect(answer.json.message).toContain('after: must come from a page of this list with the same sort');
  });

  it('returns 20 records or the given limit per page, and each record once through the links', async () => {
    const { store } = kit.gateway;
    const { id: category } = await store.table(Category).insert({ name: 'Many' });
    const statuses = ['available', 'pending', 'sold'] as const;
    const pets = [];
    for (let i = 0; i < 45; i++) {
      pets.push(
        await store.table(Pet).insert({ name: `P${i}`, categoryId: category, status: statuses[i % 3]! }),
      );
    }
    const { id: petId } = pets[0]!;
    for (let i = 0; i < 25; i++) await store.table(Order).insert({ petId, complete: i % 5 === 0 });
    const from = `after=${BigInt(petId) - 1n}`;
    // With the category of the pets 101, one more than the largest page.
    await Promise.all(Array.from({ length: 100 }, (_, i) => store.table(Category).insert({ name: `C${i}` })));
    const fromCategory = `after=${BigInt(category) - 1n}`;
    const rows: [path: string, limit: number, sizes: number[]][] = [
      [`/pets?categoryId=${category}`, 20, [20, 20, 5]],
      [`/pets?categoryId=${category}&after=0`, 20, [20, 20, 5]],
      [`/pets?categoryId=${category}&limit=100`, 100, [45]],
      [`/pets?categoryId=${category}&limit=15`, 15, [15, 15, 15]],
      [`/pets?status=sold&categoryId=${category}&limit=10`, 10, [10, 5]],
      [`/pets?status=sold&status=pending&categoryId=${category}`, 20, [20, 10]],
      [`/pets?status=sold&status=sold&categoryId=${category}`, 20, [15]],
      [`/categories?${fromCategory}`, 20, [20, 20, 20, 20, 20, 1]],
      [`/categories?${fromCategory}&limit=100`, 100, [100, 1]],
      [`/categories/${category}/pets`, 20, [20, 20, 5]],
      [`/categories/${category}/pets?status=available&limit=14`, 14, [14, 1]],
      [`/store/orders?petId=${petId}`, 20, [20, 5]],
      [`/store/orders?petId=${petId}&complete=true`, 20, [5]],
      [`/store/orders?complete=false&petId=${petId}&limit=8`, 8, [8, 8, 4]],
      [`/store/inventory?${from}`, 20, [20, 20, 5]],
      [`/store/inventory?status=pending&${from}&limit=9`, 9, [9, 6]],
    ];
    for (const [path, limit, sizes] of rows) {
      const pages = await walk(kit, path, limit);
      expect(
        pages.map(({ length }) => length),
        path,
      ).toEqual(sizes);
      const ids = pages.flat().map((item) => item.id ?? item.petId!);
      expect(ids, path).toEqual([...new Set(ids)].sort((a, b) => a - b));
    }
  });
});

describe('query parameters of lists', () => {
  const kit = useGateway(sqlite);
  const ID = `must be an integer from 1 to ${LARGEST}`;
  const LIMIT = 'limit: must be an integer from 1 to 100.';
  const AFTER = `after: must be an integer from 0 to ${LARGEST}.`;
  const STATUS = 'status: must be one of available, pending, sold.';
  it.each([
    ['/pets?limit=0', LIMIT],
    ['/pets?limit=101', LIMIT],
    ['/pets?limit=-1', LIMIT],
    ['/pets?limit=1.0', LIMIT],
    ['/pets?limit=1e1', LIMIT],
    ['/pets?limit=01', LIMIT],
    ['/pets?limit=%2B1', LIMIT],
    ['/pets?limit=+1', LIMIT],
    ['/pets?limit=', LIMIT],
    ['/pets?limit', LIMIT],
    ['/pets?limit=9223372036854775808', LIMIT],
    ['/pets?after=-1', AFTER],
    ['/pets?after=00', AFTER],
    ['/pets?after=9223372036854775808', AFTER],
    ['/pets?after=abc', AFTER],
    // A combining mark, of which folding leaves nothing.
    ['/pets?name=%CC%81', 'name: must have more than accents and other marks.'],
    ['/pets?status=gone', STATUS],
    ['/pets?status=Sold', STATUS],
    ['/pets?status=sold&status=', STATUS],
    ['/pets?categoryId=0', `categoryId: ${ID}.`],
    ['/store/orders?petId=01', `petId: ${ID}.`],
    ['/store/orders?complete=1', 'complete: must be true or false.'],
    ['/store/orders?complete=TRUE', 'complete: must be true or false.'],
    ['/pets?limit=1&limit=1', 'limit: must not be repeated.'],
    ['/pets?after=1&after=2', 'after: must not be repeated.'],
    ['/store/orders?complete=true&complete=true', 'complete: must not be repeated.'],
    [
      '/pets?Limit=1',
      'Limit: is not a known query parameter (known: status, categoryId, name, sort, limit, after).',
    ],
    ['/pets?=1', ': is not a known query parameter (known: status, categoryId, name, sort, limit, after).'],
    ['/categories?status=sold', 'status: is not a known query parameter (known: name, sort, limit, after).'],
    [
      '/store/inventory?categoryId=1',
      'categoryId: is not a known query parameter (known: status, quantityMin, quantityMax, sort, limit, after).',
    ],
    ['/store/orders/1?x=1', 'x: is not a known query parameter (there are none).'],
    ['DELETE /store/orders/1?force=1', 'force: is not a known query parameter (there are none).'],
    [
      '/categories/0/pets?limit=0&x=1',
      `categoryId: ${ID}; limit: must be an integer from 1 to 100; x: is not a known query parameter (known: status, name, sort, limit, after).`,
    ],
    [
      '/pets?status=x&categoryId=x&limit=x&after=x&a=1&b=1',
      `status: must be one of available, pending, sold; categoryId: ${ID}; limit: must be an integer from 1 to 100; after: must be an integer from 0 to ${LARGEST}; a: is not a known query parameter (known: status, categoryId, name, sort, limit, after); b: is not a known query parameter.`,
    ],
  ])('responds 400 VALIDATION_FAILED to %s', async (path, message) => {
    expectRefusal(await send(kit.gateway, path), 'VALIDATION_FAILED', message);
  });

  it.each(['/pets?status=%zz', '/pets?%ff=1', '/pets?status=%C3%28'])(
    'responds 400 BAD_REQUEST to the invalid encoding in %s',
    async (path) => {
      expectRefusal(await send(kit.gateway, path), 'BAD_REQUEST');
    },
  );

  it.each([
    ['/pets?', '/pets'],
    ['/pets?&', '/pets'],
    ['/pets?lim%69t=1', '/pets?limit=1'],
    ['/pets?status=s%6Fld', '/pets?status=sold'],
  ])('responds to %s with the same body as to %s', async (path, same) => {
    await makeWorld(kit);
    const expected = await send(kit.gateway, same);
    expect(expected.json, expected.about).not.toEqual([]);
    expectAnswer(await send(kit.gateway, path), 200, expected.text);
  });
});
