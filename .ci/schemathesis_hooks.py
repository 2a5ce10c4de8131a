"""Gives generated requests what no description in OpenAPI 3.0 can say. It leaves out no request and no failure."""

import functools
import itertools
import json
import os
import re
import urllib.request
import uuid

import schemathesis

KEY = os.environ["KEY"]
numbers = itertools.count(1)
# The secret of the key that rotates itself, and whether the request under way sends it.
rotated = {"key": os.environ["ROTATED_KEY"], "is_sent": False}
# The positions that responses have named, with the list and its order that they belong to.
positions = set()


@schemathesis.hook
def before_call(context, case, kwargs):
    # Requests without a valid key are limited by address, so each one gets an address of its own.
    number = next(numbers)
    case.headers["X-Forwarded-For"] = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    use_rotated_key(case, kwargs)
    if case.meta and case.meta.generation.mode.is_positive:
        make_valid(case)


@schemathesis.hook
def after_call(context, case, response):
    for link in response.headers.get("link", []):
        positions.update(position(case, after) for after in re.findall(r"[?&]after=([^&>]+)", link))
    if rotated["is_sent"] and response.status_code == 200:
        rotated["key"] = json.loads(response.content)["key"]


def use_rotated_key(case, kwargs):
    """A second rotation ends the first secret, so the key of the run may not rotate itself, by either operation."""
    rotated["is_sent"] = case.operation.label == "POST /key/rotate" or (
        case.operation.label == "POST /keys/{keyId}/rotate" and case.path_parameters.get("keyId") == own_id()
    )
    if rotated["is_sent"]:
        # Headers of the command line precede those of the case, but not this.
        kwargs["auth"] = send_rotated_key


def send_rotated_key(request):
    request.headers["X-API-Key"] = rotated["key"]
    return request


@functools.cache
def own_id():
    """The id of the key of the run, which responses name."""
    request = urllib.request.Request(f"http://127.0.0.1:{os.environ['PORT']}/key", headers={"X-API-Key": KEY})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["id"]


def make_valid(case):
    """Keeps the rules over more than one value, and replaces what must exist, be in the future or be reachable."""
    query, body = case.query, case.body
    if "Idempotency-Key" in case.headers:
        # One key with two payloads is refused, and the example is the same for all.
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    if "from" in query:
        # Today by default, which may be before.
        query.setdefault("to", query["from"])
    for low, high in [("quantityMin", "quantityMax"), ("shipDateMin", "shipDateMax"), ("from", "to")]:
        if low in query and high in query:
            query[low], query[high] = sorted((query[low], query[high]))
    # Lists that are filtered by a name or a range are in its order, and those that wait for events in theirs.
    if not query.keys().isdisjoint([*ORDERING, "wait"]):
        query.pop("sort", None)
    if "after" in query and position(case, query["after"]) not in positions:
        del query["after"]
    if isinstance(body, dict):
        own_id_name = "petId" if case.path.startswith("/store/inventory/") else "id"
        if own_id_name in body and case.path_parameters:
            (body[own_id_name],) = case.path_parameters.values()
        for name, value in VALID.items():
            if name in body and body[name] is not None:
                body[name] = value


# Filters that a list is ordered by.
ORDERING = ["name", "quantityMin", "quantityMax", "shipDateMin", "shipDateMax"]


def position(case, after):
    return case.operation.label, *(str(case.query.get(name)) for name in ["sort", *ORDERING]), after


VALID = {
    "after": "now",
    "allow": ["203.0.113.0/24"],
    "documents": None,
    "expiresAt": "2127-01-31T00:00:00Z",
    "scopes": ["pets:read"],
    "url": "https://receiver.invalid/petstore",
}
