//! Writes one value at a time for serde.

use serde::{Serialize, Serializer};

use super::{
    super::{levels::MAX_NESTING, number, raw::RawJson, scan::Facts, sink::Sink as _, text},
    compound::Compound,
    error::ToJsonError,
};

/// JSON that is being written.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) out: String,
    facts: Facts,
    depth: u16,
}

impl Writer {
    pub(super) fn finish(self) -> RawJson {
        RawJson::from_written(self.out, self.facts)
    }

    pub(super) fn open(&mut self, bracket: char) -> Result<(), ToJsonError> {
        if usize::from(self.depth) >= MAX_NESTING {
            return Err(ToJsonError::too_deep());
        }
        self.depth = self.depth.saturating_add(1);
        self.facts.depth = self.facts.depth.max(self.depth);
        self.out.push(bracket);
        Ok(())
    }

    pub(super) fn close(&mut self, bracket: char) {
        self.depth = self.depth.saturating_sub(1);
        self.out.push(bracket);
    }

    /// An object with one member, in which the content of a variant stands.
    fn open_variant(&mut self, variant: &str) -> Result<(), ToJsonError> {
        self.open('{')?;
        text::write_string(&mut self.out, variant);
        self.out.push(':');
        Ok(())
    }
}

/// Methods for types that are written as what they display as.
macro_rules! as_displayed {
    ($($method:ident($type:ty))*) => {
        $(fn $method(self, value: $type) -> Result<(), ToJsonError> {
            self.out.put_display(value);
            Ok(())
        })*
    };
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = ToJsonError;
    type SerializeSeq = Compound<'a>;
    type SerializeTuple = Compound<'a>;
    type SerializeTupleStruct = Compound<'a>;
    type SerializeTupleVariant = Compound<'a>;
    type SerializeMap = Compound<'a>;
    type SerializeStruct = Compound<'a>;
    type SerializeStructVariant = Compound<'a>;

    as_displayed! {
        serialize_bool(bool)
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) serialize_i128(i128)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_u128(u128)
    }

    fn serialize_f32(self, value: f32) -> Result<(), ToJsonError> {
        self.facts.non_finite |= !value.is_finite();
        number::write_float32(&mut self.out, value);
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<(), ToJsonError> {
        self.facts.non_finite |= !value.is_finite();
        number::write_float(&mut self.out, value);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), ToJsonError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), ToJsonError> {
        text::write_string(&mut self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), ToJsonError> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), ToJsonError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), ToJsonError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), ToJsonError> {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), ToJsonError> {
        self.serialize_unit()
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

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), ToJsonError> {
        self.open_variant(variant)?;
        value
            .serialize(&mut *self)
            .map_err(|error| error.in_raw_member(variant))?;
        self.close('}');
        Ok(())
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Compound<'a>, ToJsonError> {
        Compound::array(self)
    }

    fn serialize_tuple(self, _len: usize) -> Result<Compound<'a>, ToJsonError> {
        Compound::array(self)
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, ToJsonError> {
        Compound::array(self)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, ToJsonError> {
        self.open_variant(variant)?;
        Ok(Compound::array(self)?.inside(variant))
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Compound<'a>, ToJsonError> {
        Compound::object(self)
    }

    fn serialize_struct(
        self,
        _name: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, ToJsonError> {
        Compound::object(self)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, ToJsonError> {
        self.open_variant(variant)?;
        Ok(Compound::object(self)?.inside(variant))
    }
}
