#!/usr/bin/env bash
# sgqlc reads the fraction of a DateTime as a number of microseconds, whatever its digits: .5 s become 5 µs, and the three
# digits that most servers write a thousandth of what they are. The sign of an offset applies to its hours alone: -05:30 is read as
# -04:30, and -00:30 as +00:30. Nothing fails. Python's datetime.fromisoformat, on the text that a field of type String
# gives, reads all of them. (Python 3.11 or later.)
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
python3 -m venv "$home/env"
"$home/env/bin/pip" install --quiet --disable-pip-version-check sgqlc==18
"$home/env/bin/python" - <<'P'
from datetime import datetime, timezone
from sgqlc.operation import Operation
from sgqlc.types import Field, Type
from sgqlc.types.datetime import DateTime
class Query(Type):
    at = Field(DateTime)
def read(text):
    operation = Operation(Query)
    operation.at()
    return (operation + {"data": {"at": text}}).at.astimezone(timezone.utc)
expected = {
    "2026-01-01T12:00:00Z": "12:00:00",
    "2026-01-01T12:00:00.123456Z": "12:00:00.123456",
    "2026-01-01T12:00:00.5Z": "12:00:00.000005",
    "2026-01-01T12:00:00.123Z": "12:00:00.000123",
    "2026-01-01T12:00:00+05:30": "06:30:00",
    "2026-01-01T12:00:00-05:30": "16:30:00",
    "2026-01-01T12:00:00-00:30": "11:30:00",
}
seen = {text: str(read(text).time()) for text in expected}
for text, time in seen.items():
    right = datetime.fromisoformat(text).astimezone(timezone.utc).time()
    print("sgqlc 18:", text, "is", time, "" if time == str(right) else f"instead of {right}")
assert seen == expected
P
