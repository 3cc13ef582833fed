//! From Rust values to JSON text, as Python's `json` module would write them.

mod compound;
mod error;
mod key;
mod writer;

pub use error::{ToJsonError, ToJsonFault};

use serde::Serialize;

use super::raw::RawJson;
use writer::Writer;

impl RawJson {
    /// Writes a Rust value as JSON, without white space.
    ///
    /// As any JSON writer for serde, and beyond that: `NaN` and the infinities are written by their names, as Python
    /// does, and 128-bit integers with all their digits. Bytes are an array of integers. Map keys may be strings,
    /// characters, integers, booleans and unit variants; others are refused, and so is a value nested deeper than
    /// [`MAX_NESTING`](crate::MAX_NESTING). The error names the path of the part.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, ToJsonError> {
        let mut writer = Writer::default();
        value.serialize(&mut writer)?;
        Ok(writer.finish())
    }
}

#[cfg(test)]
mod tests;
