//! What happens in a turn, as it happens.

use std::{fmt, time::Duration};

use bytes::Bytes;
use codehatch_artifacts::Saved;
use codehatch_protocol::Stream;

use crate::{
    ids::{BlockNumber, CallNumber, TurnId},
    outcome::StopReason,
};

/// Something that happened. Values of tools are in none of them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A sandbox has started for the turn.
    SandboxStarted {
        /// How long that took.
        took: Duration,
    },
    /// A block must wait for others to end before it may run.
    BlockQueued {
        /// Which.
        block: BlockNumber,
    },
    /// A block begins.
    BlockStarted {
        /// Which.
        block: BlockNumber,
    },
    /// Processes of the sandbox have written something. Any bytes: not only whole lines or characters.
    Output {
        /// Where.
        stream: Stream,
        /// What.
        bytes: Bytes,
    },
    /// A tool call was taken on.
    CallStarted {
        /// Which.
        call: CallNumber,
        /// The tool's dotted path, or the unknown name that was asked for.
        tool: String,
    },
    /// A tool call was answered.
    CallEnded {
        /// Which.
        call: CallNumber,
        /// The tool's dotted path, or the unknown name that was asked for.
        tool: String,
        /// Whether it went well.
        ok: bool,
        /// From the call's arrival to its answer.
        took: Duration,
    },
    /// The block is asked to stop.
    Stopping {
        /// Why.
        reason: StopReason,
    },
    /// An artifact was kept.
    ArtifactSaved(Saved),
    /// The block has ended.
    BlockEnded {
        /// Which.
        block: BlockNumber,
        /// From its beginning.
        took: Duration,
    },
}

/// Reads every event of an engine's turns: a log, a tape, metrics.
pub trait Observer: fmt::Debug + Send + Sync {
    /// Called for each event, in order, by the task that runs the block. Must return at once.
    fn event(&self, turn: TurnId, event: &Event);
}
