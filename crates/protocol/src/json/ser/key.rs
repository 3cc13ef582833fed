//! Writes map keys: names of members are strings.

use std::fmt::Display;

use serde::{Serialize, Serializer, ser::Impossible};

use super::{
    super::{sink::Sink as _, text},
    error::{ToJsonError, ToJsonFault},
};

/// Writes the name of a member, quotes included.
#[derive(Debug)]
pub(super) struct KeyWriter<'a>(&'a mut String);

impl<'a> KeyWriter<'a> {
    pub(super) fn new(out: &'a mut String) -> Self {
        Self(out)
    }

    fn quoted(self, value: impl Display) {
        self.0.put_display(format_args!("\"{value}\""));
    }
}

fn refuse<T>(found: &'static str) -> Result<T, ToJsonError> {
    Err(ToJsonError::new(ToJsonFault::Key { found }))
}

/// Methods for types whose name is what they display as.
macro_rules! as_displayed {
    ($($method:ident($type:ty))*) => {
        $(fn $method(self, value: $type) -> Result<(), ToJsonError> {
            self.quoted(value);
            Ok(())
        })*
    };
}

/// Methods for types that have no name.
macro_rules! refused {
    ($($method:ident($($argument:ident: $type:ty),*) -> $ok:ty: $found:literal;)*) => {
        $(fn $method(self, $($argument: $type),*) -> Result<$ok, ToJsonError> {
            $(_ = $argument;)*
            refuse($found)
        })*
    };
}

type Nothing = Impossible<(), ToJsonError>;

impl Serializer for KeyWriter<'_> {
    type Ok = ();
    type Error = ToJsonError;
    type SerializeSeq = Nothing;
    type SerializeTuple = Nothing;
    type SerializeTupleStruct = Nothing;
    type SerializeTupleVariant = Nothing;
    type SerializeMap = Nothing;
    type SerializeStruct = Nothing;
    type SerializeStructVariant = Nothing;

    as_displayed! {
        serialize_bool(bool)
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) serialize_i128(i128)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_u128(u128)
    }

    fn serialize_char(self, value: char) -> Result<(), ToJsonError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), ToJsonError> {
        text::write_string(self.0, value);
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), ToJsonError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), ToJsonError> {
        value.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), ToJsonError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &T,
    ) -> Result<(), ToJsonError> {
        refuse("an enum variant with content")
    }

    refused! {
        serialize_f32(value: f32) -> (): "a float";
        serialize_f64(value: f64) -> (): "a float";
        serialize_bytes(value: &[u8]) -> (): "bytes";
        serialize_none() -> (): "nothing";
        serialize_unit() -> (): "nothing";
        serialize_unit_struct(name: &'static str) -> (): "nothing";
        serialize_seq(len: Option<usize>) -> Nothing: "an array";
        serialize_tuple(len: usize) -> Nothing: "an array";
        serialize_tuple_struct(name: &'static str, len: usize) -> Nothing: "an array";
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> Nothing: "an enum variant with content";
        serialize_map(len: Option<usize>) -> Nothing: "an object";
        serialize_struct(name: &'static str, len: usize) -> Nothing: "an object";
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> Nothing: "an enum variant with content";
    }
}
