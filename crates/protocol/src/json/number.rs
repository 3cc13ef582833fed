//! What a number's text stands for, and floats written as Python writes them.

use std::num::FpCategory;

use super::{scan::Scanner, sink::Sink};

/// A number, judged by what can hold it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// An integer from 0.
    Unsigned(u64),
    /// An integer below 0.
    Negative(i64),
    /// An integer that neither of them holds.
    Big,
    /// A float: it has a fraction or an exponent.
    Float(f64),
    /// A float whose size no `f64` can hold.
    Overflow,
    /// A float so close to 0 that an `f64` would hold 0.
    Underflow,
    /// `NaN` or an infinity, by its name.
    NonFinite(f64),
}

impl Number {
    /// Judges a text that a scanner took for a number.
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "NaN" => return Self::NonFinite(f64::NAN),
            "Infinity" => return Self::NonFinite(f64::INFINITY),
            "-Infinity" => return Self::NonFinite(f64::NEG_INFINITY),
            // Python has no negative zero among its integers.
            "-0" => return Self::Unsigned(0),
            _ => {}
        }
        if is_integer(text) {
            if let Ok(value) = text.parse() {
                return Self::Unsigned(value);
            }
            return text.parse().map_or(Self::Big, Self::Negative);
        }
        // The standard library rounds correctly, as Python's `float` does.
        match text.parse::<f64>() {
            Ok(value) if value.is_infinite() => Self::Overflow,
            Ok(value) if value.classify() == FpCategory::Zero && !mantissa_is_zero(text) => {
                Self::Underflow
            }
            Ok(value) => Self::Float(value),
            Err(_) => Self::Overflow,
        }
    }
}

/// Whether `text` is a number and nothing else, `NaN` and the infinities included.
pub(crate) fn is_number(text: &str) -> bool {
    let mut scanner = Scanner::new(text);
    scanner
        .number()
        .is_ok_and(|number| number.len() == text.len())
}

/// Whether the number has neither fraction nor exponent, and is none of the names.
pub(crate) fn is_integer(text: &str) -> bool {
    !text
        .bytes()
        .any(|byte| matches!(byte, b'.' | b'e' | b'E' | b'N' | b'I'))
}

fn mantissa_is_zero(text: &str) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    !mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
}

/// Appends a float as Python's `json` module writes it: the shortest digits that read back as the same value.
pub(crate) fn write_float(out: &mut impl Sink, value: f64) {
    if value.is_finite() {
        write_digits(out, &format!("{value:?}"));
    } else {
        out.put(non_finite_name(value));
    }
}

/// As [`write_float`]: the shortest digits for an `f32`, which are fewer.
pub(crate) fn write_float32(out: &mut impl Sink, value: f32) {
    if value.is_finite() {
        write_digits(out, &format!("{value:?}"));
    } else {
        out.put(non_finite_name(value.into()));
    }
}

fn non_finite_name(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

/// Rust and Python choose the same digits and the same sizes for an exponent, but Python writes its sign and at
/// least two digits.
fn write_digits(out: &mut impl Sink, digits: &str) {
    let Some((mantissa, exponent)) = digits.split_once('e') else {
        return out.put(digits);
    };
    let (sign, size) = match exponent.strip_prefix('-') {
        Some(size) => ('-', size),
        None => ('+', exponent),
    };
    out.put_display(format_args!("{mantissa}e{sign}{size:0>2}"));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn float(value: f64) -> String {
        let mut out = String::new();
        write_float(&mut out, value);
        out
    }

    #[test]
    fn numbers_are_judged_by_what_holds_them() {
        for (text, number) in [
            ("0", Number::Unsigned(0)),
            ("-0", Number::Unsigned(0)),
            ("18446744073709551615", Number::Unsigned(u64::MAX)),
            ("18446744073709551616", Number::Big),
            ("-9223372036854775808", Number::Negative(i64::MIN)),
            ("-9223372036854775809", Number::Big),
            ("1e2", Number::Float(100.0)),
            ("-0.0", Number::Float(-0.0)),
            ("0e999999999999999999999", Number::Float(0.0)),
            ("1.7976931348623157e308", Number::Float(f64::MAX)),
            ("1e400", Number::Overflow),
            ("-1e99999999999999999999", Number::Overflow),
            ("5e-324", Number::Float(5e-324)),
            ("1e-400", Number::Underflow),
            ("-0.00001e-99999999999999999999", Number::Underflow),
            ("-Infinity", Number::NonFinite(f64::NEG_INFINITY)),
        ] {
            assert_eq!(Number::parse(text), number, "{text}");
        }
        assert!(matches!(Number::parse("NaN"), Number::NonFinite(value) if value.is_nan()));
    }

    #[test]
    fn floats_are_written_as_python_writes_them() {
        for (value, text) in [
            (30.0, "30.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn a_short_float_keeps_its_short_digits() {
        let mut out = String::new();
        write_float32(&mut out, 0.1);
        assert_eq!(out, "0.1");
    }

    proptest! {
        #[test]
        fn a_written_float_is_the_same_float_when_read(value in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO) {
            prop_assert_eq!(Number::parse(&float(value)), Number::Float(value));
        }
    }
}
