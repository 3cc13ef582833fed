//! Checks JSON text without building it: one pass, no recursion, no allocation.

use super::{
    error::{JsonError, JsonFault},
    levels::{Levels, MAX_NESTING},
    token::{self, Notes, Step},
};

/// What kind of text a value is. A function of the text alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and any may hold with any other"
)]
pub(crate) struct Facts {
    /// `NaN`, `Infinity` or `-Infinity` occurs: Python's JSON, but not the standard's.
    pub(crate) non_finite: bool,
    /// A string has half of a surrogate pair, which no UTF-8 text can hold.
    pub(crate) lone_surrogate: bool,
    /// A number with a fraction or an exponent is too large for an `f64`, such as `1e400`.
    pub(crate) overflow: bool,
    /// A line break stands between two tokens, so that the text is no single line.
    pub(crate) line_break: bool,
    /// Arrays and objects within each other, 0 for a scalar.
    pub(crate) depth: u16,
}

impl Facts {
    /// Whether every JSON reader takes the text.
    pub(crate) fn is_standard(self) -> bool {
        !self.non_finite && !self.lone_surrogate
    }
}

/// One value that was found well-formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scanned<'a> {
    /// Its text, without white space around it.
    pub(crate) text: &'a str,
    /// What was noticed in it.
    pub(crate) facts: Facts,
}

/// Reads tokens from a text, which is known to be UTF-8.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    /// What is left to read: always a tail of `text`.
    rest: &'a [u8],
    notes: Notes<'a>,
    /// Deepest nesting of a value.
    limit: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            rest: text.as_bytes(),
            notes: Notes::default(),
            limit: MAX_NESTING,
        }
    }

    /// Takes values that are nested one level deeper than elsewhere.
    pub(crate) fn with_extra_level(mut self) -> Self {
        self.limit = MAX_NESTING.saturating_add(1);
        self
    }

    /// Bytes read so far.
    pub(crate) fn offset(&self) -> usize {
        self.text.len().saturating_sub(self.rest.len())
    }

    /// Goes to an offset.
    pub(crate) fn seek(&mut self, offset: usize) {
        self.rest = self.text.as_bytes().get(offset..).unwrap_or_default();
    }

    /// The next byte that is not white space, left in place.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.rest = token::space(self.rest, &mut self.notes);
        self.rest.first().copied()
    }

    /// Takes `byte` if it comes next, white space aside.
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        self.rest = token::space(self.rest, &mut self.notes);
        match self.rest {
            [found, tail @ ..] if *found == byte => {
                self.rest = tail;
                true
            }
            _ => false,
        }
    }

    /// Takes `byte`, or says what stands there instead.
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.eat(byte) {
            return Ok(());
        }
        self.notes.unexpected(self.rest);
        Err(self.error())
    }

    /// Takes what is left, which must be white space.
    pub(crate) fn end(&mut self) -> Result<(), JsonError> {
        if self.peek().is_none() {
            return Ok(());
        }
        self.notes.stop(self.rest, JsonFault::TrailingText);
        Err(self.error())
    }

    /// Takes the one value that the whole text is.
    pub(crate) fn only_value(mut self) -> Result<Facts, JsonError> {
        self.peek();
        let before = self.notes.facts.line_break;
        let value = self.value()?;
        self.end()?;
        // White space around the value belongs to the text too.
        Ok(Facts {
            line_break: before || self.notes.facts.line_break,
            ..value.facts
        })
    }

    /// Takes one whole value.
    pub(crate) fn value(&mut self) -> Result<Scanned<'a>, JsonError> {
        self.peek();
        self.notes.facts = Facts::default();
        let start = self.offset();
        let step = value(self.rest, self.limit, &mut self.notes);
        self.take(step)?;
        Ok(Scanned {
            text: self.since(start),
            facts: self.notes.facts,
        })
    }

    /// Takes a string and returns its text without the quotes.
    pub(crate) fn string(&mut self) -> Result<&'a str, JsonError> {
        self.expect(b'"')?;
        let start = self.offset();
        let step = token::string(self.rest, &mut self.notes);
        self.take(step)?;
        let quoted = self.since(start);
        Ok(quoted.strip_suffix('"').unwrap_or(quoted))
    }

    /// Takes a number, `NaN` or an infinity, and returns its text.
    pub(crate) fn number(&mut self) -> Result<&'a str, JsonError> {
        let step = match self.peek() {
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => token::scalar(self.rest, &mut self.notes),
            _ => self.notes.unexpected(self.rest),
        };
        let start = self.offset();
        self.take(step)?;
        Ok(self.since(start))
    }

    /// Takes `true`, `false` or `null` as `word` says.
    pub(crate) fn literal(&mut self, word: &'static [u8]) -> Result<(), JsonError> {
        let step = token::literal(self.rest, word, &mut self.notes);
        self.take(step)
    }

    fn take(&mut self, step: Step<'a>) -> Result<(), JsonError> {
        self.rest = step.ok_or_else(|| self.error())?;
        Ok(())
    }

    #[cold]
    fn error(&mut self) -> JsonError {
        let (at, fault) = self
            .notes
            .stop
            .unwrap_or((self.rest, JsonFault::UnexpectedByte));
        JsonError {
            offset: self.text.len().saturating_sub(at.len()),
            fault,
        }
    }

    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.offset()).unwrap_or_default()
    }
}

