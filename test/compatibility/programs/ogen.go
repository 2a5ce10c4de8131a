// A round trip through the client of ogen.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/ogen-go/ogen/ogenerrors"
	petstore "petstore/client"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

type key string

func (key key) KeyHeader(context.Context, petstore.OperationName) (petstore.KeyHeader, error) {
	return petstore.KeyHeader{APIKey: string(key)}, nil
}

func (key) BearerToken(context.Context, petstore.OperationName) (petstore.BearerToken, error) {
	return petstore.BearerToken{}, ogenerrors.ErrSkipClientSecurity
}

func main() {
	ctx := context.Background()
	client := must(petstore.NewClient(os.Args[1], key(os.Args[2])))

	created := must(client.CreatePet(ctx, &petstore.NewPet{Name: "Ogen", CategoryId: 1},
		petstore.CreatePetParams{IdempotencyKey: petstore.NewOptString("ogen")})).(*petstore.PetHeaders).Response
	read := must(client.GetPet(ctx, petstore.GetPetParams{PetId: created.ID})).(*petstore.GetPetOKHeaders).Response
	listed := must(client.ListPets(ctx, petstore.ListPetsParams{
		Name:   petstore.NewOptString("Ogen"),
		Status: []petstore.PetStatus{petstore.PetStatusAvailable},
		Limit:  petstore.NewOptInt32(5),
	})).(*petstore.ListPetsOKHeaders).Response
	events := must(client.ListEvents(ctx, petstore.ListEventsParams{
		Type: []petstore.EventType{petstore.EventTypePetCreated},
		Sort: petstore.NewOptQueryEventSort(petstore.QueryEventSortMinusID),
	})).(*petstore.EventsHeaders).Response
	event, _ := events[0].GetPetCreatedEvent()
	must(client.DeletePet(ctx, petstore.DeletePetParams{PetId: created.ID}))
	gone := must(client.GetPet(ctx, petstore.GetPetParams{PetId: created.ID})).(*petstore.GetPetNotFound).Response
	fmt.Printf("%s, %d listed, event of %s, %s\n", read.Name, len(listed), event.Data.Name, gone.Code)
}
