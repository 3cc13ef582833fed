//! Builds a [`Value`] from text, without recursion.

use serde_json::{Map, Number as JsonNumber, Value};

use super::{
    super::{
        de::{FromJsonError, FromJsonFault},
        error::JsonError,
        number::Number,
        path::Path,
        scan::Scanner,
        text::{self, LoneSurrogate},
    },
    tag,
};

/// The value of a well-formed text, or what cannot be held.
pub(super) fn exact(text: &str) -> Result<Value, FromJsonError> {
    let string = |raw| match text::decode_strict(raw) {
        Ok(text) => Ok(text.into_owned()),
        Err(LoneSurrogate) => Err(FromJsonFault::LoneSurrogate),
    };
    Builder::new(text, exact_number, string).value()
}

/// The value of a well-formed text, with tags for what cannot be held.
pub(super) fn tagged(text: &str) -> Value {
    let mut builder = Builder::new(
        text,
        |text| Ok(tagged_number(text)),
        |raw| Ok(tag::tagged(raw)),
    );
    // Nothing is refused, since the text is well-formed.
    builder.value().unwrap_or_default()
}

fn exact_number(text: &str) -> Result<Value, FromJsonFault> {
    let wanted = "f64";
    Err(match Number::parse(text) {
        Number::Big => FromJsonFault::IntegerOutOfRange {
            digits: text.trim_start_matches('-').len(),
            wanted: "64 bits",
        },
        Number::Overflow | Number::Underflow => FromJsonFault::FloatOutOfRange { wanted },
        Number::NonFinite(_) => FromJsonFault::NonFinite,
        number @ (Number::Unsigned(_) | Number::Negative(_) | Number::Float(_)) => {
            return Ok(plain_number(number));
        }
    })
}

fn tagged_number(text: &str) -> Value {
    match Number::parse(text) {
        Number::Big | Number::Overflow | Number::Underflow | Number::NonFinite(_) => {
            let tagged = (tag::NUMBER.to_owned(), Value::String(text.to_owned()));
            Value::Object(Map::from_iter([tagged]))
        }
        number @ (Number::Unsigned(_) | Number::Negative(_) | Number::Float(_)) => {
            plain_number(number)
        }
    }
}

fn plain_number(number: Number) -> Value {
    match number {
        Number::Unsigned(value) => value.into(),
        Number::Negative(value) => value.into(),
        Number::Float(value) => JsonNumber::from_f64(value).map_or(Value::Null, Value::Number),
        Number::Big | Number::Overflow | Number::Underflow | Number::NonFinite(_) => Value::Null,
    }
}

/// An array or an object whose end was not met yet.
#[derive(Debug)]
enum Open<'a> {
    Array(Vec<Value>),
    Object {
        members: Map<String, Value>,
        /// Of the member that is being read, as it is between its quotes.
        raw_name: &'a str,
        name: String,
    },
}

#[derive(Debug)]
struct Builder<'a, N, S> {
    scanner: Scanner<'a>,
    open: Vec<Open<'a>>,
    number: N,
    string: S,
}

impl<'a, N, S> Builder<'a, N, S>
where
    N: Fn(&'a str) -> Result<Value, FromJsonFault>,
    S: Fn(&'a str) -> Result<String, FromJsonFault>,
{
    fn new(text: &'a str, number: N, string: S) -> Self {
        Self {
            scanner: Scanner::new(text),
            open: Vec::new(),
            number,
            string,
        }
    }

    fn value(&mut self) -> Result<Value, FromJsonError> {
        loop {
            let complete = match self.scanner.peek() {
                Some(b'{') => self.begin_object()?,
                Some(b'[') => self.begin_array()?,
                _ => Some(self.scalar()?),
            };
            if let Some(value) = complete
                && let Some(outermost) = self.complete(value)?
            {
                return Ok(outermost);
            }
        }
    }

    /// Opens an array; an empty one is complete at once.
    fn begin_array(&mut self) -> Result<Option<Value>, FromJsonError> {
        self.scanner.expect(b'[')?;
        if self.scanner.eat(b']') {
            return Ok(Some(Value::Array(Vec::new())));
        }
        self.open.push(Open::Array(Vec::new()));
        Ok(None)
    }

    /// Opens an object and reads its first name; an empty one is complete at once.
    fn begin_object(&mut self) -> Result<Option<Value>, FromJsonError> {
        self.scanner.expect(b'{')?;
        if self.scanner.eat(b'}') {
            return Ok(Some(Value::Object(Map::new())));
        }
        self.begin_member(Map::new())?;
        Ok(None)
    }

    fn begin_member(&mut self, members: Map<String, Value>) -> Result<(), FromJsonError> {
        let raw_name = self.scanner.string()?;
        self.scanner.expect(b':')?;
        self.open.push(Open::Object {
            members,
            raw_name,
            name: String::new(),
        });
        let name = (self.string)(raw_name).map_err(|fault| self.place(fault))?;
        if let Some(Open::Object { name: place, .. }) = self.open.last_mut() {
            *place = name;
        }
        Ok(())
    }

    fn scalar(&mut self) -> Result<Value, FromJsonError> {
        let literal = |value: Value, taken: Result<(), JsonError>| taken.map(|()| value);
        Ok(match self.scanner.peek() {
            Some(b't') => literal(Value::Bool(true), self.scanner.literal(b"true"))?,
            Some(b'f') => literal(Value::Bool(false), self.scanner.literal(b"false"))?,
            Some(b'n') => literal(Value::Null, self.scanner.literal(b"null"))?,
            Some(b'"') => {
                let raw = self.scanner.string()?;
                Value::String((self.string)(raw).map_err(|fault| self.place(fault))?)
            }
            _ => {
                let text = self.scanner.number()?;
                (self.number)(text).map_err(|fault| self.place(fault))?
            }
        })
    }

    /// Puts a value where it belongs, closes what ends behind it, and returns the outermost value once it is closed.
    fn complete(&mut self, mut value: Value) -> Result<Option<Value>, FromJsonError> {
        loop {
            value = match self.open.pop() {
                None => return Ok(Some(value)),
                Some(Open::Array(mut elements)) => {
                    elements.push(value);
                    if self.scanner.eat(b',') {
                        self.open.push(Open::Array(elements));
                        return Ok(None);
                    }
                    self.scanner.expect(b']')?;
                    Value::Array(elements)
                }
                Some(Open::Object {
                    mut members, name, ..
                }) => {
                    members.insert(name, value);
                    if self.scanner.eat(b',') {
                        self.begin_member(members)?;
                        return Ok(None);
                    }
                    self.scanner.expect(b'}')?;
                    Value::Object(members)
                }
            };
        }
    }

    fn place(&self, fault: FromJsonFault) -> FromJsonError {
        let mut path = Path::default();
        for open in self.open.iter().rev() {
            match open {
                Open::Array(elements) => path.in_element(elements.len()),
                Open::Object { raw_name, .. } => path.in_raw_member(raw_name),
            }
        }
        FromJsonError::at(path, fault)
    }
}
