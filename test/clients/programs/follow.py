"""Prints the changes of categories as they happen, and continues after the last one when the connection breaks."""

import json
import sys
import time

import httpx
from httpx_sse import connect_sse

url, key = sys.argv[1:]
headers = {"X-API-Key": key}
with httpx.Client(base_url=url, timeout=httpx.Timeout(10, read=30)) as client:
    while True:
        try:
            parameters = {"type": ["category.created", "category.updated"]}
            with connect_sse(client, "GET", "/events/stream", params=parameters, headers=headers) as source:
                print("connected", flush=True)
                for event in source.iter_sse():
                    if event.event == "error":
                        raise RuntimeError(event.data)
                    print(event.event, json.loads(event.data)["data"]["name"], flush=True)
                    headers["Last-Event-ID"] = event.id
        except httpx.TransportError:
            time.sleep(3)
