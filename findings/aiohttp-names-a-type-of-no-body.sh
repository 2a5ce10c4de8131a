#!/usr/bin/env bash
# aiohttp sends `Content-Type: application/octet-stream` with a POST, PUT or PATCH that has no body; requests, httpx and urllib3
# send none. A server that looks at the type before it looks for a body refuses it with 415 where it takes the same call from the
# others. `skip_auto_headers=['Content-Type']` leaves it out.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cd "$home"
python3 -m venv . >/dev/null
bin/pip -q install aiohttp==3.14.5 requests==2.32.5 httpx==0.28.1 urllib3==2.8.0
cat >try.py <<'PYTHON'
import asyncio, http.server, threading, aiohttp, httpx, requests, urllib3

class Server(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = (str(self.headers['Content-Length']) + ' ' + str(self.headers['Content-Type'])).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_PUT = do_PATCH = do_DELETE = answer
    def log_message(self, *_): pass

server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f'http://127.0.0.1:{server.server_port}/'

async def asked(method, **options):
    async with aiohttp.ClientSession() as session:
        async with session.request(method, url, **options) as response:
            return await response.text()

seen = [asyncio.run(asked(method)) for method in ['POST', 'PUT', 'PATCH', 'DELETE']]
skipped = asyncio.run(asked('POST', skip_auto_headers=['Content-Type']))
others = [requests.post(url).text, httpx.post(url).text, urllib3.request('POST', url).data.decode()]
print('Content-Length and Content-Type of aiohttp 3.14.5, POST, PUT, PATCH, DELETE:', seen)
print('without automatic headers:', skipped)
print('of requests 2.32.5, httpx 0.28.1, urllib3 2.8.0, POST:', others)
assert seen == [*['0 application/octet-stream'] * 3, '0 None']
assert [skipped, *others] == ['0 None'] * 4
PYTHON
bin/python try.py
