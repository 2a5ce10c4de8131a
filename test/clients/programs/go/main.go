// Lists all pets, creates one, and asks for one that does not exist.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/url"
	"os"
	"regexp"

	"adopt/petstore"
)

var nextPage = regexp.MustCompile(`<([^>]+)>; rel="next"`)

// allPets reads a list page by page.
func allPets(ctx context.Context, client *petstore.APIClient) ([]petstore.Pet, error) {
	var all []petstore.Pet
	list := client.PetsAPI.ListPets(ctx).Sort("name").Limit(100)
	for {
		pets, response, err := list.Execute()
		if err != nil {
			return nil, err
		}
		all = append(all, pets...)
		link := nextPage.FindStringSubmatch(response.Header.Get("Link"))
		if link == nil {
			return all, nil
		}
		next, err := url.Parse(link[1])
		if err != nil {
			return nil, err
		}
		list = list.After(next.Query().Get("after"))
	}
}

// refusalOf is the Error that the gateway answered with, if that is what failed.
func refusalOf(err error) (refusal petstore.Error, ok bool) {
	var failure *petstore.GenericOpenAPIError
	if errors.As(err, &failure) {
		refusal, ok = failure.Model().(petstore.Error)
	}
	return refusal, ok
}

func main() {
	configuration := petstore.NewConfiguration()
	configuration.Servers = petstore.ServerConfigurations{{URL: os.Args[1]}}
	configuration.AddDefaultHeader("X-API-Key", os.Args[2])
	client := petstore.NewAPIClient(configuration)
	ctx := context.Background()

	pets, err := allPets(ctx, client)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(pets), "pets")

	// Sent again with the same Idempotency-Key, the request creates no second pet.
	input := petstore.PetInput{Name: "Oscar", CategoryId: pets[0].CategoryId}
	pet, _, err := client.PetsAPI.CreatePet(ctx).PetInput(input).IdempotencyKey("adopt-oscar").Execute()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pet.Name, "is", pet.Status)

	_, _, err = client.StoreAPI.GetOrder(ctx, 9223372036854775807).Execute()
	if refusal, ok := refusalOf(err); ok {
		fmt.Println(refusal.Code, refusal.Message)
	}
}
