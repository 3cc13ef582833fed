//! How much of what a peer sends is accepted. Every cap is checked before memory is set aside for what it counts.

/// Bytes of a [`CallId`](crate::CallId)'s text. Enforced on decoding.
pub const MAX_CALL_ID_BYTES: usize = 256;

/// Import names in the package list of a `ready` frame. Enforced on decoding.
pub const MAX_PACKAGES: usize = 16_384;

/// Distributions in the package list of a `ready` frame, over all import names. Enforced on decoding.
pub const MAX_DISTRIBUTIONS: usize = 65_536;

/// Names in a list of extensions. Enforced on decoding.
pub const MAX_EXTENSIONS: usize = 64;

/// Caps that a host or guest may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caps {
    /// Bytes of one frame without the end of its line. Default 64 MiB; enforced by whoever decodes, and before that
    /// by the [`LineSplitter`](crate::LineSplitter), which keeps no more of a line than this.
    pub frame_bytes: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            frame_bytes: 64 * 1024 * 1024,
        }
    }
}

impl Caps {
    /// Replaces the longest frame, in bytes.
    #[must_use]
    pub fn with_frame_bytes(mut self, frame_bytes: usize) -> Self {
        self.frame_bytes = frame_bytes;
        self
    }
}
