import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { NotInstalled } from './tools.mjs';

/** The shortest configuration of each proxy that compresses JSON, and how it is started. */
const PROXIES = {
  nginx: (to, port, home) => [
    `daemon off; pid ${home}/pid; error_log ${home}/error.log; events {}
http {
  access_log off; client_body_temp_path ${home}/b; proxy_temp_path ${home}/p; fastcgi_temp_path ${home}/f;
  uwsgi_temp_path ${home}/u; scgi_temp_path ${home}/s;
  gzip on; gzip_proxied any; gzip_min_length 1; gzip_types application/json;
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${to}; } }
}
`,
    (file) => ['nginx', '-c', file, '-p', home],
  ],
  HAProxy: (to, port) => [
    `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend f
  bind 127.0.0.1:${port}
  compression algo gzip
  compression type application/json
  default_backend b
backend b
  server s 127.0.0.1:${to}
`,
    (file) => ['haproxy', '-f', file],
  ],
  Caddy: (to, port) => [
    `{
  admin off
}
http://127.0.0.1:${port} {
  encode {
    gzip
    minimum_length 1
    match {
      header Content-Type application/json*
    }
  }
  reverse_proxy 127.0.0.1:${to}
}
`,
    (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  ],
  Apache: (to, port, home) => [
    `ServerRoot ${home}
PidFile ${home}/pid
ErrorLog ${home}/error.log
ServerName localhost
Listen 127.0.0.1:${port}
${['mpm_event', 'authz_core', 'filter', 'deflate', 'proxy', 'proxy_http'].map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
AddOutputFilterByType DEFLATE application/json
ProxyPass / http://127.0.0.1:${to}/ flushpackets=on
`,
    (file) => ['apache2', '-X', '-f', file],
  ],
  Varnish: (to, port, home) => [
    `vcl 4.1;
backend default { .host = "127.0.0.1"; .port = "${to}"; }
sub vcl_backend_response {
  set beresp.do_gzip = beresp.http.Content-Type ~ "^application/json";
}
`,
    (file) => [
      'varnishd',
      '-j',
      'none',
      '-F',
      '-f',
      file,
      '-a',
      `127.0.0.1:${port}`,
      '-n',
      home,
      '-s',
      'malloc,16m',
    ],
  ],
};

/** What differs behind a proxy: tags, conditional writes, events as they happen over both interfaces. */
async function check(url, key) {
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const send = (path, method, more, body) =>
    fetch(url + path, {
      method,
      headers: { ...headers, ...more },
      body,
      signal: AbortSignal.timeout(10_000),
    });
  const read = await send('/pets?limit=20', 'GET');
  await read.text();
  const etag = read.headers.get('ETag');
  const again = await send('/pets?limit=20', 'GET', { 'If-None-Match': etag });
  if (again.status !== 304) throw new Error(`If-None-Match: ${etag} is ${again.status}`);
  const pet = await send('/pets/1', 'GET');
  await pet.text();
  const written = await send(
    '/pets/1',
    'PATCH',
    { 'If-Match': pet.headers.get('ETag') },
    '{"status":"sold"}',
  );
  if (written.status !== 200) throw new Error(`If-Match: ${pet.headers.get('ETag')} is ${written.status}`);
  for (const [path, method, body] of [
    ['/events/stream', 'GET'],
    ['/graphql', 'POST', '{"query":"subscription { events { id } }"}'],
  ]) {
    const stream = await send(path, method, { Accept: 'text/event-stream' }, body);
    const texts = stream.body.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    await send('/categories', 'POST', {}, `{"name":"Behind a proxy"}`);
    let text = '';
    while (!text.includes('data:')) text += (await texts.next()).value ?? ' data: (ended)';
    if (text.includes('(ended)')) throw new Error(`${path} ended`);
    await texts.return();
  }
  return `tag ${etag.replace(/[\w-]{30,}(?=["-])/, '…').replace(/[\w-]{43}/, '…')}, 304, If-Match, events over REST and GraphQL at once`;
}

/** Each proxy, with a function that tries it and returns what held. */
export const proxies = (gateway, key, home) =>
  Object.entries(PROXIES).map(([name, of], n) => [
    name,
    () => attempt(name, of, gateway, 18_201 + n, key, home),
  ]);

async function attempt(name, of, gateway, port, key, home) {
  const folder = join(home, name);
  mkdirSync(folder, { recursive: true });
  const [configuration, command] = of(new URL(gateway).port, port, folder);
  const file = join(folder, 'configuration');
  writeFileSync(file, configuration);
  const [program, ...args] = command(file);
  const child = spawn(program, args, { stdio: 'ignore', env: { ...process.env, HOME: folder } });
  let failure;
  child.on('error', ({ code }) => (failure = code));
  const url = `http://127.0.0.1:${port}`;
  const isLive = () =>
    fetch(`${url}/health/live`).then(
      ({ ok }) => ok,
      () => false,
    );
  try {
    for (let n = 0; n < 50 && !failure && !(await isLive()); n++) await sleep(200);
    if (failure) throw new NotInstalled(failure);
    return await check(url, key);
  } finally {
    child.kill();
  }
}
