//! The members of an object, read and put together without building it.

use std::{
    borrow::{Borrow, Cow},
    iter,
};

use super::{
    error::{JsonError, JsonFault},
    levels::MAX_NESTING,
    raw::{JsonType, RawJson},
    scan::{Facts, Scanned, Scanner},
    sink::Sink as _,
    text,
};

impl RawJson {
    /// The top-level members of an object in the order of the text; nothing for any other value.
    ///
    /// A name that occurs twice comes twice: Python keeps the last. A lone surrogate in a name becomes U+FFFD.
    pub fn object_members(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        members(self.get()).map(|(name, value)| (text::decode_lossy(name), value.text))
    }

    /// The value of a top-level member of an object; the last one if the name occurs twice.
    ///
    /// Reads the whole object: to look at many members, use [`object_members`](Self::object_members).
    pub fn member(&self, name: &str) -> Option<Self> {
        members(self.get())
            .filter(|(raw_name, _)| text::decode_strict(raw_name).is_ok_and(|found| found == name))
            .last()
            .map(|(_, value)| Self::from_scanned(value))
    }

    /// Builds an object of these members, in this order and without white space between them.
    ///
    /// A name given twice occurs twice, and readers keep the last. Fails if the object would be nested deeper than
    /// [`MAX_NESTING`].
    pub fn from_members<N, V>(members: impl IntoIterator<Item = (N, V)>) -> Result<Self, JsonError>
    where
        N: AsRef<str>,
        V: Borrow<Self>,
    {
        let mut out = String::from("{");
        let mut facts = Facts {
            depth: 1,
            ..Facts::default()
        };
        for (name, value) in members {
            let value = value.borrow();
            if out.len() > 1 {
                out.put(",");
            }
            text::write_string(&mut out, name.as_ref());
            out.put(":");
            if usize::from(value.facts().depth) >= MAX_NESTING {
                return Err(JsonError {
                    offset: out.len(),
                    fault: JsonFault::TooDeep { limit: MAX_NESTING },
                });
            }
            out.put(value.get());
            facts = facts.around(value.facts());
        }
        out.put("}");
        Ok(Self::from_written(out, facts))
    }
}

impl Facts {
    /// The facts of a container with these facts, once it also holds a value with those of `inner`.
    fn around(self, inner: Self) -> Self {
        Self {
            non_finite: self.non_finite || inner.non_finite,
            lone_surrogate: self.lone_surrogate || inner.lone_surrogate,
            overflow: self.overflow || inner.overflow,
            line_break: self.line_break || inner.line_break,
            depth: self.depth.max(inner.depth.saturating_add(1)),
        }
    }
}

/// The elements of a well-formed array.
pub(crate) fn elements(array: &str) -> impl Iterator<Item = Scanned<'_>> {
    let mut scanner = Scanner::new(array);
    let mut open = JsonType::of(array) == JsonType::Array && scanner.eat(b'[');
    iter::from_fn(move || {
        if !open || scanner.eat(b']') {
            open = false;
            return None;
        }
        scanner.eat(b',');
        scanner.value().ok()
    })
}

/// The names, as they are between their quotes, and values of a well-formed object.
pub(crate) fn members(object: &str) -> impl Iterator<Item = (&str, Scanned<'_>)> {
    let mut scanner = Scanner::new(object);
    let mut open = JsonType::of(object) == JsonType::Object && scanner.eat(b'{');
    iter::from_fn(move || {
        // After the first member a comma stands here, or the closing bracket.
        if !open || scanner.eat(b'}') {
            open = false;
            return None;
        }
        scanner.eat(b',');
        let name = scanner.string().ok()?;
        scanner.expect(b':').ok()?;
        Some((name, scanner.value().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> RawJson {
        RawJson::parse(text).expect("well-formed")
    }

    fn listed(value: &RawJson) -> Vec<(String, String)> {
        value
            .object_members()
            .map(|(name, value)| (name.into_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn members_come_in_order_with_the_text_of_their_values() {
        let object =
            raw(" { \"a\" : [1, {\"b\":2}] ,\"\\u00e9\\n\":NaN,\"\\ud800\" : \"x\", \"a\":{} } ");
        let expected = [
            ("a", "[1, {\"b\":2}]"),
            ("é\n", "NaN"),
            ("\u{fffd}", "\"x\""),
            ("a", "{}"),
        ];
        assert_eq!(
            listed(&object),
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        for text in ["{}", " { } ", "[{\"a\":1}]", "1", "\"{}\""] {
            assert_eq!(listed(&raw(text)), [], "{text}");
        }
    }

    #[test]
    fn the_last_member_of_a_name_is_found() {
        let object = raw(r#"{"a":1,"\u0061":[ 2 ],"b":3}"#);
        assert_eq!(object.member("a"), Some(raw("[ 2 ]")));
        assert_eq!(object.member("c"), None);
    }

    #[test]
    fn an_object_is_built_from_names_and_values() {
        let built =
            RawJson::from_members([("a\"b", raw("[NaN]")), ("é", raw("{\n}"))]).expect("flat");
        assert_eq!(built, raw("{\"a\\\"b\":[NaN],\"é\":{\n}}"));
        let empty = RawJson::from_members::<&str, RawJson>([]).expect("flat");
        assert_eq!(empty, raw("{}"));
    }

    #[test]
    fn an_object_one_level_too_deep_is_not_built() {
        let nested = |levels: usize| raw(&format!("{}{}", "[".repeat(levels), "]".repeat(levels)));
        let deepest = RawJson::from_members([("a", &nested(MAX_NESTING.saturating_sub(1)))])
            .expect("at the limit");
        assert_eq!(usize::from(deepest.facts().depth), MAX_NESTING);
        assert_eq!(
            RawJson::from_members([("a", nested(MAX_NESTING))]),
            Err(JsonError {
                offset: 5,
                fault: JsonFault::TooDeep { limit: MAX_NESTING },
            })
        );
    }
}
