//! Bounds on the blocks of a turn. The host keeps all of them.

use std::{num::NonZeroUsize, time::Duration};

use codehatch_runtime::{CollectLimits, Limits};

/// Bounds on a turn and its blocks, beyond those of its [sandbox](Limits).
///
/// Build with [`TurnLimits::default`] and the `with_*` methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnLimits {
    /// Bounds on the sandbox itself.
    pub sandbox: Limits,
    /// Wall clock of one block. Default 60 s.
    pub block_time: Duration,
    /// Processor time of one block, of all of its processes together. Default none.
    ///
    /// It is looked at twice a second, so a block may have half a second more on each processor.
    pub cpu_time: Option<Duration>,
    /// How long a block may take to stop once it is asked to; then its sandbox is killed. Default 5 s.
    pub grace: Duration,
    /// Wall clock of one tool call, from when it leaves the queue. Default none: the block's limit holds.
    pub call_time: Option<Duration>,
    /// Tool calls under way at once; more wait in the queue. Default 32.
    pub parallel_calls: NonZeroUsize,
    /// Tool calls that wait in the queue; then the guest itself must wait. Default 1,024.
    pub queued_calls: usize,
    /// Bytes of a block's source. Default 1,000,000.
    pub code_bytes: usize,
    /// Bytes of standard output, and of standard error, that a block's outcome shows; the whole goes to an
    /// artifact. Default 50,000.
    pub output_bytes: usize,
    /// Bytes of one frame: of a call's arguments, of a result. Default 64 MiB.
    pub frame_bytes: usize,
    /// Bytes of one image that a block makes. Default 8 MiB. Larger ones, and those beyond 16, are dropped with a
    /// note.
    pub image_bytes: usize,
    /// What is collected from the workspace after a block.
    pub collect: CollectLimits,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            sandbox: Limits::default(),
            block_time: Duration::from_mins(1),
            cpu_time: None,
            grace: Duration::from_secs(5),
            call_time: None,
            parallel_calls: const { NonZeroUsize::new(32).unwrap() },
            queued_calls: 1_024,
            code_bytes: 1_000_000,
            output_bytes: 50_000,
            frame_bytes: 64 * 1024 * 1024,
            image_bytes: 8 * 1024 * 1024,
            collect: CollectLimits::default(),
        }
    }
}

impl TurnLimits {
    /// Replaces the bounds on the sandbox.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: Limits) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Replaces the wall clock of one block.
    #[must_use]
    pub fn with_block_time(mut self, time: Duration) -> Self {
        self.block_time = time;
        self
    }

    /// Replaces the processor time of one block.
    #[must_use]
    pub fn with_cpu_time(mut self, time: Option<Duration>) -> Self {
        self.cpu_time = time;
        self
    }

    /// Replaces the time that a block has to stop.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Replaces the wall clock of one tool call.
    #[must_use]
    pub fn with_call_time(mut self, time: Option<Duration>) -> Self {
        self.call_time = time;
        self
    }

    /// Replaces the number of tool calls under way at once.
    #[must_use]
    pub fn with_parallel_calls(mut self, calls: NonZeroUsize) -> Self {
        self.parallel_calls = calls;
        self
    }

    /// Replaces the number of tool calls that wait.
    #[must_use]
    pub fn with_queued_calls(mut self, calls: usize) -> Self {
        self.queued_calls = calls;
        self
    }

    /// Replaces the longest source of a block, in bytes.
    #[must_use]
    pub fn with_code_bytes(mut self, bytes: usize) -> Self {
        self.code_bytes = bytes;
        self
    }

    /// Replaces the output that a block's outcome shows, in bytes.
    #[must_use]
    pub fn with_output_bytes(mut self, bytes: usize) -> Self {
        self.output_bytes = bytes;
        self
    }

    /// Replaces the longest frame, in bytes.
    #[must_use]
    pub fn with_frame_bytes(mut self, bytes: usize) -> Self {
        self.frame_bytes = bytes;
        self
    }

    /// Replaces the largest image, in bytes.
    #[must_use]
    pub fn with_image_bytes(mut self, bytes: usize) -> Self {
        self.image_bytes = bytes;
        self
    }

    /// Replaces what is collected from the workspace.
    #[must_use]
    pub fn with_collect(mut self, collect: CollectLimits) -> Self {
        self.collect = collect;
        self
    }
}
