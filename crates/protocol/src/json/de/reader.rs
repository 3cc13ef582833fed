//! Reads one value at a time for serde.

use std::borrow::Cow;

use serde::de::{Deserializer, Error as _, IntoDeserializer as _, Unexpected, Visitor};

use super::{
    super::{number::Number, scan::Scanner, text},
    access::{Elements, Members, Variant},
    error::{FromJsonError, FromJsonFault},
};

/// A place in a well-formed text.
#[derive(Debug)]
pub(super) struct Reader<'de> {
    scanner: Scanner<'de>,
}

impl<'de> Reader<'de> {
    pub(super) fn new(text: &'de str) -> Self {
        Self {
            scanner: Scanner::new(text),
        }
    }

    pub(super) fn scanner(&mut self) -> &mut Scanner<'de> {
        &mut self.scanner
    }

    fn text(&mut self) -> Result<Cow<'de, str>, FromJsonError> {
        Ok(text::decode_strict(self.scanner.string()?)?)
    }

    fn visit_text<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, FromJsonError> {
        match self.text()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    /// A number for a visitor that has not asked for a wide integer or a float.
    fn visit_number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, FromJsonError> {
        let text = self.scanner.number()?;
        match Number::parse(text) {
            Number::Unsigned(value) => visitor.visit_u64(value),
            Number::Negative(value) => visitor.visit_i64(value),
            Number::Float(value) => visitor.visit_f64(value),
            // Python reads these as zero too.
            Number::Underflow => visitor.visit_f64(0.0),
            Number::Big => Err(integer_out_of_range(text, "64 bits")),
            Number::Overflow => Err(FromJsonError::new(FromJsonFault::FloatOutOfRange {
                wanted: "f64",
            })),
            Number::NonFinite(_) => Err(FromJsonError::new(FromJsonFault::NonFinite)),
        }
    }

    fn visit_scalar<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, FromJsonError> {
        match self.scanner.peek() {
            Some(b'"') => self.visit_text(visitor),
            Some(b't') => {
                self.scanner.literal(b"true")?;
                visitor.visit_bool(true)
            }
            Some(b'f') => {
                self.scanner.literal(b"false")?;
                visitor.visit_bool(false)
            }
            Some(b'n') => {
                self.scanner.literal(b"null")?;
                visitor.visit_unit()
            }
            _ => self.visit_number(visitor),
        }
    }

    fn next_is_number(&mut self) -> bool {
        matches!(self.scanner.peek(), Some(b'-' | b'0'..=b'9' | b'N' | b'I'))
    }

    fn visit_elements<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, FromJsonError> {
        let mut elements = Elements::begin(self)?;
        let value = visitor.visit_seq(&mut elements)?;
        elements.end()?;
        Ok(value)
    }

    fn visit_members<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, FromJsonError> {
        let mut members = Members::begin(self)?;
        let value = visitor.visit_map(&mut members)?;
        members.end()?;
        Ok(value)
    }
}

fn integer_out_of_range(text: &str, wanted: &'static str) -> FromJsonError {
    FromJsonError::new(FromJsonFault::IntegerOutOfRange {
        digits: text.trim_start_matches('-').len(),
        wanted,
    })
}

/// Methods that need to know nothing about what was asked for.
macro_rules! as_any {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, FromJsonError> {
            $(_ = $argument;)*
            self.deserialize_any(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = FromJsonError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromJsonError> {
        // As little as can be: each level of nesting has a frame of this on the stack.
        match self.scanner.peek() {
            Some(b'{') => self.visit_members(visitor),
            Some(b'[') => self.visit_elements(visitor),
            _ => self.visit_scalar(visitor),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromJsonError> {
        if !self.next_is_number() {
            return self.deserialize_any(visitor);
        }
        let text = self.scanner.number()?;
        if Number::parse(text) != Number::Big {
            return Reader::new(text).visit_number(visitor);
        }
        match text.parse() {
            Ok(value) => visitor.visit_i128(value),
            Err(_) => Err(integer_out_of_range(text, "i128")),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromJsonError> {
        if !self.next_is_number() {
            return self.deserialize_any(visitor);
        }
        let text = self.scanner.number()?;
        if Number::parse(text) != Number::Big {
            return Reader::new(text).visit_number(visitor);
        }
        match text.parse() {
            Ok(value) => visitor.visit_u128(value),
            Err(_) => Err(integer_out_of_range(text, "u128")),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromJsonError> {
        if !self.next_is_number() {
            return self.deserialize_any(visitor);
        }
        let text = self.scanner.number()?;
        if let Number::NonFinite(value) = Number::parse(text) {
            return visitor.visit_f64(value);
        }
        Reader::new(text).visit_number(visitor)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromJsonError> {
        if !self.next_is_number() {
            return self.deserialize_any(visitor);
        }
        let text = self.scanner.number()?;
        let number = Number::parse(text);
        if let Number::NonFinite(value) = number {
            return visitor.visit_f64(value);
        }
        if !matches!(number, Number::Float(_)) {
            return Reader::new(text).visit_number(visitor);
        }
        // Read anew: going by way of an `f64` would round twice.
        match text.parse::<f32>() {
            Ok(value) if value.is_finite() => visitor.visit_f32(value),
            _ => Err(FromJsonError::new(FromJsonFault::FloatOutOfRange {
                wanted: "f32",
            })),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromJsonError> {
        if self.scanner.peek() != Some(b'"') {
            return self.deserialize_any(visitor);
        }
        match self.text()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            Cow::Owned(text) => visitor.visit_byte_buf(text.into_bytes()),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromJsonError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FromJsonError> {
        if self.scanner.peek() == Some(b'n') {
            self.scanner.literal(b"null")?;
            return visitor.visit_none();
        }
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
        match self.scanner.peek() {
            Some(b'"') => visitor.visit_enum(self.text()?.into_deserializer()),
            Some(b'{') => {
                let mut members = Members::begin(self)?;
                let value = visitor.visit_enum(Variant::new(&mut members))?;
                members.end()?;
                Ok(value)
            }
            _ => {
                self.scanner.value()?;
                Err(FromJsonError::invalid_type(
                    Unexpected::Other("value that is neither"),
                    &"a string or an object with one member",
                ))
            }
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, FromJsonError> {
        self.scanner.value()?;
        visitor.visit_unit()
    }

    as_any! {
        deserialize_bool()
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64()
        deserialize_char() deserialize_str() deserialize_string() deserialize_identifier()
        deserialize_unit() deserialize_unit_struct(name: &'static str)
        deserialize_seq() deserialize_tuple(len: usize) deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_map() deserialize_struct(name: &'static str, fields: &'static [&'static str])
    }
}
