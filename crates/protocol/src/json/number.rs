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

/// Appends a float as Python's `json` module writes it: the shortest digits that read back as the same value, and of
/// several those that are closest to it.
pub(crate) fn write_float(out: &mut impl Sink, value: f64) {
    if !value.is_finite() {
        return out.put(non_finite_name(value));
    }
    let shortest = format!("{value:e}");
    write_scientific(out, &even_digits(value, &shortest).unwrap_or(shortest));
}

/// As [`write_float`]: the shortest digits for an `f32`, which are fewer.
pub(crate) fn write_float32(out: &mut impl Sink, value: f32) {
    if !value.is_finite() {
        return out.put(non_finite_name(value.into()));
    }
    write_scientific(out, &format!("{value:e}"));
}

/// The digits that Python chooses, where those of the standard library may be others.
///
/// A value may lie in the very middle between two decimals of as many digits, both of which read back as it. So does
/// 5.9604644775390625e-07: Python takes the even one, which ends with 2, and the standard library the upper one.
fn even_digits(value: f64, shortest: &str) -> Option<String> {
    let (_, fraction) = shortest.split_once('e')?.0.split_once('.')?;
    // Two decimals of fewer than 16 digits never read back as one value.
    if fraction.len() < 15 {
        return None;
    }
    let rounded_to_even = format!("{value:.*e}", fraction.len());
    (rounded_to_even.parse() == Ok(value)).then_some(rounded_to_even)
}

/// Appends a number like `-1.5e-7` in Python's form: with an exponent of at least two digits and its sign if it is
/// below 10⁻⁴ or from 10¹⁶ on, and else with a decimal point.
fn write_scientific(out: &mut impl Sink, number: &str) {
    let (mantissa, exponent) = number.split_once('e').unwrap_or((number, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return out.put_display(format_args!(
            "{mantissa}e{sign}{:02}",
            exponent.unsigned_abs()
        ));
    }
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(|&each| each != '.').collect();
    out.put(sign);
    let Ok(exponent) = usize::try_from(exponent) else {
        let zeros = exponent.unsigned_abs().saturating_sub(1);
        let zeros = usize::try_from(zeros).unwrap_or_default();
        return out.put_display(format_args!("0.{:0<zeros$}{digits}", ""));
    };
    let before_point = exponent.saturating_add(1);
    match digits.split_at_checked(before_point) {
        Some((integer, fraction)) if !fraction.is_empty() => {
            out.put_display(format_args!("{integer}.{fraction}"));
        }
        _ => out.put_display(format_args!("{digits:0<before_point$}.0")),
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
            (2f64.powi(-24), "5.960464477539063e-08"),
            (5.0 * 2f64.powi(-23), "5.960464477539062e-07"),
            (4_651_791_779_806_685.0 / 4.0, "1162947944951671.2"),
            (4_651_791_779_806_687.0 / 4.0, "1162947944951671.8"),
            (2f64.powi(-10), "0.0009765625"),
            (
                f64::from(u32::MAX) * 2f64.powi(-50),
                "3.8146972647368216e-06",
            ),
            (-2_251_799_813_685_248.5, "-2251799813685248.5"),
            (123.0, "123.0"),
            (1200.0, "1200.0"),
            (9_007_199_254_740_993e7, "9.007199254740994e+22"),
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
