//! JSON schemas of Rust types.

use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::Value;

/// The schema of what `T` is read from.
pub(crate) fn of_arguments<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.into_generator().into_root_schema_for::<T>()
}

/// The schema of what `T` is written as.
pub(crate) fn of_result<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    plain(settings.into_generator().into_root_schema_for::<T>())
}

/// Without the dialect, which every reader assumes, and the Rust name, which tells a model nothing.
pub(crate) fn plain(mut schema: Schema) -> Value {
    schema.remove("$schema");
    schema.remove("title");
    schema.to_value()
}
