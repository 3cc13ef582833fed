//! The smallest pieces of JSON: each function takes one from the front of what is left.

use super::{
    error::JsonFault,
    number::Number,
    run::{digit_run, plain_run},
    scan::Facts,
};

/// What is left behind a token; `None` if there is none, and then the [`Notes`] say why.
///
/// This fits into two registers, which an error beside it would not.
pub(super) type Step<'a> = Option<&'a [u8]>;

/// What is noticed on the way.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes<'a> {
    /// About the value that was begun last.
    pub(super) facts: Facts,
    /// What is left in front of the thing that cannot be taken, and what is wrong with that.
    pub(super) stop: Option<(&'a [u8], JsonFault)>,
}

impl<'a> Notes<'a> {
    #[cold]
    pub(super) fn stop(&mut self, at: &'a [u8], fault: JsonFault) -> Step<'a> {
        self.stop = Some((at, fault));
        None
    }

    /// Something else was expected here.
    #[cold]
    pub(super) fn unexpected(&mut self, at: &'a [u8]) -> Step<'a> {
        let fault = if at.is_empty() {
            JsonFault::UnexpectedEnd
        } else {
            JsonFault::UnexpectedByte
        };
        self.stop(at, fault)
    }
}

/// Takes white space.
#[inline]
pub(super) fn space<'a>(rest: &'a [u8], notes: &mut Notes<'a>) -> &'a [u8] {
    match rest {
        [byte, ..] if *byte > b' ' => rest,
        _ => long_space(rest, notes),
    }
}

fn long_space<'a>(mut rest: &'a [u8], notes: &mut Notes<'a>) -> &'a [u8] {
    loop {
        match rest {
            [b' ' | b'\t', tail @ ..] => rest = tail,
            [b'\n' | b'\r', tail @ ..] => {
                notes.facts.line_break = true;
                rest = tail;
            }
            _ => return rest,
        }
    }
}

/// Takes a value that is neither an array nor an object.
#[inline]
pub(super) fn scalar<'a>(rest: &'a [u8], notes: &mut Notes<'a>) -> Step<'a> {
    match rest {
        [b'"', tail @ ..] => string(tail, notes),
        [b'0'..=b'9', ..] => number(rest, notes),
        [b'-', b'I', ..] => non_finite(rest, b"-Infinity", notes),
        [b'-', tail @ ..] => number(tail, notes),
        [b't', ..] => literal(rest, b"true", notes),
        [b'f', ..] => literal(rest, b"false", notes),
        [b'n', ..] => literal(rest, b"null", notes),
        [b'N', ..] => non_finite(rest, b"NaN", notes),
        [b'I', ..] => non_finite(rest, b"Infinity", notes),
        _ => notes.unexpected(rest),
    }
}

/// Takes a string whose first quote has been taken.
#[inline]
pub(super) fn string<'a>(mut rest: &'a [u8], notes: &mut Notes<'a>) -> Step<'a> {
    loop {
        rest = rest.get(plain_run(rest)..)?;
        // Escapes often come in a row.
        while let [b'\\', escaped, tail @ ..] = rest {
            rest = match escaped {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => tail,
                b'u' => unicode_escape(rest, notes)?,
                _ => return notes.stop(rest, JsonFault::InvalidEscape),
            };
        }
        match rest {
            [b'"', tail @ ..] => return Some(tail),
            [b'\\'] | [] => return notes.unexpected(&[]),
            [..0x20, ..] => return notes.stop(rest, JsonFault::ControlCharacter),
            _ => {}
        }
    }
}

/// Takes one of the words.
pub(super) fn literal<'a>(rest: &'a [u8], word: &'static [u8], notes: &mut Notes<'a>) -> Step<'a> {
    if let Some(tail) = rest.strip_prefix(word) {
        return Some(tail);
    }
    let same = rest.iter().zip(word).take_while(|(a, b)| a == b).count();
    notes.unexpected(rest.get(same..)?)
}

fn non_finite<'a>(rest: &'a [u8], word: &'static [u8], notes: &mut Notes<'a>) -> Step<'a> {
    notes.facts.non_finite = true;
    literal(rest, word, notes)
}

