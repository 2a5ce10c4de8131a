"""What the description can't say."""

import itertools
import json
import os
import re
import urllib.request

import schemathesis

numbers = itertools.count(1)
# Characters that JavaScript trims.
SPACE = "\t\n\v\f\r \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"


# Requests without a valid key are limited by address, so each one gets an address of its own.
@schemathesis.hook
def before_call(context, case, kwargs):
    number = next(numbers)
    case.headers["X-Forwarded-For"] = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    # A key that rotates itself may end at once, so it is not the one of the run.
    sent = kwargs.get("headers") or {}
    if case.operation.label == "POST /key/rotate" and sent.get("X-API-Key") == os.environ["KEY"]:
        kwargs["headers"] = {**sent, "X-API-Key": new_key()}


def new_key():
    """A key made by the key of the run, in the place of the one before."""
    if spare:
        call("DELETE", f"/keys/{spare.pop()}").close()
    with call("POST", "/keys", {"name": "Rotates itself"}) as answer:
        key = json.load(answer)
    spare.append(key["id"])
    return key["key"]


spare = []


def call(method, path, body=None):
    headers = {"X-API-Key": os.environ["KEY"], "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    url = f"http://127.0.0.1:{os.environ['PORT']}{path}"
    return urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method))


# Rules that OpenAPI 3.0 has no words for: over several parameters, about the path, the log, the time, the key or the network.
BEYOND_SCHEMAS = re.compile(
    r"""sort:\ must\ be\ by\ (\w+)\ when\ the\ list\ is\ filtered\ by\ \1
    | sort:\ must\ not\ be\ combined\ with\ wait
    | \w+:\ cannot\ be\ combined\ with\ .+
    | from:\ must\ not\ be\ after\ to
    | \w+Min:\ must\ be\ at\ most\ \w+Max
    | (id|petId):\ must\ equal\ .+
    | after:\ must\ (be\ the\ id\ of\ an\ event.*|be\ a\ cursor\ of\ this\ list|come\ from\ a\ page\ of\ this\ list.*|be\ an\ integer\ from\ 0\ to\ \d+)
    | (scopes|allow(\.\d+)?|documents|expiresAt|url):\ .+
    """,
    re.VERBOSE,
)


# Leaves out what fails only by such rules, or by a name that is measured without the white space around it.
@schemathesis.hook
def filter_failure(context, failure, case, response):
    if type(failure).__name__ == "RejectedPositiveData" and response.status_code == 400:
        issues = json.loads(response.content)["message"].removesuffix(".").split("; ")
        return not all(BEYOND_SCHEMAS.fullmatch(issue) for issue in issues)
    name = case.body.get("name") if isinstance(case.body, dict) else None
    is_padded = isinstance(name, str) and len(name) > 200 >= len(name.strip(SPACE)) > 0
    return not (is_padded and type(failure).__name__ == "AcceptedNegativeData")
