import { expect, it } from 'vitest';
import { unavailable } from '../../src/foundation/errors.ts';
import { hostsOf, watchDatabase } from '../../src/store/open.ts';

it.each([
  ['mongodb://db.example.org:27017/pets', 'db.example.org:27017'],
  [
    'mongodb://user:pa%40ss@a.example.org,b.example.org:27018/pets?replicaSet=rs',
    'a.example.org,b.example.org:27018',
  ],
  ['mongodb+srv://user:p@ss@cluster.example.org/pets', 'cluster.example.org'],
])('names the hosts of %s without credentials', (uri, hosts) => {
  expect(hostsOf(uri)).toBe(hosts);
});

it('logs repeatedly while the database is unreachable, and when it is back', async () => {
  const lines: [message: string, fields: unknown][] = [];
  const note = (fields: unknown, message?: string) => void lines.push([message!, fields]);
  let isAway = true;
  const store = {
    ping: async () => {
      if (isAway) throw unavailable(new Error('connect ECONNREFUSED'));
    },
  };
  watchDatabase(store, 'mongodb://user:secret@db/pets', { warn: note, info: note } as never, 5);
  await expect.poll(() => lines.length).toBeGreaterThan(1);
  isAway = false;
  await expect.poll(() => lines.at(-1)).toEqual(['the database is back', { host: 'db' }]);
  const away = lines.slice(0, -1);
  for (const line of away)
    expect(line).toEqual([
      'the database of MONGODB_URI is unreachable',
      { host: 'db', reason: 'connect ECONNREFUSED' },
    ]);
});
