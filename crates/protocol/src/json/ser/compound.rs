//! Arrays, objects and variants that are being written.

use std::ops::Range;

use serde::{Serialize, ser};

use super::{super::text, error::ToJsonError, key::KeyWriter, writer::Writer};

/// An array or an object that has been opened.
#[derive(Debug)]
pub(super) struct Compound<'a> {
    writer: &'a mut Writer,
    closing: char,
    /// Elements or members so far.
    count: usize,
    /// Where the name of the member that waits for its value was written, without its quotes.
    name: Option<Range<usize>>,
    /// The variant whose content this is, to be closed with it.
    variant: Option<&'static str>,
}

impl<'a> Compound<'a> {
    pub(super) fn array(writer: &'a mut Writer) -> Result<Self, ToJsonError> {
        writer.open('[')?;
        Ok(Self::opened(writer, ']'))
    }

    pub(super) fn object(writer: &'a mut Writer) -> Result<Self, ToJsonError> {
        writer.open('{')?;
        Ok(Self::opened(writer, '}'))
    }

    fn opened(writer: &'a mut Writer, closing: char) -> Self {
        Self {
            writer,
            closing,
            count: 0,
            name: None,
            variant: None,
        }
    }

    pub(super) fn inside(mut self, variant: &'static str) -> Self {
        self.variant = Some(variant);
        self
    }

    fn comma(&mut self) {
        if self.count > 0 {
            self.writer.out.push(',');
        }
        self.count = self.count.saturating_add(1);
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ToJsonError> {
        self.comma();
        match value.serialize(&mut *self.writer) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.place(error.in_element(self.count.saturating_sub(1)))),
        }
    }

    fn member_name<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), ToJsonError> {
        if self.name.is_some() {
            return Err(ser::Error::custom("map gave two keys in a row"));
        }
        self.comma();
        let start = self.writer.out.len();
        match name.serialize(KeyWriter::new(&mut self.writer.out)) {
            Ok(()) => {
                let end = self.writer.out.len();
                self.name = Some(start.saturating_add(1)..end.saturating_sub(1));
                self.writer.out.push(':');
                Ok(())
            }
            Err(error) => Err(self.place(error)),
        }
    }

    fn member_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ToJsonError> {
        let Some(name) = self.name.take() else {
            return Err(ser::Error::custom("map gave a value without a key"));
        };
        match value.serialize(&mut *self.writer) {
            Ok(()) => Ok(()),
            Err(error) => {
                let name = self.writer.out.get(name).unwrap_or_default();
                Err(self.place(error.in_raw_member(name)))
            }
        }
    }

    fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), ToJsonError> {
        self.comma();
        text::write_string(&mut self.writer.out, name);
        self.writer.out.push(':');
        match value.serialize(&mut *self.writer) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.place(error.in_raw_member(name))),
        }
    }

    fn place(&self, error: ToJsonError) -> ToJsonError {
        match self.variant {
            Some(variant) => error.in_raw_member(variant),
            None => error,
        }
    }

    fn finish(self) -> Result<(), ToJsonError> {
        if self.name.is_some() {
            return Err(ser::Error::custom("map gave a key without a value"));
        }
        self.writer.close(self.closing);
        if self.variant.is_some() {
            self.writer.close('}');
        }
        Ok(())
    }
}

/// Four of serde's traits name the same steps of an array, and two those of an object.
macro_rules! compound {
    ($($trait:ident::$step:ident => $to:ident($($argument:ident: $type:ty),*))*) => {
        $(impl ser::$trait for Compound<'_> {
            type Ok = ();
            type Error = ToJsonError;

            fn $step<T: Serialize + ?Sized>(&mut self, $($argument: $type,)* value: &T) -> Result<(), ToJsonError> {
                self.$to($($argument,)* value)
            }

            fn end(self) -> Result<(), ToJsonError> {
                self.finish()
            }
        })*
    };
}

compound! {
    SerializeSeq::serialize_element => element()
    SerializeTuple::serialize_element => element()
    SerializeTupleStruct::serialize_field => element()
    SerializeTupleVariant::serialize_field => element()
    SerializeStruct::serialize_field => field(name: &'static str)
    SerializeStructVariant::serialize_field => field(name: &'static str)
}

impl ser::SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = ToJsonError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ToJsonError> {
        self.member_name(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ToJsonError> {
        self.member_value(value)
    }

    fn end(self) -> Result<(), ToJsonError> {
        self.finish()
    }
}
