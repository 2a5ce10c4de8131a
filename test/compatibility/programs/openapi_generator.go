// A round trip through the client that openapi-generator makes for Go.
package main

import (
	"context"
	"fmt"
	"os"

	petstore "petstore/client"
)

func must[T any](value T, response any, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	configuration := petstore.NewConfiguration()
	configuration.Servers = petstore.ServerConfigurations{{URL: os.Args[1]}}
	configuration.AddDefaultHeader("X-API-Key", os.Args[2])
	client, ctx := petstore.NewAPIClient(configuration), context.Background()
	pets := client.PetsAPI

	created := must(pets.CreatePet(ctx).PetInput(*petstore.NewPetInput("Go", 1)).IdempotencyKey("openapi-generator-go").Execute())
	read := must(pets.GetPet(ctx, created.Id).Execute())
	listed := must(pets.ListPets(ctx).Name("Go").Status([]petstore.PetStatus{petstore.AVAILABLE}).Limit(5).Execute())
	events := must(client.StoreAPI.ListEvents(ctx).Type_([]petstore.EventType{petstore.PET_CREATED}).Sort("-id").Limit(1).Execute())
	name := events[0].GetActualInstance().(*petstore.PetCreatedEvent).Data.Name
	if _, err := pets.DeletePet(ctx, created.Id).Execute(); err != nil {
		panic(err)
	}
	_, _, err := pets.GetPet(ctx, created.Id).Execute()
	refusal := err.(*petstore.GenericOpenAPIError).Model().(petstore.Error)
	fmt.Printf("%s, %d listed, event of %s, %s\n", read.Name, len(listed), name, refusal.Code)
}
