#!/usr/bin/env bash
# Webhook.sign of standardwebhooks for Python takes the wall clock of a datetime for UTC, also if it has another zone: the
# same instant in two zones has two signatures. A sender that passes datetime.now(zone) and sends its Unix time in
# webhook-timestamp is refused by every receiver, except where the offset is 0, as on most servers. Give it UTC:
# datetime.now(timezone.utc).
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
python3 -m venv "$home/env"
"$home/env/bin/pip" install --quiet --disable-pip-version-check standardwebhooks==1.1.0
"$home/env/bin/python" - <<'P'
from datetime import datetime, timedelta, timezone
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
webhook = Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
def outcome(zone):
    now = datetime.now(zone)
    headers = {
        "webhook-id": "1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": webhook.sign("1", now, "{}"),
    }
    try:
        return webhook.verify("{}", headers)
    except WebhookVerificationError as error:
        return str(error)
utc, plus_2 = outcome(timezone.utc), outcome(timezone(timedelta(hours=2)))
print("standardwebhooks 1.1.0: signed at a time in UTC:", utc, "- at the same time in +02:00:", plus_2)
assert utc == {} and plus_2 == "No matching signature found"
P
