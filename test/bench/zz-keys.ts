import { mkdtempSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { load } from '/work/wt/keys/test/bench/load.ts';
import { seed } from '/work/wt/keys/test/bench/seed.ts';
import { cpuMilliseconds, median, startServer } from '/work/wt/keys/test/bench/server.ts';
import { WORKLOADS } from '/work/wt/keys/test/bench/workloads.ts';
const home = mkdtempSync('/tmp/keys-bench-');
const key = await seed(join(home, 'a.db'), 2000);
cpSync(join(home, 'a.db'), join(home, 'b.db'));
const servers = {
  with: await startServer(['/work/wt/keys/dist/main.js'], 4391, { DATA_FILE: join(home, 'a.db'), LOG_LEVEL: 'silent' }),
  without: await startServer(['/tmp/keys-bench-b/dist/main.js'], 4392, { DATA_FILE: join(home, 'b.db'), LOG_LEVEL: 'silent' }),
};
for (const name of ['R1', 'G1']) {
  const w = WORKLOADS.find((x) => x.name === name)!;
  const us: Record<string, number[]> = { with: [], without: [] };
  for (let round = 0; round < 9; round++) {
    for (const which of round % 2 ? (['with', 'without'] as const) : (['without', 'with'] as const)) {
      const server = servers[which];
      const before = cpuMilliseconds(server.child);
      const { responses } = await load(server.url, w, key, { connections: 32, amount: 12000, maxSeconds: 6 });
      if (round > 0) us[which]!.push(((cpuMilliseconds(server.child) - before) * 1000) / responses);
    }
  }
  console.log(name, Object.fromEntries(Object.entries(us).map(([k, v]) => [k, [median(v).toFixed(1), Math.min(...v).toFixed(1)]])));
}
for (const s of Object.values(servers)) await s.stop();
process.exit(0);
