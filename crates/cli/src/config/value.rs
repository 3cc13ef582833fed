//! Sizes and times as people write them, in a configuration and on the command line.

use std::{fmt, time::Duration};

use serde::{Deserialize, Deserializer, de};

/// No time is longer, so that clocks can be set by it. Ten years.
const LONGEST: Duration = Duration::from_hours(10 * 366 * 24);

/// A time: `"90s"`, `"5m"`, `"1h 30m"`, or a number of seconds. Longer than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Duration);

impl Time {
    const EXPECTED: &str =
        "a time such as \"90s\" or \"5m\", or a number of seconds, longer than 0";

    fn new(time: Duration) -> Option<Self> {
        (!time.is_zero()).then(|| Self(time.min(LONGEST)))
    }

    fn from_seconds(seconds: f64) -> Option<Self> {
        // More than a `Duration` holds is as good as for ever.
        if seconds > LONGEST.as_secs_f64() {
            return Some(Self(LONGEST));
        }
        Self::new(Duration::try_from_secs_f64(seconds).ok()?)
    }

    /// Reads it from a command line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let time = match text.trim().parse::<f64>() {
            Ok(seconds) => Self::from_seconds(seconds),
            Err(_) => humantime::parse_duration(text).ok().and_then(Self::new),
        };
        time.ok_or_else(|| format!("expected {}", Self::EXPECTED))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Time;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Time::EXPECTED)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Time, E> {
                let seconds = u64::try_from(value).ok().map(Duration::from_secs);
                let unexpected = || E::invalid_value(de::Unexpected::Signed(value), &self);
                seconds.and_then(Time::new).ok_or_else(unexpected)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Time, E> {
                let unexpected = || E::invalid_value(de::Unexpected::Float(value), &self);
                Time::from_seconds(value).ok_or_else(unexpected)
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Time, E> {
                let unexpected = |_| E::invalid_value(de::Unexpected::Str(value), &self);
                Time::parse(value).map_err(unexpected)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A number of bytes: `"256MiB"`, `"1.5 GB"`, or a number. More than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

impl Size {
    const EXPECTED: &str = "a size such as \"256MiB\", or a number of bytes, more than 0";

    /// Reads it from a command line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let size = text.trim().parse::<bytesize::ByteSize>().ok();
        let size = size.map(|size| size.as_u64()).filter(|&bytes| bytes > 0);
        size.map(Self)
            .ok_or_else(|| format!("expected {}", Self::EXPECTED))
    }

    pub(crate) fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Size;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Size::EXPECTED)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Size, E> {
                let bytes = u64::try_from(value).ok().filter(|&bytes| bytes > 0);
                let unexpected = || E::invalid_value(de::Unexpected::Signed(value), &self);
                bytes.map(Size).ok_or_else(unexpected)
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Size, E> {
                let unexpected = |_| E::invalid_value(de::Unexpected::Str(value), &self);
                Size::parse(value).map_err(unexpected)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A number of processors, such as 1.5. More than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cpus {
    /// In thousandths of one.
    pub(crate) milli: u32,
}

impl<'de> Deserialize<'de> for Cpus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let cpus = f64::deserialize(deserializer)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float becomes an integer by saturation"
        )]
        let milli = (cpus * 1000.0) as u32;
        if milli == 0 {
            let unexpected = de::Unexpected::Float(cpus);
            let expected = &"a number of processors such as 1.5, more than 0";
            return Err(de::Error::invalid_value(unexpected, expected));
        }
        Ok(Self { milli })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_or_are_seconds() {
        let parse = |text| Time::parse(text).map(|time| time.0);
        assert_eq!(parse("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("1h 30m"), Ok(Duration::from_mins(90)));
        assert_eq!(parse("2.5"), Ok(Duration::from_millis(2500)));
        assert_eq!(parse("500000000000000s"), Ok(LONGEST));
        assert_eq!(parse("inf"), Ok(LONGEST));
        for wrong in ["0", "0s", "-1", "nan", "soon", ""] {
            assert_eq!(
                parse(wrong),
                Err(
                    "expected a time such as \"90s\" or \"5m\", or a number of seconds, longer than 0"
                        .into()
                ),
                "{wrong}"
            );
        }
    }

    #[test]
    fn sizes_have_units_or_are_bytes() {
        let parse = |text| Size::parse(text).map(|size| size.0);
        assert_eq!(parse("256MiB"), Ok(256 * 1024 * 1024));
        assert_eq!(parse("1.5 GB"), Ok(1_500_000_000));
        assert_eq!(parse("4096"), Ok(4096));
        for wrong in ["0", "lots", "-1", ""] {
            assert_eq!(
                parse(wrong),
                Err("expected a size such as \"256MiB\", or a number of bytes, more than 0".into()),
                "{wrong}"
            );
        }
    }
}
