//! A round trip through the client of progenitor.
use petstore_client::types::{Event, EventType, ListEventsSort, PetStatus};
use petstore_client::{Client, Error};
use reqwest::header::{HeaderMap, HeaderValue};
use std::error::Error as AnyError;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn AnyError>> {
    let arguments: Vec<String> = std::env::args().collect();
    let mut headers = HeaderMap::new();
    headers.insert("X-API-Key", HeaderValue::from_str(&arguments[2])?);
    let http = reqwest::Client::builder().default_headers(headers).build()?;
    let client = Client::new_with_client(&arguments[1], http);

    let created = client
        .create_pet()
        .idempotency_key("progenitor")
        .body_map(|pet| pet.name("Progenitor").category_id(1))
        .send()
        .await?;
    let read = client.get_pet().pet_id(created.id).send().await?;
    let listed = client
        .list_pets()
        .name("Progenitor")
        .status(vec![PetStatus::Available])
        .limit(std::num::NonZeroU32::new(5).unwrap())
        .send()
        .await?;
    let events = client
        .list_events()
        .type_(vec![EventType::PetCreated])
        .sort(ListEventsSort::Xid)
        .send()
        .await?;
    let Event::PetCreatedEvent(event) = &events[0] else {
        return Err("The event has another type.".into());
    };
    client.delete_pet().pet_id(created.id).send().await?;
    let code = match client.get_pet().pet_id(created.id).send().await {
        Err(Error::ErrorResponse(refusal)) => refusal.code.to_string(),
        other => return Err(format!("{other:?}").into()),
    };
    println!("{}, {} listed, event of {}, {}", *read.name, listed.len(), *event.data.name, code);
    Ok(())
}
