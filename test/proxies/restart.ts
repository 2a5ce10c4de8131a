/**
 * Restarts two instances one after the other behind each proxy of docs/proxies.md that is installed, with the lines that stand
 * there, under 200 requests a second: `npm run proxies`. Fails if a request was lost.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PORTS = [4001, 4002];
const DRAIN_DELAY = 3;
const RATE = 200;

const folder = mkdtempSync(join(tmpdir(), 'petstore-proxies-'));
const guide = readFileSync(join(ROOT, 'docs/proxies.md'), 'utf8');
const linesFor = (language: string) => guide.split(`\`\`\`${language}\n`)[1]!.split('```')[0]!;

/** How each proxy is started with a file of its lines. */
const PROXIES: Record<string, (file: string) => [command: string, args: string[], text: string]> = {
  nginx: (file) => [
    'nginx',
    ['-c', file, '-g', `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;`],
    `events {}\nhttp {\naccess_log off;\n${linesFor('nginx')}}\n`,
  ],
  caddy: (file) => ['caddy', ['run', '--config', file, '--adapter', 'caddyfile'], linesFor('caddy')],
  haproxy: (file) => ['haproxy', ['-f', file], linesFor('haproxy')],
};

const start = async (n: number): Promise<ChildProcess> => {
  const child = spawn(process.execPath, ['dist/main.js'], {
    cwd: ROOT,
    env: {
      ...process.env,
      PORT: String(PORTS[n]),
      DATA_FILE: join(folder, `${n}.db`),
      DRAIN_DELAY: String(DRAIN_DELAY),
      LOG_LEVEL: 'silent',
      TRUST_PROXY: '1',
    },
    stdio: 'ignore',
  });
  while (!(await isReady(`http://127.0.0.1:${PORTS[n]}`))) await sleep(100);
  return child;
};

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/health/ready`).then(
    ({ ok }) => ok,
    () => false,
  );

const agent = new Agent({ keepAlive: true });
const ask = (path: string): Promise<number | string> =>
  new Promise((resolve) => {
    const sent = request(`http://127.0.0.1:8080${path}`, { agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode!));
    });
    sent.on('error', ({ message }) => resolve(message)).end();
  });

const isInstalled = (command: string): boolean => {
  try {
    execFileSync('which', [command]);
    return true;
  } catch {
    return false;
  }
};

async function rehearse(name: string): Promise<void> {
  if (!isInstalled(name)) return console.log(`${name}: not installed`);
  const file = join(folder, `${name}.conf`);
  const [command, args, text] = PROXIES[name]!(file);
  writeFileSync(file, text);
  const instances = [await start(0), await start(1)];
  const proxy = spawn(command, args, { stdio: 'ignore' });
  while (!(await isReady('http://127.0.0.1:8080'))) await sleep(100);
  const answers: Promise<number | string>[] = [];
  const load = setInterval(() => answers.push(ask('/schema.graphql')), 1_000 / RATE);
  for (const n of PORTS.keys()) {
    await sleep(2_000);
    instances[n]!.kill('SIGTERM');
    await new Promise((resolve) => instances[n]!.once('exit', resolve));
    instances[n] = await start(n);
  }
  await sleep(2_000);
  clearInterval(load);
  const lost = (await Promise.all(answers)).filter((answer) => answer !== 200);
  console.log(
    `${name}: ${answers.length} requests, ${lost.length} lost${lost.length > 0 ? `: ${lost[0]}` : ''}`,
  );
  if (lost.length > 0) process.exitCode = 1;
  for (const child of [...instances, proxy]) {
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('exit', resolve));
  }
}

const chosen = process.argv.slice(2);
for (const name of chosen.length > 0 ? chosen : Object.keys(PROXIES)) await rehearse(name);
rmSync(folder, { recursive: true });
agent.destroy();
process.exit();
