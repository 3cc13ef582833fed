//! A Rust function as a tool, and the events of a block as they come.
//!
//! `cargo run --example function_tool`

use std::io::Write;

use codehatch::{Builder, Event, Stream, function::FunctionTool};
use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Looks up the population of a city.
#[derive(Deserialize, JsonSchema)]
struct Population {
    /// The city's English name.
    city: String,
}

/// What is known of a city.
#[derive(Serialize, JsonSchema)]
struct City {
    name: String,
    population: u32,
}

/// Larger cities of Iceland, 2024, in thousands of people.
const CITIES: [(&str, u32); 4] = [
    ("Reykjavik", 139),
    ("Kopavogur", 40),
    ("Hafnarfjordur", 31),
    ("Akureyri", 20),
];

const PROGRAM: &str = r#"
from tools import population, ToolError

cities = ["Reykjavik", "Akureyri", "Atlantis", "Kopavogur"]
total = 0
for city in cities:
    try:
        total += population(city=city)["population"]
    except ToolError as error:
        print("left out:", error)
print("people, in thousands:")
total
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let population = FunctionTool::plain("population", |Population { city }| {
        let found = CITIES.iter().find(|(name, _)| *name == city);
        found
            .map(|&(name, population)| City {
                name: name.to_owned(),
                population,
            })
            .ok_or_else(|| format!("no city called {city}"))
    });
    let engine = Builder::new().tool(population).build().await?;
    let mut turn = engine.turn();
    let mut execution = turn.execute(PROGRAM);
    while let Some(event) = execution.next().await {
        match event {
            Event::Output {
                stream: Stream::Stdout,
                bytes,
            } => std::io::stdout().write_all(&bytes)?,
            Event::Output {
                stream: Stream::Stderr,
                bytes,
            } => std::io::stderr().write_all(&bytes)?,
            Event::CallEnded { tool, ok, took, .. } => {
                let mark = if ok { "ok" } else { "failed" };
                writeln!(std::io::stderr(), "  [{tool}: {mark}, {took:?}]")?;
            }
            _ => {}
        }
    }
    let outcome = execution.await;
    writeln!(
        std::io::stdout(),
        "{:?} after {:?}",
        outcome.result,
        outcome.took
    )?;
    turn.close().await;
    engine.close().await;
    Ok(())
}
