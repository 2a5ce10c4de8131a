// Sells a pet, and prints the orders and the events that it got as JSON.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"adopt/petstore"
)

func given[T any](value T, _ any, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	configuration := petstore.NewConfiguration()
	configuration.Servers = petstore.ServerConfigurations{{URL: os.Args[1]}}
	configuration.AddDefaultHeader("X-API-Key", os.Args[2])
	store := petstore.NewAPIClient(configuration).StoreAPI
	ctx := context.Background()

	const id int64 = 9223372036854775807
	created := given(store.CreateOrder(ctx).Order(petstore.Order{Id: petstore.PtrInt64(id)}).Execute())
	patch := petstore.OrderPatch{Complete: petstore.PtrBool(true)}
	updated := given(store.UpdateOrder(ctx, created.Id).OrderPatch(patch).Execute())
	read := given(store.GetOrder(ctx, updated.Id).Execute())
	types := []petstore.EventType{"category.created", "order.updated"}
	events := given(store.ListEvents(ctx).Type_(types).Execute())
	data := make([]any, len(events))
	for index, event := range events {
		data[index] = event.Data.GetActualInstance()
	}
	if err := json.NewEncoder(os.Stdout).Encode([]any{created, read, data}); err != nil {
		log.Fatal(err)
	}
}
