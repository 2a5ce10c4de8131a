// A round trip through the code of genqlient.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/Khan/genqlient/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

type withKey string

func (key withKey) RoundTrip(request *http.Request) (*http.Response, error) {
	request.Header.Set("X-API-Key", string(key))
	return http.DefaultTransport.RoundTrip(request)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	client := graphql.NewClient(os.Args[1]+"/graphql", &http.Client{Transport: withKey(os.Args[2])})

	name := "Genqlient"
	id := must(CreatePet(ctx, client, NewPet{Name: "Gen", CategoryId: "1"})).CreatePet.Id
	must(RenamePet(ctx, client, id, PetPatch{Name: &name}))
	read := must(ReadPet(ctx, client, id)).Pet
	listed := must(ListPets(ctx, client, PetFilter{Name: &name, Status: []PetStatus{PetStatusAvailable}})).Pets.Nodes
	event := must(LatestEvents(ctx, client)).Events.Nodes[0]
	must(DeletePet(ctx, client, id))
	_, err := DeletePet(ctx, client, id)
	var gone gqlerror.List
	errors.As(err, &gone)
	fmt.Printf("%s, %d listed, event of %s, %s\n", read.Name, len(listed), event.Pet.Name, gone[0].Extensions["code"])
}