/// Takes one value. What is left is kept in a variable and not behind a reference, for speed.
fn value<'a>(mut rest: &'a [u8], limit: usize, notes: &mut Notes<'a>) -> Step<'a> {
    let mut levels = Levels::new(limit);
    loop {
        rest = token::space(rest, notes);
        rest = match rest {
            [bracket @ (b'{' | b'['), tail @ ..] => {
                let is_object = *bracket == b'{';
                if let Err(fault) = levels.open(is_object) {
                    return notes.stop(tail, fault);
                }
                let inside = token::space(tail, notes);
                match inside {
                    [b'}', tail @ ..] if is_object => {
                        levels.close();
                        tail
                    }
                    [b']', tail @ ..] if !is_object => {
                        levels.close();
                        tail
                    }
                    _ if is_object => {
                        rest = name(inside, notes)?;
                        continue;
                    }
                    _ => {
                        rest = inside;
                        continue;
                    }
                }
            }
            [b'0'..=b'9' | b'-', ..] if levels.innermost() == Some(false) => {
                token::numbers(rest, notes)?
            }
            _ => token::scalar(rest, notes)?,
        };
        // Closes what ends here, up to the next value or the end of the outermost one.
        loop {
            let Some(is_object) = levels.innermost() else {
                notes.facts.depth = levels.deepest();
                return Some(rest);
            };
            rest = token::space(rest, notes);
            rest = match rest {
                [b',', tail @ ..] => {
                    rest = if is_object {
                        name(token::space(tail, notes), notes)?
                    } else {
                        tail
                    };
                    break;
                }
                [b'}', tail @ ..] if is_object => tail,
                [b']', tail @ ..] if !is_object => tail,
                _ => return notes.unexpected(rest),
            };
            levels.close();
        }
    }
}