/// Takes numbers of an array, as many as follow each other without white space: a short cut for long arrays.
pub(super) fn numbers<'a>(mut rest: &'a [u8], notes: &mut Notes<'a>) -> Step<'a> {
    loop {
        rest = match rest {
            [b'-', b'I', ..] => return scalar(rest, notes),
            [b'-', tail @ ..] => number(tail, notes)?,
            _ => number(rest, notes)?,
        };
        match rest {
            [b',', tail @ ..] if matches!(tail, [b'0'..=b'9' | b'-', ..]) => rest = tail,
            _ => return Some(rest),
        }
    }
}

#[inline]
fn number<'a>(start: &'a [u8], notes: &mut Notes<'a>) -> Step<'a> {
    let mut rest = match start {
        [b'0', tail @ ..] => tail,
        _ => digits(start, notes)?,
    };
    let mut may_overflow = false;
    if let [b'.', tail @ ..] = rest {
        may_overflow = start.len().saturating_sub(rest.len()) > MAX_SAFE_DIGITS;
        rest = digits(tail, notes)?;
    }
    if let [b'e' | b'E', tail @ ..] = rest {
        let mantissa = start.len().saturating_sub(rest.len());
        rest = match tail {
            [b'+' | b'-', tail @ ..] => digits(tail, notes)?,
            _ => digits(tail, notes)?,
        };
        may_overflow |= mantissa > MAX_SAFE_DIGITS || tail.len().saturating_sub(rest.len()) > 2;
    }
    if may_overflow {
        overflow(start, rest, notes);
    }
    Some(rest)
}

/// Digits of a number that no exponent of two digits makes too large for an `f64`.
const MAX_SAFE_DIGITS: usize = 200;

/// Notices a number from `start` to `end` that no `f64` can hold.
#[cold]
fn overflow(start: &[u8], end: &[u8], notes: &mut Notes<'_>) {
    let number = start.get(..start.len().saturating_sub(end.len()));
    let text = number.and_then(|number| std::str::from_utf8(number).ok());
    notes.facts.overflow |= text.is_some_and(|text| Number::parse(text) == Number::Overflow);
}

/// Takes the digits of a number, of which there must be one.
///
/// The first ones go one by one: numbers of a list often have as many digits each, which a processor foretells, and
/// then it goes on with the next number without waiting for the end of this one. Many digits go by words.
#[inline]
fn digits<'a>(rest: &'a [u8], notes: &mut Notes<'a>) -> Step<'a> {
    let [b'0'..=b'9', tail @ ..] = rest else {
        return notes.unexpected(rest);
    };
    let mut rest = tail;
    for _ in 0..7 {
        match rest {
            [b'0'..=b'9', tail @ ..] => rest = tail,
            _ => return Some(rest),
        }
    }
    rest.get(digit_run(rest)..)
}

fn unicode_escape<'a>(rest: &'a [u8], notes: &mut Notes<'a>) -> Step<'a> {
    let Some((unit, tail)) = code_unit(rest) else {
        return notes.stop(rest, JsonFault::InvalidEscape);
    };
    match unit {
        0xD800..=0xDBFF => {
            if let Some((0xDC00..=0xDFFF, tail)) = code_unit(tail) {
                return Some(tail);
            }
            notes.facts.lone_surrogate = true;
        }
        0xDC00..=0xDFFF => notes.facts.lone_surrogate = true,
        _ => {}
    }
    Some(tail)
}

/// The code unit of a `\uXXXX` escape at the start of `text`, and what follows it.
#[inline]
pub(crate) fn code_unit(text: &[u8]) -> Option<(u16, &[u8])> {
    let [b'\\', b'u', digits @ ..] = text else {
        return None;
    };
    let (digits, tail) = digits.split_first_chunk::<4>()?;
    let [a, b, c, d] = digits.map(hex_digit);
    // A digit has the value 16 if it is none.
    if (a | b | c | d) > 15 {
        return None;
    }
    Some((a << 12 | b << 8 | c << 4 | d, tail))
}

fn hex_digit(digit: u8) -> u16 {
    match digit {
        b'0'..=b'9' => u16::from(digit & 0xF),
        b'a'..=b'f' | b'A'..=b'F' => u16::from(digit & 0xF).wrapping_add(9),
        _ => 16,
    }
}
