"""Sells a pet through a client of openapi-python-client. Prints what it got as JSON."""

import json
import sys

from petstore_client import AuthenticatedClient
from petstore_client.api.pets import create_category, create_pet
from petstore_client.api.store import (
    create_order,
    delete_order,
    get_order,
    list_orders,
    replace_order,
    update_order,
)
from petstore_client.models import Error, NewCategory, NewPet, Order, OrderPatch

url, key = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key, raise_on_unexpected_status=True)
LARGEST = 9223372036854775807


def given(answer):
    assert answer is not None and not isinstance(answer, Error), answer
    return answer


category = given(create_category.sync(client=client, body=NewCategory(name="Birds")))
pet = given(create_pet.sync(client=client, body=NewPet(name="Tweety", category_id=category.id)))
order = given(
    create_order.sync(client=client, body=Order(id=LARGEST, pet_id=pet.id), idempotency_key="tweety")
)
read = given(get_order.sync(order.id, client=client))
listed = given(list_orders.sync(client=client, pet_id=pet.id, complete=False))
replaced = given(
    replace_order.sync(order.id, client=client, body=Order.from_dict({**read.to_dict(), "quantity": 2}))
)
patched = given(update_order.sync(order.id, client=client, body=OrderPatch(complete=True, quantity=None)))
deleted = delete_order.sync_detailed(order.id, client=client)
gone = get_order.sync(order.id, client=client)
assert isinstance(gone, Error)

orders = [order, read, *listed, replaced, patched]
print(
    json.dumps(
        {
            "orders": [one.to_dict() for one in orders],
            "deleted": deleted.status_code,
            "refusals": [gone.code],
        }
    )
)
