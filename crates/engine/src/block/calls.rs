//! The tool calls of a block: taken on, answered, recorded, cancelled.

use std::time::{Duration, Instant};

use codehatch_protocol::{CallId, HostFrame, ToolCall, ToolErrorPayload, ToolResult};
use futures_util::FutureExt;
use tokio::{
    task::{Id, JoinError},
    time::timeout,
};

use super::Running;
use crate::{dispatch::Answer, event::Event, ids::CallNumber, outcome::CallRecord};

/// How long a cancelled call may take to be gone.
const CANCEL_WITHIN: Duration = Duration::from_secs(1);
/// Calls of a block that are recorded; more are counted.
const MAX_RECORDS: usize = 10_000;

/// A call under way.
pub(super) struct Pending {
    id: CallId,
    call: CallNumber,
    tool: String,
    began: Instant,
}

impl Running<'_> {
    pub(super) fn on_call(
        &mut self,
        ToolCall {
            id,
            name,
            args,
            timeout,
        }: ToolCall,
    ) {
        let began = Instant::now();
        // What the program has written before the call comes before it.
        if self.keep.has_room() {
            self.drain_output();
        }
        *self.call_count += 1;
        let call = CallNumber(*self.call_count);
        let mut prepared = self.block.dispatcher.call(&name, args, timeout);
        self.block.sink.send(Event::CallStarted {
            call,
            tool: prepared.tool.clone(),
        });
        let pending = Pending {
            id,
            call,
            tool: prepared.tool,
            began,
        };
        if self.stopping.is_some() {
            let message = format!(
                "tool `{}` was not called: the code is being stopped",
                pending.tool
            );
            return self.end_call(pending, Err(ToolErrorPayload::new("Cancelled", message)));
        }
        // Most tools in the host's process answer at once: no task is worth its cost then.
        if let Some(answer) = (&mut prepared.run).now_or_never() {
            self.end_call(pending, answer);
        } else {
            let task = self.calls.spawn(prepared.run);
            self.pending.insert(task.id(), pending);
        }
    }

    pub(super) fn on_call_ended(&mut self, ended: Result<(Id, Answer), JoinError>) {
        let (id, answer) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                let message = "the call failed inside the host; its log says more";
                (error.id(), Err(ToolErrorPayload::new("HostError", message)))
            }
        };
        if let Some(pending) = self.pending.remove(&id) {
            self.end_call(pending, answer);
        }
    }

    fn end_call(&mut self, pending: Pending, answer: Answer) {
        let Pending {
            id,
            call,
            tool,
            began,
        } = pending;
        let (ok, took) = (answer.is_ok(), began.elapsed());
        self.answer(id, answer);
        self.block.sink.send(Event::CallEnded {
            call,
            tool: tool.clone(),
            ok,
            took,
        });
        if self.records.len() == MAX_RECORDS {
            self.unrecorded += 1;
            return;
        }
        self.records.push(CallRecord {
            call,
            tool,
            ok,
            took,
        });
    }

    pub(super) fn answer(&mut self, id: CallId, answer: Answer) {
        let result = match answer {
            Ok(value) => ToolResult::success(id, value),
            Err(error) => ToolResult::failure(id, error),
        };
        self.live.writer.queue(&HostFrame::ToolResult(result));
    }

    /// Ends every call under way with an error.
    pub(super) fn cancel_calls(&mut self, why: &str) {
        self.calls.abort_all();
        let mut pending: Vec<Pending> = self.pending.drain().map(|(_, pending)| pending).collect();
        pending.sort_by_key(|pending| pending.call);
        for pending in pending {
            let message = format!("tool `{}` was {why}", pending.tool);
            self.end_call(pending, Err(ToolErrorPayload::new("Cancelled", message)));
        }
    }

    /// Waits until nothing of the cancelled calls runs on. A tool that blocks its thread is left to itself.
    pub(super) async fn wait_calls_gone(&mut self) {
        let _ = timeout(CANCEL_WITHIN, self.calls.shutdown()).await;
    }
}
