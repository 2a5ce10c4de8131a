#!/usr/bin/env bash
# Apache's mod_deflate appends -gzip inside the quotes of an ETag when it compresses, and takes the suffix off neither
# If-Match nor If-None-Match on the way to the origin. The origin sees a tag that it never gave.
# Needs Apache 2.4 (Debian: apt-get install apache2).
set -euo pipefail
at=http://127.0.0.1:18184/
home=$(mktemp -d)
trap 'kill $origin $proxy 2>/dev/null || true; rm -rf "$home"' EXIT
cat >"$home/origin.py" <<'P'
from http.server import BaseHTTPRequestHandler, HTTPServer
class Origin(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"text": "' + b"a" * 2000 + b'"}'
        self.send_response(200)
        seen = self.headers.get("If-None-Match", "none")
        for name, value in {"Content-Type": "application/json", "ETag": '"a"', "X-Seen": seen, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
HTTPServer(("127.0.0.1", 18183), Origin).serve_forever()
P
modules=/usr/lib/apache2/modules
cat >"$home/httpd.conf" <<C
ServerRoot $home
PidFile $home/pid
ErrorLog $home/error.log
ServerName localhost
Listen 127.0.0.1:18184
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule filter_module $modules/mod_filter.so
LoadModule deflate_module $modules/mod_deflate.so
LoadModule proxy_module $modules/mod_proxy.so
LoadModule proxy_http_module $modules/mod_proxy_http.so
AddOutputFilterByType DEFLATE application/json
ProxyPass / http://127.0.0.1:18183/
C
python3 "$home/origin.py" & origin=$!
apache2 -X -f "$home/httpd.conf" & proxy=$!
for _ in $(seq 50); do curl -fso /dev/null "$at" && break; sleep 0.2; done
field() { tr -d '\r' <"$home/head" | sed -n "s/^$1: //Ip"; }
apache2 -v | head -1
curl -sD "$home/head" -o /dev/null -H 'Accept-Encoding: gzip' "$at"
tag=$(field ETag)
curl -sD "$home/head" -o /dev/null -H 'Accept-Encoding: gzip' -H "If-None-Match: $tag" "$at"
seen=$(field X-Seen)
echo "origin \"a\"; client gets $tag; sent back, the origin sees $seen"
[ "$tag" = '"a-gzip"' ] && [ "$seen" = '"a-gzip"' ]
