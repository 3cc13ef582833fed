//! Writes a [`Value`] as text, without recursion.

use serde_json::{Map, Number as JsonNumber, Value, map};

use super::{
    super::{
        levels::MAX_NESTING,
        number::{self, Number},
        raw::RawJson,
        scan::Facts,
        ser::ToJsonError,
        sink::Sink as _,
        text,
    },
    tag,
};

/// What is left of an array or an object that was opened.
#[derive(Debug)]
enum Open<'a> {
    Array(std::slice::Iter<'a, Value>),
    Object(map::Iter<'a>),
}

/// The text of a value, without its tags if it may have some.
pub(super) fn write(value: &Value, has_tags: bool) -> Result<RawJson, ToJsonError> {
    let mut writer = Writer {
        has_tags,
        ..Writer::default()
    };
    writer.value(value)?;
    while let Some(open) = writer.open.last_mut() {
        let next = match open {
            Open::Array(elements) => elements.next().map(|value| (None, value)),
            Open::Object(members) => members.next().map(|(name, value)| (Some(name), value)),
        };
        match next {
            Some((name, value)) => writer.part(name, value)?,
            None => writer.close(),
        }
    }
    Ok(RawJson::from_written(writer.out, writer.facts))
}

#[derive(Debug, Default)]
struct Writer<'a> {
    has_tags: bool,
    out: String,
    facts: Facts,
    open: Vec<Open<'a>>,
    /// Whether something stands before the next part, which wants a comma then.
    has_parts: bool,
}

impl<'a> Writer<'a> {
    fn part(&mut self, name: Option<&'a String>, value: &'a Value) -> Result<(), ToJsonError> {
        if self.has_parts {
            self.out.push(',');
        }
        if let Some(name) = name {
            self.string(name);
            self.out.push(':');
        }
        self.value(value)
    }

    fn value(&mut self, value: &'a Value) -> Result<(), ToJsonError> {
        self.has_parts = true;
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(value) => self.out.put_display(value),
            Value::Number(value) => self.number(value),
            Value::String(value) => self.string(value),
            Value::Array(elements) => self.begin('[', Open::Array(elements.iter()))?,
            Value::Object(members) => match tagged_number(members) {
                Some(text) if self.has_tags => {
                    let number = Number::parse(text);
                    self.facts.non_finite |= matches!(number, Number::NonFinite(_));
                    self.facts.overflow |= number == Number::Overflow;
                    self.out.push_str(text);
                }
                _ => self.begin('{', Open::Object(members.iter()))?,
            },
        }
        Ok(())
    }

    fn number(&mut self, value: &JsonNumber) {
        match value.as_f64() {
            Some(float) if value.is_f64() => number::write_float(&mut self.out, float),
            _ => self.out.put_display(value),
        }
    }

    fn string(&mut self, text: &str) {
        if self.has_tags {
            self.facts.lone_surrogate |= tag::write_untagged(&mut self.out, text);
        } else {
            text::write_string(&mut self.out, text);
        }
    }

    fn begin(&mut self, bracket: char, open: Open<'a>) -> Result<(), ToJsonError> {
        if self.open.len() >= MAX_NESTING {
            return Err(ToJsonError::too_deep());
        }
        self.out.push(bracket);
        self.open.push(open);
        self.facts.depth = self
            .facts
            .depth
            .max(u16::try_from(self.open.len()).unwrap_or(u16::MAX));
        self.has_parts = false;
        Ok(())
    }

    fn close(&mut self) {
        self.out.push(match self.open.pop() {
            Some(Open::Object(_)) => '}',
            _ => ']',
        });
        self.has_parts = true;
    }
}

fn tagged_number(members: &Map<String, Value>) -> Option<&str> {
    let (name, Value::String(text)) = members.iter().next()? else {
        return None;
    };
    tag::tagged_number(name, text).filter(|_| members.len() == 1)
}
