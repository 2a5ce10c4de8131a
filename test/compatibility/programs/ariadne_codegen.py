"""A round trip through the client of ariadne-codegen."""

import asyncio
import sys

from petstore import Client
from petstore.enums import PetStatus
from petstore.exceptions import GraphQLClientGraphQLMultiError
from petstore.input_types import NewPet, PetFilter, PetPatch


async def main(url: str, key: str) -> None:
    client = Client(url=f"{url}/graphql", headers={"X-API-Key": key})
    created = (await client.create_pet(NewPet(name="Ari", categoryId="1"))).create_pet
    await client.rename_pet(created.id, PetPatch(name="Ariadne"))
    pet = (await client.read_pet(created.id)).pet
    listed = (await client.list_pets(PetFilter(name="Ariadne", status=[PetStatus.available]))).pets.nodes
    event = (await client.latest_events()).events.nodes[0]
    await client.delete_pet(created.id)
    try:
        await client.delete_pet(created.id)
    except GraphQLClientGraphQLMultiError as error:
        code = error.errors[0].extensions["code"]
        print(f"{pet.name}, {len(listed)} listed, event of {event.pet.name}, {code}")


asyncio.run(main(*sys.argv[1:]))
