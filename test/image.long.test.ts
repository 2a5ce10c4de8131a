import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { freePort } from './kit/mongo.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const text = (name: string) => readFileSync(join(root, name), 'utf8');
const home = mkdtempSync(join(tmpdir(), 'petstore-image-'));
afterAll(() => rmSync(home, { recursive: true }));

/** Links the packages that `npm ci` installs, and those that `npm prune --omit=dev` leaves. */
function linkPackages(): void {
  const { packages } = JSON.parse(text('package-lock.json')) as { packages: Record<string, { dev?: true }> };
  for (const [path, { dev }] of Object.entries(packages))
    if (/^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && existsSync(join(root, path)))
      for (const folder of dev ? ['all'] : ['all', 'production']) {
        const link = path.replace('node_modules', join(home, folder));
        mkdirSync(dirname(link), { recursive: true });
        symlinkSync(join(root, path), link);
      }
}

/** What stands for the commands of a Dockerfile that need a registry, a user or the root of the file system. */
const STAND_INS = `set -e
npm() {
  case "$*" in
    'ci --ignore-scripts') cp -R "$HOME/all" node_modules; mkdir dist; cp -R "$BUILT"/{pages,pages.sha256,guides.json} dist ;;
    'prune --omit=dev --ignore-scripts') rm -r node_modules; cp -R "$HOME/production" node_modules ;;
    *) command npm "$@" ;;
  esac
}
chown() { [ "$*" = 'node:node data' ]; }
ln() { mkdir -p "$(dirname "$STAGE$3")"; command ln "$1" "$STAGE$2" "$STAGE$3"; }
`;

const dockerfile = text('Dockerfile').replaceAll('\\\n', '');
const argumentsOf = (instruction: string): string[] =>
  JSON.parse(new RegExp(`^${instruction} .*(\\[.*\\])$`, 'm').exec(dockerfile)![1]!);

/** Runs the steps of a stage in a folder that stands for its root. */
const build = (steps: string, stage: string) => {
  const script = steps
    .replaceAll(/^(ENV|VOLUME|USER|EXPOSE|HEALTHCHECK|CMD|FROM) .*/gm, '')
    .replaceAll(/^WORKDIR (.*)/gm, 'mkdir -p "$STAGE$1"; cd "$STAGE$1"')
    .replaceAll(/^COPY --from=build /gm, 'cp -R "$HOME/build"')
    .replaceAll(
      /^COPY (.*) /gm,
      (_, names: string) => `cp -R ${names.replaceAll(/\S+/g, '"$HOME/context/$&"')} `,
    )
    .replaceAll(/^RUN /gm, '');
  const env = { PATH: process.env.PATH, HOME: home, STAGE: join(home, stage), BUILT: join(root, 'dist') };
  return run('bash', ['-c', STAND_INS + script], { env });
};

it('the image serves, is healthy, and has the command petstore as the manual says', async () => {
  linkPackages();
  for (const [, name] of text('.dockerignore').matchAll(/^!(.*)/gm))
    cpSync(join(root, name!), join(home, 'context', name!), { recursive: true });
  const [first, last] = dockerfile.split(/^(?=FROM )/m);
  await build(first!, 'build');
  await build(last!, 'image');

  const [, settings] = /^ENV (.*)/m.exec(dockerfile)!;
  const options = {
    cwd: join(home, 'image/app'),
    env: {
      ...Object.fromEntries(settings!.split(' ').map((setting) => setting.split('='))),
      DRAIN_DELAY: '0',
      PORT: String(await freePort()),
      // Not the path of npx, which has the command too.
      PATH: [join(home, 'image/usr/local/bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
    },
  };
  const [program, ...args] = argumentsOf('CMD');
  const server = spawn(program!, args, { ...options, stdio: 'ignore' });
  const exited = once(server, 'exit');
  try {
    const [check, ...its] = argumentsOf('HEALTHCHECK');
    const isHealthy = () => run(check!, its, options).then(Boolean, () => false);
    await expect.poll(isHealthy, { timeout: 30_000 }).toBe(true);
    const manual = text('README.md') + text('docs/operating.md');
    const [create] = manual.matchAll(/^docker (?:compose )?exec gateway (petstore keys create .*)$/gm);
    writeFileSync(join(options.cwd, 'pets.csv'), 'name,category.name\nDino,Dinosaurs\n');
    writeFileSync(join(options.cwd, 'documents.json'), '{"1": "{ pets { nodes { name } } }"}');
    const commands = `${create![1]}
petstore data load pets pets.csv --create-parents
petstore documents push app documents.json
petstore keys list`;
    const { stdout } = await run('bash', ['-ec', commands], options);
    expect(stdout).toMatch(/petstore_\w+[\s\S]*Loaded 1 pet and 1 category\.[\s\S]*app: 1 added[\s\S]*first/);
    const headers = { 'X-API-Key': /petstore_\w+/.exec(stdout)![0] };
    const pets = await fetch(`http://127.0.0.1:${options.env.PORT}/pets?sort=-id&limit=1`, { headers });
    expect(await pets.json()).toMatchObject([{ name: 'Dino' }]);
  } finally {
    server.kill('SIGTERM');
  }
  expect(await exited).toEqual([0, null]);
}, 120_000);
