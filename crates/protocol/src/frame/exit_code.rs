//! The exit code that a block reports.

/// What a block's code ended with, as the guest says: the argument of `sys.exit`, 0 at its end, 1 after an exception.
///
/// Any integer may come, since Python takes any; one beyond 64 bits is clamped to the nearest, and `true` is 1. It
/// comes from hostile code: it says how the block wants to be seen, never how the process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExitCode(i64);

impl ExitCode {
    /// The block ran to its end.
    pub const SUCCESS: Self = Self(0);

    /// An exit code of any size.
    pub const fn new(code: i64) -> Self {
        Self(code)
    }

    /// The number as reported, clamped to 64 bits.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Whether it is 0.
    pub const fn is_success(self) -> bool {
        self.0 == 0
    }

    /// An exit code that a process can have: from 0 to 255, and 255 for whatever is outside. Never 0 for another code,
    /// as cutting off bits would give for 256.
    pub fn process_code(self) -> u8 {
        u8::try_from(self.0).unwrap_or(u8::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_stays_one_as_a_process_code() {
        let codes =
            [0, 1, 255, 256, -1, i64::MIN, i64::MAX].map(|code| ExitCode::new(code).process_code());
        assert_eq!(codes, [0, 1, 255, 255, 255, 255, 255]);
    }

    #[test]
    fn only_zero_is_success() {
        assert!(ExitCode::SUCCESS.is_success());
        assert!(!ExitCode::new(256).is_success());
    }
}
