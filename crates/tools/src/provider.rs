//! The seam between the engine and wherever tools come from.

use std::{fmt, future::Future, pin::Pin};

use codehatch_protocol::RawJson;
use serde_json::Value;
use tokio::sync::watch;

/// A boxed future, so that providers can be chosen at run time.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where tools come from: Rust functions, an MCP server, an HTTP service.
pub trait ToolProvider: fmt::Debug + Send + Sync {
    /// What its tools are grouped under, as the person who set it up named it; `None` puts them at the
    /// top level of the `tools` package. Constant over the provider's life.
    fn namespace(&self) -> Option<&str>;

    /// Lists the tools there are now, connecting first where that is needed.
    ///
    /// A tool that cannot be offered is a [`ToolProblem`] of the listing, not an error: it must not
    /// take its neighbours down. Cancel-safe.
    fn list(&self) -> BoxFuture<'_, Result<Listing, ProviderError>>;

    /// Calls a tool. Dropping the future cancels the call.
    fn call(&self, request: ToolRequest) -> BoxFuture<'_, Result<ToolOutput, ToolFault>>;

    /// Counts the changes of the tool list, if the provider can notice them.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Ends connections and processes, and waits until they are gone. Later calls fail.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// One tool as its provider describes it. Everything in it may come from an untrusted server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name that the provider knows it by, sent back unchanged.
    pub name: String,
    /// What it does, for the model. May be empty.
    pub description: String,
    /// JSON Schema of the arguments. Anything but an object is taken as "any arguments".
    pub input_schema: Value,
    /// JSON Schema of the result, where the provider declares one.
    pub output_schema: Option<Value>,
    /// What the provider says of its effects.
    pub annotations: Annotations,
}

impl ToolSpec {
    /// A tool with a name and the schema of its arguments; the rest is empty.
    pub fn new(name: impl Into<String>, input_schema: Value) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            input_schema,
            output_schema: None,
            annotations: Annotations::default(),
        }
    }

    /// Sets what it does, for the model.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the schema of its result.
    #[must_use]
    pub fn with_output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// Sets what the provider says of its effects.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = annotations;
        self
    }
}

/// What a provider says of a tool's effects. Hints only: an untrusted server may lie. `None` is "not said".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may delete or overwrite.
    pub destructive: Option<bool>,
    /// Calling it twice with the same arguments is as calling it once.
    pub idempotent: Option<bool>,
    /// It reaches beyond the provider, for example the web.
    pub open_world: Option<bool>,
}

/// The tools of a provider at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Tools that can be called.
    pub tools: Vec<ToolSpec>,
    /// Tools that were left out, and why.
    pub problems: Vec<ToolProblem>,
}

/// Why a tool is not offered, or not as well as it could be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolProblem {
    /// Its name, or where it stood if it had none.
    pub tool: String,
    /// What is wrong with it, in words for the person who runs the provider.
    pub reason: String,
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRequest {
    /// [`ToolSpec::name`].
    pub tool: String,
    /// A JSON object, as the model's program wrote it.
    pub args: RawJson,
}

/// What a tool returned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The value that the model's program gets.
    pub value: RawJson,
}

impl From<RawJson> for ToolOutput {
    fn from(value: RawJson) -> Self {
        Self { value }
    }
}

/// A tool call that failed; the model's program sees it as an exception.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolFault {
    /// The tool ran and reported an error.
    #[error("{message}")]
    Failed {
        /// The name of the error's type, such as `ValueError` or `McpError`.
        kind: String,
        /// What it said.
        message: String,
    },
    /// The service behind the tool answered with an HTTP error status.
    #[error("{message}")]
    HttpStatus {
        /// The status, 400 to 599.
        status: u16,
        /// What happened, for people.
        message: String,
        /// The response body: its JSON, or a JSON string of its text.
        body: RawJson,
    },
    /// The arguments do not fit the tool. It did not run.
    #[error("{message}")]
    InvalidArguments {
        /// Which argument, and what is wrong with it.
        message: String,
    },
    /// The provider could not be reached, and the call was surely not carried out.
    #[error("{message}")]
    Unavailable {
        /// What is down, and what to do.
        message: String,
    },
    /// The connection broke after the call was sent: it may have been carried out.
    #[error("{message}")]
    OutcomeUnknown {
        /// What broke.
        message: String,
    },
}

/// Why a provider could not list its tools.
#[derive(Debug, thiserror::Error)]
#[error("tool provider `{provider}`: {message}")]
pub struct ProviderError {
    /// Its namespace, or what else it is called.
    pub provider: String,
    /// What went wrong and what to do about it.
    pub message: String,
    /// The cause, where there is one.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}
