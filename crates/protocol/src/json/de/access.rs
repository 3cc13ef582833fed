//! Walks arrays, objects and enum variants for serde, and puts the path into errors that come up.

use serde::de::{
    DeserializeSeed, Deserializer as _, EnumAccess, Error as _, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use super::{error::FromJsonError, key::Key, reader::Reader};

/// The elements of an array that has been opened.
#[derive(Debug)]
pub(super) struct Elements<'a, 'de> {
    reader: &'a mut Reader<'de>,
    /// Elements handed out so far.
    count: usize,
    closed: bool,
}

impl<'a, 'de> Elements<'a, 'de> {
    pub(super) fn begin(reader: &'a mut Reader<'de>) -> Result<Self, FromJsonError> {
        reader.scanner().expect(b'[')?;
        Ok(Self {
            reader,
            count: 0,
            closed: false,
        })
    }

    /// Takes the closing bracket, which must come next.
    pub(super) fn end(mut self) -> Result<(), FromJsonError> {
        if self.at_element()? {
            let expected = format!("{} elements", self.count);
            return Err(FromJsonError::custom(format_args!(
                "array has more than {expected}"
            )));
        }
        Ok(())
    }

    fn at_element(&mut self) -> Result<bool, FromJsonError> {
        if self.closed {
            return Ok(false);
        }
        if self.reader.scanner().eat(b']') {
            self.closed = true;
            return Ok(false);
        }
        if self.count > 0 {
            self.reader.scanner().expect(b',')?;
        }
        Ok(true)
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = FromJsonError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, FromJsonError> {
        if !self.at_element()? {
            return Ok(None);
        }
        let index = self.count;
        self.count = index.saturating_add(1);
        match seed.deserialize(&mut *self.reader) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(error.in_element(index)),
        }
    }
}

/// The members of an object that has been opened.
#[derive(Debug)]
pub(super) struct Members<'a, 'de> {
    reader: &'a mut Reader<'de>,
    /// The name of the member that was handed out last, as it is between its quotes.
    name: Option<&'de str>,
    closed: bool,
}

impl<'a, 'de> Members<'a, 'de> {
    pub(super) fn begin(reader: &'a mut Reader<'de>) -> Result<Self, FromJsonError> {
        reader.scanner().expect(b'{')?;
        Ok(Self {
            reader,
            name: None,
            closed: false,
        })
    }

    /// Takes the closing bracket, which must come next.
    pub(super) fn end(mut self) -> Result<(), FromJsonError> {
        match self.next_name()? {
            Some(name) => Err(
                FromJsonError::custom("object has more members than expected").in_raw_member(name),
            ),
            None => Ok(()),
        }
    }

    fn next_name(&mut self) -> Result<Option<&'de str>, FromJsonError> {
        if self.closed {
            return Ok(None);
        }
        if self.reader.scanner().eat(b'}') {
            self.closed = true;
            return Ok(None);
        }
        if self.name.is_some() {
            self.reader.scanner().expect(b',')?;
        }
        let name = self.reader.scanner().string()?;
        self.reader.scanner().expect(b':')?;
        self.name = Some(name);
        Ok(Some(name))
    }

    fn place(&self, error: FromJsonError) -> FromJsonError {
        error.in_raw_member(self.name.unwrap_or_default())
    }
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = FromJsonError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, FromJsonError> {
        let Some(name) = self.next_name()? else {
            return Ok(None);
        };
        match seed.deserialize(Key::new(name)) {
            Ok(key) => Ok(Some(key)),
            Err(error) => Err(self.place(error)),
        }
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, FromJsonError> {
        match seed.deserialize(&mut *self.reader) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.place(error)),
        }
    }
}

/// An enum variant with content: the one member of an object.
#[derive(Debug)]
pub(super) struct Variant<'m, 'a, 'de>(&'m mut Members<'a, 'de>);

impl<'m, 'a, 'de> Variant<'m, 'a, 'de> {
    pub(super) fn new(members: &'m mut Members<'a, 'de>) -> Self {
        Self(members)
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, '_, 'de> {
    type Error = FromJsonError;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<(T::Value, Self), FromJsonError> {
        match self.0.next_key_seed(seed)? {
            Some(variant) => Ok((variant, self)),
            None => Err(FromJsonError::custom(
                "object is empty, expected one member named as a variant",
            )),
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, '_, 'de> {
    type Error = FromJsonError;

    fn unit_variant(self) -> Result<(), FromJsonError> {
        self.0.next_value()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, FromJsonError> {
        self.0.next_value_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, FromJsonError> {
        let value = self.0.reader.deserialize_any(visitor);
        value.map_err(|error| self.0.place(error))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FromJsonError> {
        let value = self.0.reader.deserialize_any(visitor);
        value.map_err(|error| self.0.place(error))
    }
}
