"""Prints the changes of categories as they happen, and continues after the last one when the connection breaks."""

import json
import sys
import time

import httpx
from httpx_sse import connect_sse

url, key = sys.argv[1:]
headers = {"X-API-Key": key}
parameters = {"type": ["category.created", "category.updated"]}
with httpx.Client(base_url=url, timeout=httpx.Timeout(10, read=30)) as client:
    while True:
        wait = 3
        try:
            with connect_sse(client, "GET", "/events/stream", params=parameters, headers=headers) as source:
                response = source.response
                # Without this, an answer that is no stream looks like a broken connection.
                if response.status_code in (429, 502, 503, 504):
                    wait = int(response.headers.get("Retry-After", wait))
                elif response.status_code != 200:
                    sys.exit(f"{response.status_code} {response.read().decode()}")
                else:
                    print("connected", flush=True)
                    for event in source.iter_sse():
                        wait = (event.retry or 3000) / 1000
                        if event.event == "error":
                            print(json.loads(event.data)["message"], file=sys.stderr, flush=True)
                            break
                        print(event.event, json.loads(event.data)["data"]["name"], flush=True)
                        headers["Last-Event-ID"] = event.id
        except httpx.TransportError:
            pass
        time.sleep(wait)
