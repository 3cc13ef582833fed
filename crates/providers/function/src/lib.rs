//! Rust functions as tools of a model's programs.
//!
//! A tool is a closure or a function from one argument struct to a result. Both schemas, and the description
//! where the struct has a doc comment, come from the types:
//!
//! ```
//! use codehatch_function::{Failure, FunctionProvider, FunctionTool};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! /// Looks up how many people live in a city.
//! #[derive(Deserialize, JsonSchema)]
//! struct Population {
//!     /// The city's English name.
//!     city: String,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct People {
//!     count: u64,
//! }
//!
//! async fn population(wanted: Population) -> Result<People, Failure> {
//!     match wanted.city.as_str() {
//!         "Oslo" => Ok(People { count: 717_710 }),
//!         other => Err(Failure::new("UnknownCity", format!("no such city: {other}"))),
//!     }
//! }
//!
//! let provider = FunctionProvider::builder()
//!     .namespace("geo")
//!     .tool(FunctionTool::new("population", population))
//!     .build()?;
//! # Ok::<(), codehatch_function::BuildError>(())
//! ```

mod failure;
mod provider;
mod schema;
mod tool;

pub use failure::Failure;
pub use provider::{BuildError, FunctionProvider, FunctionProviderBuilder};
pub use tool::{FunctionTool, NoArguments};
