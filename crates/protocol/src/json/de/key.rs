//! Names of members as map keys: text, and what serde writes as text.

use std::borrow::Cow;

use serde::de::{Deserializer, IntoDeserializer as _, Visitor};

use super::{
    super::{number, text},
    error::FromJsonError,
    reader::Reader,
};

/// The name of a member, as it is between its quotes.
#[derive(Debug)]
pub(super) struct Key<'de>(&'de str);

impl<'de> Key<'de> {
    pub(super) fn new(raw_name: &'de str) -> Self {
        Self(raw_name)
    }

    /// A reader over the name, if it is a number or a boolean.
    fn scalar(&self) -> Option<Reader<'de>> {
        let is_number = number::is_number(self.0);
        (is_number || matches!(self.0, "true" | "false")).then(|| Reader::new(self.0))
    }
}

/// Methods for types that are written as a name: read from within the name if it looks like one.
macro_rules! from_scalar {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromJsonError> {
            match self.scalar() {
                Some(mut reader) => reader.$method(visitor),
                None => self.deserialize_any(visitor),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = FromJsonError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromJsonError> {
        match text::decode_strict(self.0)? {
            Cow::Borrowed(name) => visitor.visit_borrowed_str(name),
            Cow::Owned(name) => visitor.visit_string(name),
        }
    }

    from_scalar! {
        deserialize_bool
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromJsonError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, FromJsonError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FromJsonError> {
        visitor.visit_enum(text::decode_strict(self.0)?.into_deserializer())
    }

    serde::forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
