//! Protocol versions: which peers are spoken to, and what may be expected of each.

use std::fmt;

/// A version of the protocol that this crate speaks.
///
/// A guest announces its version in `ready`; a host never announces one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProtocolVersion {
    /// Runs each block with fresh globals.
    V1,
    /// Keeps globals from block to block, sends `output` after `done`, and may list its packages.
    V2,
    /// Carries the status and body of failed HTTP calls. No release spoke it.
    V3,
    /// Can be interrupted, and says whether a block left work behind.
    V4,
}

impl ProtocolVersion {
    /// The newest version that this crate speaks.
    pub const LATEST: Self = Self::V4;

    /// The number on the wire.
    pub const fn number(self) -> u8 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
            Self::V3 => 3,
            Self::V4 => 4,
        }
    }

    /// The version that a sandbox announced as `number`. Only a newer one than [`LATEST`](Self::LATEST) is refused;
    /// whatever is below 1 is taken as the oldest.
    pub fn announced(number: i64) -> Result<Self, VersionError> {
        match number {
            ..=1 => Ok(Self::V1),
            2 => Ok(Self::V2),
            3 => Ok(Self::V3),
            4 => Ok(Self::V4),
            5.. => Err(VersionError {
                theirs: number,
                ours: Self::LATEST,
            }),
        }
    }

    /// Whether a guest may be sent `interrupt`. Older ones die of it: their blocks can only be killed.
    pub const fn takes_interrupt(self) -> bool {
        matches!(self, Self::V4)
    }

    /// Whether globals last from one block of a connection to the next. Without that a sandbox is good for one block.
    pub const fn keeps_globals(self) -> bool {
        !matches!(self, Self::V1)
    }

    /// Whether a guest sends `output` after the `done` of every block. Otherwise output is to be read from the
    /// sandbox's real stdout and stderr, although a guest over HTTP may send the frame all the same.
    pub const fn sends_output(self) -> bool {
        !matches!(self, Self::V1)
    }

    /// Whether `ready` may list the Python version and packages. The first releases of version 2 leave them empty.
    pub const fn reports_packages(self) -> bool {
        !matches!(self, Self::V1)
    }

    /// Whether `tool_result` carries the status and body of a failed HTTP call.
    pub const fn carries_http_errors(self) -> bool {
        matches!(self, Self::V3 | Self::V4)
    }

    /// Whether `done` says that threads or processes of the block are still at work. Of an older guest it is unknown.
    pub const fn reports_background_work(self) -> bool {
        matches!(self, Self::V4)
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// A sandbox speaks a version that is newer than this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the sandbox speaks protocol version {theirs}, this host only up to version {ours}: \
     upgrade codehatch on the host, or use a sandbox image of an older release"
)]
pub struct VersionError {
    /// The version that the sandbox announced.
    pub theirs: i64,
    /// The newest version that this host speaks.
    pub ours: ProtocolVersion,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_newer_version_is_refused() {
        let known = [i64::MIN, 0, 1, 2, 3, 4].map(ProtocolVersion::announced);
        let [v1, v2, v3, v4] = [
            ProtocolVersion::V1,
            ProtocolVersion::V2,
            ProtocolVersion::V3,
            ProtocolVersion::V4,
        ];
        assert_eq!(known, [v1, v1, v1, v2, v3, v4].map(Ok));
        for theirs in [5, i64::MAX] {
            let ours = ProtocolVersion::V4;
            assert_eq!(
                ProtocolVersion::announced(theirs),
                Err(VersionError { theirs, ours })
            );
        }
    }

    #[test]
    fn the_refusal_names_both_versions_and_what_to_upgrade() {
        let error = ProtocolVersion::announced(7).expect_err("newer");
        insta::assert_snapshot!(error, @"the sandbox speaks protocol version 7, this host only up to version 4: upgrade codehatch on the host, or use a sandbox image of an older release");
    }

    #[test]
    fn each_version_adds_what_its_releases_added() {
        let policy = |version: ProtocolVersion| {
            [
                version.keeps_globals(),
                version.sends_output(),
                version.reports_packages(),
                version.carries_http_errors(),
                version.takes_interrupt(),
                version.reports_background_work(),
            ]
        };
        assert_eq!(policy(ProtocolVersion::V1), [false; 6]);
        assert_eq!(
            policy(ProtocolVersion::V2),
            [true, true, true, false, false, false]
        );
        assert_eq!(
            policy(ProtocolVersion::V3),
            [true, true, true, true, false, false]
        );
        assert_eq!(policy(ProtocolVersion::V4), [true; 6]);
    }
}
