import java.util.List;
import java.util.Set;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.PetsApi;
import org.openapitools.client.api.StoreApi;
import org.openapitools.client.model.Error;
import org.openapitools.client.model.Event;
import org.openapitools.client.model.EventType;
import org.openapitools.client.model.NewPet;
import org.openapitools.client.model.Pet;
import org.openapitools.client.model.PetStatus;

/** A round trip through the client that openapi-generator makes for Java with OkHttp and Gson. */
public class OkHttp {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.setBasePath(args[0]);
    client.addDefaultHeader("X-API-Key", args[1]);
    PetsApi pets = new PetsApi(client);

    Pet created = pets.createPet(new NewPet().name("OkHttp").categoryId(1L), "openapi-generator-okhttp");
    Pet read = pets.getPet(created.getId(), null);
    List<Pet> listed = pets.listPets(List.of(PetStatus.AVAILABLE), null, "OkHttp", null, 5, null, null);
    List<Event> events = new StoreApi(client).listEvents(Set.of(EventType.PET_CREATED), "-id", 1, null, null, null);
    String name = events.get(0).getPetCreatedEvent().getData().getName();
    pets.deletePet(created.getId(), null);
    try {
      pets.getPet(created.getId(), null);
    } catch (ApiException refusal) {
      Error error = Error.fromJson(refusal.getResponseBody());
      System.out.printf("%s, %d listed, event of %s, %s%n", read.getName(), listed.size(), name, error.getCode());
    }
  }
}
