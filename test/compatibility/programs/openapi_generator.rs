//! A round trip through the client that openapi-generator makes for Rust.
#![allow(deprecated)]
use openapi::apis::configuration::{ApiKey, Configuration};
use openapi::apis::pets_api::{create_pet, delete_pet, get_pet, list_pets};
use openapi::apis::{Error, store_api::list_events};
use openapi::models::{Event, EventType, NewPet, PetStatus};
use std::error::Error as AnyError;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn AnyError>> {
    let arguments: Vec<String> = std::env::args().collect();
    let client = Configuration {
        base_path: arguments[1].clone(),
        api_key: Some(ApiKey { prefix: None, key: arguments[2].clone() }),
        ..Configuration::new()
    };

    let pet = NewPet::new("Rust".to_owned(), 1);
    let created = create_pet(&client, pet, Some("openapi-generator-rust")).await?;
    let read = get_pet(&client, created.id, None).await?;
    let available = Some(vec![PetStatus::Available]);
    let listed = list_pets(&client, available, None, Some("Rust"), None, Some(5), None, None).await?;
    let types = Some(vec![EventType::PetCreated]);
    let events = list_events(&client, types, Some("-id"), Some(1), None, None, None).await?;
    let Event::PetCreatedEvent(event) = &events[0] else {
        return Err("The event has another type.".into());
    };
    delete_pet(&client, created.id, None).await?;
    let code = match get_pet(&client, created.id, None).await {
        Err(Error::ResponseError(refusal)) => serde_json::from_str::<serde_json::Value>(&refusal.content)?["code"].take(),
        other => return Err(format!("{other:?}").into()),
    };
    println!("{}, {} listed, event of {}, {}", read.name, listed.len(), event.data.name, code.as_str().unwrap_or_default());
    Ok(())
}
