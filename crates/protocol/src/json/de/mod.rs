//! From JSON text to Rust types, exactly or with an error that names the place.

mod access;
mod error;
mod key;
mod reader;

pub use error::{FromJsonError, FromJsonFault};

use serde::Deserialize;

use super::raw::RawJson;
use reader::Reader;

impl RawJson {
    /// Reads the value into a Rust type.
    ///
    /// As any JSON reader for serde, and beyond that: `NaN` and the infinities arrive in `f32` and `f64` fields,
    /// integers of up to 128 bits in `i128` and `u128` fields. Nothing is changed to make it fit: an integer beyond
    /// 64 bits anywhere else, a float that overflows, `NaN` where no float was asked for (as in a
    /// [`serde_json::Value`], or in a type that serde buffers, such as an untagged enum) and a lone surrogate in a
    /// string are errors that name the path of the part, like `items[3].name`.
    ///
    /// Recursion is bounded by [`MAX_NESTING`](crate::MAX_NESTING). For types of common size that takes less than
    /// 0.5 MiB of stack, and less than 2 MiB in an unoptimised build; [`to_value`](Self::to_value) takes none.
    pub fn deserialize<'de, T: Deserialize<'de>>(&'de self) -> Result<T, FromJsonError> {
        T::deserialize(&mut Reader::new(self.get()))
    }
}

#[cfg(test)]
mod tests;
