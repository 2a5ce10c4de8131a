#!/usr/bin/env bash
# nginx weakens a strong ETag when it compresses (gzip on), so that a write that sends it back in If-Match fails: by RFC 9110
# If-Match compares strongly, and W/"a" matches nothing. Uncompressed, the tag passes unchanged.
# Needs nginx (Debian: apt-get install nginx).
set -euo pipefail
at=http://127.0.0.1:18182/
home=$(mktemp -d)
trap 'kill $origin $proxy 2>/dev/null || true; rm -rf "$home"' EXIT
cat >"$home/origin.py" <<'P'
from http.server import BaseHTTPRequestHandler, HTTPServer
class Origin(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"text": "' + b"a" * 2000 + b'"}'
        self.send_response(200)
        for name, value in {"Content-Type": "application/json", "ETag": '"a"', "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
HTTPServer(("127.0.0.1", 18181), Origin).serve_forever()
P
cat >"$home/nginx.conf" <<C
daemon off; pid $home/pid; error_log $home/error.log;
events {}
http {
  access_log off; client_body_temp_path $home/b; proxy_temp_path $home/p; fastcgi_temp_path $home/f; uwsgi_temp_path $home/u; scgi_temp_path $home/s;
  gzip on; gzip_proxied any; gzip_types application/json;
  server { listen 127.0.0.1:18182; location / { proxy_pass http://127.0.0.1:18181; } }
}
C
python3 "$home/origin.py" & origin=$!
nginx -c "$home/nginx.conf" -p "$home" & proxy=$!
for _ in $(seq 50); do curl -fso /dev/null "$at" && break; sleep 0.2; done
tag() { curl -sD - -o /dev/null "$@" "$at" | tr -d '\r' | sed -n 's/^ETag: //Ip'; }
nginx -v
plain=$(tag) compressed=$(tag -H 'Accept-Encoding: gzip')
echo "origin \"a\"; uncompressed $plain; compressed $compressed"
[ "$plain" = '"a"' ] && [ "$compressed" = 'W/"a"' ]
