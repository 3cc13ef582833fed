//! Checks JSON text without building it: one pass, no recursion, no allocation.

use super::error::{JsonError, JsonFault};

/// Deepest nesting of arrays and objects that is accepted. Enforced wherever JSON is read.
///
/// Python's own encoder gives up near 1,000 levels, so a well-behaved guest never meets this limit.
pub const MAX_NESTING: usize = 1_000;

/// Bits that remember whether each open level is an object.
const STACK_WORDS: usize = MAX_NESTING.div_ceil(64);

/// What kind of text was scanned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// `NaN`, `Infinity` or `-Infinity` occurs: Python's JSON, but not the standard's.
    pub(crate) non_finite: bool,
    /// A string has half of a surrogate pair, which no UTF-8 text can hold.
    pub(crate) lone_surrogate: bool,
}

/// Reads tokens from `text`, which is known to be UTF-8.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    facts: Facts,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            facts: Facts::default(),
        }
    }

    pub(crate) fn facts(&self) -> Facts {
        self.facts
    }

    /// The next byte that is not white space, left in place.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = self.byte()?;
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.advance(1);
        }
    }

    /// Takes `byte` if it comes next, white space aside.
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.advance(1);
        }
        found
    }

    /// Takes `byte`, or says what stands there instead.
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    /// Takes what is left, which must be white space.
    pub(crate) fn end(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.fault(JsonFault::TrailingText)),
        }
    }

    /// Takes one whole value and returns its text.
    pub(crate) fn value(&mut self) -> Result<&'a str, JsonError> {
        self.peek();
        let start = self.at;
        let mut levels = Levels::default();
        loop {
            match self.peek().ok_or_else(|| self.unexpected())? {
                b'{' => {
                    self.advance(1);
                    if self.eat(b'}') {
                        // An empty object is a value of its own.
                    } else {
                        levels.open(true).map_err(|fault| self.fault(fault))?;
                        self.key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.advance(1);
                    if self.eat(b']') {
                        // An empty array is a value of its own.
                    } else {
                        levels.open(false).map_err(|fault| self.fault(fault))?;
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            if !self.close_levels(&mut levels)? {
                return Ok(self.since(start));
            }
        }
    }

    /// Takes a string and returns its text with the quotes.
    pub(crate) fn string(&mut self) -> Result<&'a str, JsonError> {
        self.expect(b'"')?;
        let start = self.at.saturating_sub(1);
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            let run = memchr::memchr2(b'"', b'\\', rest)
                .ok_or(self.fault_at(self.text.len(), JsonFault::UnexpectedEnd))?;
            let (plain, tail) = rest.split_at(run);
            if let Some(control) = plain.iter().position(|&byte| byte < 0x20) {
                self.advance(control);
                return Err(self.fault(JsonFault::ControlCharacter));
            }
            self.advance(run);
            if tail.first() == Some(&b'"') {
                self.advance(1);
                return Ok(self.since(start));
            }
            self.escape()?;
        }
    }

    /// After a value: takes commas and closing brackets until the next value or the end of the outermost one.
    fn close_levels(&mut self, levels: &mut Levels) -> Result<bool, JsonError> {
        loop {
            let Some(is_object) = levels.innermost() else {
                return Ok(false);
            };
            if self.eat(b',') {
                if is_object {
                    self.key()?;
                }
                return Ok(true);
            }
            self.expect(if is_object { b'}' } else { b']' })?;
            levels.close();
        }
    }

    fn key(&mut self) -> Result<(), JsonError> {
        self.string()?;
        self.expect(b':')
    }

    fn scalar(&mut self) -> Result<(), JsonError> {
        match self.byte() {
            Some(b'"') => self.string().map(drop),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            Some(b'N') => self.non_finite("NaN"),
            Some(b'I') => self.non_finite("Infinity"),
            Some(b'-') => {
                if self.text.as_bytes().get(self.at.saturating_add(1)) == Some(&b'I') {
                    self.non_finite("-Infinity")
                } else {
                    self.number()
                }
            }
            Some(b'0'..=b'9') => self.number(),
            _ => Err(self.unexpected()),
        }
    }

    fn non_finite(&mut self, word: &str) -> Result<(), JsonError> {
        self.literal(word)?;
        self.facts.non_finite = true;
        Ok(())
    }

    fn literal(&mut self, word: &str) -> Result<(), JsonError> {
        for expected in word.bytes() {
            if self.byte() != Some(expected) {
                return Err(self.unexpected());
            }
            self.advance(1);
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        if self.byte() == Some(b'-') {
            self.advance(1);
        }
        if self.byte() == Some(b'0') {
            self.advance(1);
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.advance(1);
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.advance(1);
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.advance(1);
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !matches!(self.byte(), Some(b'0'..=b'9')) {
            return Err(self.unexpected());
        }
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.advance(1);
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        match rest.get(1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.advance(2);
                Ok(())
            }
            Some(b'u') => {
                let Some(unit) = code_unit(rest) else {
                    return Err(self.fault(JsonFault::InvalidEscape));
                };
                self.advance(6);
                if (0xD800..0xDC00).contains(&unit) {
                    let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
                    if code_unit(rest).is_some_and(|low| (0xDC00..0xE000).contains(&low)) {
                        self.advance(6);
                    } else {
                        self.facts.lone_surrogate = true;
                    }
                } else if (0xDC00..0xE000).contains(&unit) {
                    self.facts.lone_surrogate = true;
                }
                Ok(())
            }
            Some(_) => Err(self.fault(JsonFault::InvalidEscape)),
            None => Err(self.fault_at(self.text.len(), JsonFault::UnexpectedEnd)),
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn advance(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes).min(self.text.len());
    }

    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn unexpected(&self) -> JsonError {
        if self.at >= self.text.len() {
            self.fault(JsonFault::UnexpectedEnd)
        } else {
            self.fault(JsonFault::UnexpectedByte)
        }
    }

    fn fault(&self, fault: JsonFault) -> JsonError {
        self.fault_at(self.at, fault)
    }

    #[expect(
        clippy::unused_self,
        reason = "reads as a constructor beside `fault`, with the offset given"
    )]
    fn fault_at(&self, offset: usize, fault: JsonFault) -> JsonError {
        JsonError { offset, fault }
    }
}

