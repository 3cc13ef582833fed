//! The one way to a tool: every call, from whatever front door, goes through here.

use std::{fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use codehatch_protocol::{CallTimeout, RawJson, ToolErrorPayload};
use codehatch_tools::{BoxFuture, ToolFault, ToolProvider, ToolRequest, ToolSet};
use futures_util::FutureExt;
use tokio::{sync::Semaphore, time::timeout};

/// Room of a frame around the value that it carries, in bytes.
const FRAME_OVERHEAD: usize = 1024;

/// The tools of one turn, and the way to them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Dispatcher {
    shared: Arc<Shared>,
}

struct Shared {
    tools: ToolSet,
    providers: Vec<Arc<dyn ToolProvider>>,
    permits: Semaphore,
    call_time: Option<Duration>,
    frame_bytes: usize,
}

impl fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatcher")
            .field("tools", &self.shared.tools)
            .finish_non_exhaustive()
    }
}

/// What a call came to.
pub(crate) type Answer = Result<RawJson, ToolErrorPayload>;

/// A call that can be started.
pub(crate) struct Call {
    /// The tool's dotted path, or the unknown name that was asked for.
    pub(crate) tool: String,
    /// Runs it. Dropping it cancels the call.
    pub(crate) run: BoxFuture<'static, Answer>,
}

impl Dispatcher {
    pub(crate) fn new(
        tools: ToolSet,
        providers: Vec<Arc<dyn ToolProvider>>,
        parallel_calls: usize,
        call_time: Option<Duration>,
        frame_bytes: usize,
    ) -> Self {
        let permits = Semaphore::new(parallel_calls);
        Self {
            shared: Arc::new(Shared {
                tools,
                providers,
                permits,
                call_time,
                frame_bytes,
            }),
        }
    }

    /// Prepares a call. `wished` is the guest's wish, which can only shorten the limit.
    pub(crate) fn call(&self, name: &str, args: RawJson, wished: Option<CallTimeout>) -> Call {
        let shared = Arc::clone(&self.shared);
        let Some(tool) = shared.tools.resolve(name) else {
            let answer = Err(unknown_tool(&shared.tools, name));
            let shown = name.chars().take(200).collect();
            return Call {
                tool: shown,
                run: Box::pin(std::future::ready(answer)),
            };
        };
        let path = tool.path().to_owned();
        let request = ToolRequest {
            tool: tool.spec().name.clone(),
            args,
        };
        let Some(provider) = shared.providers.get(tool.provider()).map(Arc::clone) else {
            let answer = Err(unknown_tool(&shared.tools, name));
            return Call {
                tool: path,
                run: Box::pin(std::future::ready(answer)),
            };
        };
        let wished = wished.map(CallTimeout::duration);
        let limit = match (wished, shared.call_time) {
            (Some(wished), Some(limit)) => Some(wished.min(limit)),
            (wished, limit) => wished.or(limit),
        };
        let run = Box::pin(run(shared, provider, request, path.clone(), limit));
        Call { tool: path, run }
    }
}

async fn run(
    shared: Arc<Shared>,
    provider: Arc<dyn ToolProvider>,
    request: ToolRequest,
    path: String,
    limit: Option<Duration>,
) -> Answer {
    // The wait for a free place is no part of the call's own time.
    let _permit = shared.permits.acquire().await;
    let call = AssertUnwindSafe(provider.call(request)).catch_unwind();
    let called = match limit {
        Some(limit) => match timeout(limit, call).await {
            Ok(called) => called,
            Err(_) => return Err(timed_out(&path, limit)),
        },
        None => call.await,
    };
    match called {
        Ok(Ok(output)) => {
            fits(&path, output.value, shared.frame_bytes).and_then(|value| exact(&path, value))
        }
        Ok(Err(fault)) => Err(payload(fault)),
        Err(_panic) => {
            let message = format!("tool `{path}` failed inside the host; its log says more");
            Err(ToolErrorPayload::new("HostError", message))
        }
    }
}

fn fits(path: &str, value: RawJson, frame_bytes: usize) -> Answer {
    let (bytes, limit) = (
        value.get().len(),
        frame_bytes.saturating_sub(FRAME_OVERHEAD),
    );
    if bytes <= limit {
        return Ok(value);
    }
    let message = format!(
        "the result of tool `{path}` has {bytes} bytes, more than the limit of {limit}: \
         ask it for less at once"
    );
    Err(ToolErrorPayload::new("ResultTooLarge", message))
}

/// Python would read what no float holds as an infinity.
fn exact(path: &str, value: RawJson) -> Answer {
    let Some(number) = value.overflowing_number() else {
        return Ok(value);
    };
    let shown: String = number.chars().take(50).collect();
    let message = format!(
        "the result of tool `{path}` has the number {shown}, which is too large for a Python float"
    );
    Err(ToolErrorPayload::new("ResultNotExact", message))
}

fn timed_out(path: &str, limit: Duration) -> ToolErrorPayload {
    let message = format!(
        "tool `{path}` ran for longer than its limit of {} s",
        limit.as_secs_f64()
    );
    ToolErrorPayload::new("TimeoutError", message)
}

fn unknown_tool(tools: &ToolSet, name: &str) -> ToolErrorPayload {
    let shown: String = name.chars().take(200).collect();
    let near = tools.suggest(name).join(" or ");
    let near = if near.is_empty() {
        near
    } else {
        format!("; did you mean {near}?")
    };
    ToolErrorPayload::new("ToolNotFound", format!("there is no tool `{shown}`{near}"))
}

fn payload(fault: ToolFault) -> ToolErrorPayload {
    let message = fault.to_string();
    match fault {
        ToolFault::Failed { kind, .. } => ToolErrorPayload::new(kind, message),
        ToolFault::HttpStatus { status, body, .. } => ToolErrorPayload {
            status_code: Some(status.into()),
            body,
            ..ToolErrorPayload::new("HTTPStatusError", message)
        },
        ToolFault::InvalidArguments { .. } => ToolErrorPayload::new("InvalidArguments", message),
        ToolFault::Unavailable { .. } => ToolErrorPayload::new("Unavailable", message),
        ToolFault::OutcomeUnknown { .. } => ToolErrorPayload::new("OutcomeUnknown", message),
        _ => ToolErrorPayload::new("Error", message),
    }
}