/// Takes the name of a member and its colon.
#[inline]
fn name<'a>(rest: &'a [u8], notes: &mut Notes<'a>) -> Step<'a> {
    let [b'"', tail @ ..] = rest else {
        return notes.unexpected(rest);
    };
    let rest = token::space(token::string(tail, notes)?, notes);
    match rest {
        [b':', tail @ ..] => Some(tail),
        _ => notes.unexpected(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Facts about a text, but for its depth.
    fn scan(text: &str) -> Result<Facts, JsonError> {
        let facts = Scanner::new(text).only_value()?;
        Ok(Facts { depth: 0, ..facts })
    }

    #[test]
    fn what_python_writes_is_accepted() {
        for text in [
            "null",
            " [1, -0, 2.5e-3, 1E300] ",
            "{\"a\":{\"b\":[{},[]]},\"a\":2}",
            "123456789012345678901234567890",
            "\"\\u00e9\\ud83d\\ude00 \\/ é\"",
        ] {
            assert_eq!(scan(text), Ok(Facts::default()), "{text}");
        }
    }

    #[test]
    fn non_finite_numbers_and_lone_surrogates_are_noticed() {
        let non_finite = Facts {
            non_finite: true,
            ..Facts::default()
        };
        for text in ["NaN", "[Infinity]", "{\"a\":-Infinity}"] {
            assert_eq!(scan(text), Ok(non_finite), "{text}");
        }
        let lone = Facts {
            lone_surrogate: true,
            ..Facts::default()
        };
        for text in [r#""\ud800""#, r#""\udc00x""#, r#""\ud800\u0041""#] {
            assert_eq!(scan(text), Ok(lone), "{text}");
        }
    }

    #[test]
    fn numbers_that_no_float_holds_are_noticed() {
        let digits = "1".repeat(400);
        for (text, overflow) in [
            ("1e400".to_owned(), true),
            ("[1,-1E+309]".to_owned(), true),
            (format!("{{\"a\":{digits}.5}}"), true),
            (format!("{digits}e-300"), false),
            (format!("{digits}.5e-300"), false),
            (format!("[{}e99]", &digits[..220]), true),
            (digits, false),
            ("1.7976931348623157e308".to_owned(), false),
            ("[1e-400,0e999,\"1e400\"]".to_owned(), false),
        ] {
            let facts = Scanner::new(&text).only_value().expect("well-formed");
            assert_eq!(facts.overflow, overflow, "{text}");
        }
    }

    #[test]
    fn line_breaks_and_depth_are_noticed() {
        let facts = |text: &str| {
            let facts = Scanner::new(text).only_value().expect("well-formed");
            (facts.line_break, facts.depth)
        };
        for (text, line_break, depth) in [
            ("1", false, 0),
            ("\n1", true, 0),
            ("1\r", true, 0),
            ("[\n]", true, 1),
            ("[[],{\"a\":[1]}]", false, 3),
            ("\"\\n\"", false, 0),
        ] {
            assert_eq!(facts(text), (line_break, depth), "{text}");
        }
    }

    #[test]
    fn the_facts_of_a_value_are_its_own() {
        let mut scanner = Scanner::new("\nNaN,\n [\n] ,{}");
        let facts = |depth, line_break| Facts {
            line_break,
            depth,
            ..Facts::default()
        };
        let non_finite = Facts {
            non_finite: true,
            ..facts(0, false)
        };
        let mut found = Vec::new();
        loop {
            found.push(scanner.value().map(|value| (value.text, value.facts)));
            if !scanner.eat(b',') {
                break;
            }
        }
        assert_eq!(
            found,
            [
                Ok(("NaN", non_finite)),
                Ok(("[\n]", facts(1, true))),
                Ok(("{}", facts(1, false))),
            ]
        );
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        let error = |offset, fault| Err(JsonError { offset, fault });
        assert_eq!(scan(""), error(0, JsonFault::UnexpectedEnd));
        assert_eq!(scan("[1,]"), error(3, JsonFault::UnexpectedByte));
        assert_eq!(scan("{\"a\" 1}"), error(5, JsonFault::UnexpectedByte));
        assert_eq!(scan("{\"a\":1,}"), error(7, JsonFault::UnexpectedByte));
        assert_eq!(scan("\"a\nb\""), error(2, JsonFault::ControlCharacter));
        assert_eq!(scan("\"\\x\""), error(1, JsonFault::InvalidEscape));
        assert_eq!(scan("\"\\u12G4\""), error(1, JsonFault::InvalidEscape));
        assert_eq!(scan("\"abc"), error(4, JsonFault::UnexpectedEnd));
        assert_eq!(scan("01"), error(1, JsonFault::TrailingText));
        assert_eq!(scan("-"), error(1, JsonFault::UnexpectedEnd));
        assert_eq!(scan("1.e5"), error(2, JsonFault::UnexpectedByte));
        assert_eq!(scan("nul"), error(3, JsonFault::UnexpectedEnd));
        assert_eq!(scan("[1}"), error(2, JsonFault::UnexpectedByte));
    }

    #[test]
    fn one_level_over_the_limit_is_refused() {
        let nested = |levels: usize| "[".repeat(levels) + "1" + &"]".repeat(levels);
        assert_eq!(scan(&nested(MAX_NESTING)), Ok(Facts::default()));
        assert_eq!(
            scan(&nested(MAX_NESTING + 1)),
            Err(JsonError {
                offset: MAX_NESTING + 1,
                fault: JsonFault::TooDeep { limit: MAX_NESTING },
            })
        );
    }
}