/// The code unit of a `\uXXXX` escape at the start of `text`.
pub(crate) fn code_unit(text: &[u8]) -> Option<u16> {
    let [b'\\', b'u', digits @ ..] = text else {
        return None;
    };
    digits.get(..4)?.iter().try_fold(0u16, |unit, &digit| {
        let value = char::from(digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(value).ok()?)
    })
}

/// The open arrays and objects, a bit each.
#[derive(Debug, Default)]
struct Levels {
    objects: [u64; STACK_WORDS],
    depth: usize,
}

impl Levels {
    fn open(&mut self, is_object: bool) -> Result<(), JsonFault> {
        if self.depth == MAX_NESTING {
            return Err(JsonFault::TooDeep { limit: MAX_NESTING });
        }
        let bit = 1u64 << (self.depth % 64);
        if let Some(word) = self.objects.get_mut(self.depth / 64) {
            *word = if is_object { *word | bit } else { *word & !bit };
        }
        self.depth = self.depth.saturating_add(1);
        Ok(())
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Whether the innermost open level is an object; `None` if none is open.
    fn innermost(&self) -> Option<bool> {
        let level = self.depth.checked_sub(1)?;
        let word = self.objects.get(level / 64).copied().unwrap_or_default();
        Some(word & 1 << (level % 64) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Result<Facts, JsonError> {
        let mut scanner = Scanner::new(text);
        scanner.value()?;
        scanner.end()?;
        Ok(scanner.facts())
    }

    #[test]
    fn what_python_writes_is_accepted() {
        for text in [
            "null",
            " [1, -0, 2.5e-3, 1E400] ",
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
