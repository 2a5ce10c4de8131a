"""What the description can't say."""

import itertools

import schemathesis

numbers = itertools.count(1)
# Characters that JavaScript trims.
SPACE = "\t\n\v\f\r \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"


# Requests without a valid key are limited by address, so each one gets an address of its own.
@schemathesis.hook
def before_call(context, case, kwargs):
    number = next(numbers)
    case.headers["X-Forwarded-For"] = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


# A name is measured without the white space around it, so that one which is too long may still be right.
@schemathesis.hook
def filter_failure(context, failure, case, response):
    name = case.body.get("name") if isinstance(case.body, dict) else None
    is_padded = isinstance(name, str) and len(name) > 200 >= len(name.strip(SPACE)) > 0
    return not (is_padded and type(failure).__name__ == "AcceptedNegativeData")
