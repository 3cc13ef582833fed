//! JSON as Python writes it: one value kept as text, so that nothing in it is rounded or lost.

mod de;
mod error;
mod levels;
mod members;
mod number;
mod path;
mod raw;
mod run;
mod scan;
mod ser;
mod sink;
mod text;
mod token;
mod value;

pub(crate) use members::{elements, members};
pub(crate) use number::{Number, write_float};
pub(crate) use scan::{Scanned, Scanner};
pub(crate) use sink::Sink;
pub(crate) use text::{decode_lossy, write_string};

pub use de::{FromJsonError, FromJsonFault};
pub use error::{JsonError, JsonFault};
pub use levels::MAX_NESTING;
pub use raw::{JsonType, RawJson};
pub use ser::{ToJsonError, ToJsonFault};
pub use value::{tag_text, untag_text};
