//! The timeout that a tool call asks for.

use std::time::Duration;

/// Seconds that a tool call wants to take at most. A wish of hostile code: the host clamps it to its own limit.
///
/// Finite and not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallTimeout(f64);

// Neither NaN nor -0.0 can be in it.
impl Eq for CallTimeout {}

impl CallTimeout {
    /// The timeout of this many seconds. `None` asks for none.
    ///
    /// `NaN` and infinity ask for none. A negative number, also negative infinity, is a timeout of 0: its time was
    /// over before the call was made.
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        if seconds.is_nan() || seconds == f64::INFINITY {
            return None;
        }
        Some(Self(if seconds > 0.0 { seconds } else { 0.0 }))
    }

    /// The timeout in seconds.
    pub const fn seconds(self) -> f64 {
        self.0
    }

    /// The timeout as a duration, to the nanosecond. One too long for the type is the longest there is.
    pub fn duration(self) -> Duration {
        Duration::try_from_secs_f64(self.0).unwrap_or(Duration::MAX)
    }
}

impl From<Duration> for CallTimeout {
    fn from(duration: Duration) -> Self {
        Self(duration.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_means_a_timeout_or_none() {
        let seconds = |seconds: f64| {
            CallTimeout::from_seconds(seconds).map(|timeout| timeout.seconds().to_bits())
        };
        for (asked, means) in [
            (1.5, Some(1.5)),
            (0.0, Some(0.0)),
            (-0.0, Some(0.0)),
            (-3.0, Some(0.0)),
            (f64::NEG_INFINITY, Some(0.0)),
            (f64::INFINITY, None),
            (f64::NAN, None),
            (1e300, Some(1e300)),
        ] {
            assert_eq!(seconds(asked), means.map(f64::to_bits), "{asked}");
        }
    }

    #[test]
    fn a_timeout_too_long_for_a_duration_is_the_longest() {
        let duration = |seconds| CallTimeout::from_seconds(seconds).map(CallTimeout::duration);
        assert_eq!(duration(1e300), Some(Duration::MAX));
        assert_eq!(duration(0.25), Some(Duration::from_millis(250)));
        assert_eq!(
            CallTimeout::from(Duration::from_millis(250))
                .seconds()
                .to_bits(),
            0.25f64.to_bits()
        );
    }
}
