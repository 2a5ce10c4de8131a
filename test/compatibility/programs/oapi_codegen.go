// A round trip through the client of oapi-codegen.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	petstore "petstore/client"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func pointer[T any](value T) *T { return &value }

func main() {
	ctx := context.Background()
	key := func(_ context.Context, request *http.Request) error {
		request.Header.Set("X-API-Key", os.Args[2])
		return nil
	}
	client := must(petstore.NewClientWithResponses(os.Args[1], petstore.WithRequestEditorFn(key)))

	created := must(client.CreatePetWithResponse(ctx, &petstore.CreatePetParams{IdempotencyKey: pointer("oapi-codegen")},
		petstore.NewPet{Name: "Codegen", CategoryId: 1})).JSON201
	read := must(client.GetPetWithResponse(ctx, created.Id, nil)).JSON200
	listed := *must(client.ListPetsWithResponse(ctx, &petstore.ListPetsParams{
		Name:   pointer("Codegen"),
		Status: &petstore.QueryPetStatus{petstore.Available},
		Limit:  pointer(int32(5)),
	})).JSON200
	events := *must(client.ListEventsWithResponse(ctx, &petstore.ListEventsParams{
		Type: &petstore.QueryEventType{petstore.EventTypePetCreated},
		Sort: pointer(petstore.ListEventsParamsSortMinusId),
	})).JSON200
	event := must(events[0].ValueByDiscriminator()).(petstore.PetCreatedEvent)
	must(client.DeletePetWithResponse(ctx, created.Id, nil))
	gone := must(client.GetPetWithResponse(ctx, created.Id, nil)).JSON404
	fmt.Printf("%s, %d listed, event of %s, %s\n", read.Name, len(listed), event.Data.Name, gone.Code)
}
