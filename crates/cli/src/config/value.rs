//! Sizes and times as people write them in a configuration.

use std::{fmt, time::Duration};

use serde::{Deserialize, Deserializer, de};

/// A time: `"90s"`, `"5m"`, `"1h 30m"`, or a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Duration);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Time;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as \"90s\" or \"5m\", or a number of seconds")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Time, E> {
                let seconds = u64::try_from(value)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))?;
                Ok(Time(Duration::from_secs(seconds)))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Time, E> {
                let time = Duration::try_from_secs_f64(value);
                let unexpected = || E::invalid_value(de::Unexpected::Float(value), &self);
                time.map(Time).map_err(|_| unexpected())
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Time, E> {
                let time = humantime::parse_duration(value);
                let unexpected = || E::invalid_value(de::Unexpected::Str(value), &self);
                time.map(Time).map_err(|_| unexpected())
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A number of bytes: `"256MiB"`, `"1.5 GB"`, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Size;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"256MiB\", or a number of bytes")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Size, E> {
                let bytes = u64::try_from(value)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))?;
                Ok(Size(bytes))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Size, E> {
                let size = value.parse::<bytesize::ByteSize>();
                let unexpected = || E::invalid_value(de::Unexpected::Str(value), &self);
                size.map(|size| Size(size.as_u64()))
                    .map_err(|_| unexpected())
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
