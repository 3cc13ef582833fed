//! How a block is stopped: at its limits, at a wish, and for good after the grace.

use std::time::Duration;

use codehatch_protocol::{HostFrame, Interrupt};
use futures_util::FutureExt;
use tokio::time;

use super::{End, Running};
use crate::{
    event::Event,
    outcome::{LossCause, StopReason},
    turn::StopRequest,
};

/// How often a block that does not stop is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How often the use of processor time is looked at.
pub(super) const CPU_PERIOD: Duration = Duration::from_millis(500);

/// A block that was asked to stop.
pub(super) struct Stopping {
    pub(super) reason: StopReason,
    pub(super) kill_at: time::Instant,
    pub(super) ask_at: time::Instant,
}

impl Running<'_> {
    pub(super) fn on_deadline(&mut self) -> Option<End> {
        match &self.stopping {
            None => {
                self.stop(StopReason::TimeLimit(self.block.limits.block_time));
                None
            }
            Some(stopping) => Some(End::Lost(LossCause::NotStopped(stopping.reason))),
        }
    }

    pub(super) fn on_stop(&mut self, request: StopRequest) -> Option<End> {
        match (&self.stopping, request.at_once) {
            (Some(stopping), true) => Some(End::Lost(LossCause::NotStopped(stopping.reason))),
            (None, true) => {
                // Its calls end as those of any block that is stopped.
                self.stop(StopReason::Requested);
                Some(End::Lost(LossCause::NotStopped(StopReason::Requested)))
            }
            (None, false) => {
                self.stop(StopReason::Requested);
                None
            }
            (Some(_), false) => None,
        }
    }

    pub(super) fn look_at_cpu(&mut self, limit: Option<Duration>) {
        self.cpu_at = time::Instant::now() + CPU_PERIOD;
        let used = self.live.handle.usage().cpu.zip(self.cpu_before);
        if let (Some((now, before)), Some(limit)) = (used, limit)
            && now.saturating_sub(before) > limit
        {
            self.stop(StopReason::CpuLimit(limit));
        }
    }

    /// Asks the block to stop, and its calls with it.
    fn stop(&mut self, reason: StopReason) {
        self.block.sink.send(Event::Stopping { reason });
        let now = time::Instant::now();
        self.stopping = Some(Stopping {
            reason,
            kill_at: now + self.block.limits.grace,
            ask_at: now,
        });
        self.ask();
        // A guest that waits for an answer sees the interrupt only when it has one.
        self.cancel_calls(&format!(
            "cancelled, because the code was stopped: {reason}"
        ));
    }

    pub(super) fn ask(&mut self) {
        let Some(stopping) = &mut self.stopping else {
            return;
        };
        stopping.ask_at = time::Instant::now() + ASK_AGAIN;
        if self.live.writer.version().takes_interrupt() {
            let message = format!("stopped by the host: {}", stopping.reason);
            self.live
                .writer
                .queue(&HostFrame::Interrupt(Interrupt { message }));
        } else {
            // An older guest can only be killed.
            stopping.kill_at = time::Instant::now();
        }
        // The guest finds out why it is signalled, if it takes the frame before the signal.
        let _ = self.live.writer.flush().now_or_never();
        self.live.handle.interrupt();
    }
}
