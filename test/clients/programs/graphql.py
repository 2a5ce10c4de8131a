"""Prints the names of all pets, read page by page."""

import sys
import time

import httpx

QUERY = """
query Pets($after: String) {
  pets(first: 100, after: $after) { nodes { name } pageInfo { hasNextPage endCursor } }
}
"""


def query(client: httpx.Client, text: str, **variables):
    while True:
        answer = client.post("/graphql", json={"query": text, "variables": variables})
        if answer.status_code not in (429, 503):
            break
        time.sleep(int(answer.headers["Retry-After"]))
    result = answer.json()
    if "errors" in result:
        raise RuntimeError(result["errors"][0]["message"])
    return result["data"]


url, key = sys.argv[1:]
with httpx.Client(base_url=url, headers={"X-API-Key": key}) as client:
    after, more = None, True
    while more:
        pets = query(client, QUERY, after=after)["pets"]
        for pet in pets["nodes"]:
            print(pet["name"])
        after, more = pets["pageInfo"]["endCursor"], pets["pageInfo"]["hasNextPage"]
