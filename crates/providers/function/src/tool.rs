//! One function as a tool.

use std::{any::Any, fmt, panic::AssertUnwindSafe, sync::Arc};

use codehatch_protocol::RawJson;
use codehatch_tools::{Annotations, BoxFuture, ToolFault, ToolSpec};
use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{failure::Failure, schema};

/// What runs when the tool is called.
type Function = dyn Fn(RawJson) -> BoxFuture<'static, Result<RawJson, ToolFault>> + Send + Sync;

/// A Rust function with all that a model needs to know to call it.
///
/// A panic in it fails the call and nothing else (unless the program is built to abort on panics).
#[derive(Clone)]
pub struct FunctionTool {
    pub(crate) spec: ToolSpec,
    function: Arc<Function>,
}

/// The arguments of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[expect(
    clippy::empty_structs_with_brackets,
    reason = "serde reads a struct without brackets from null, not from an object"
)]
pub struct NoArguments {}

impl FunctionTool {
    /// An async function of one argument struct as a tool called `name`.
    ///
    /// Dropping the call's future drops the function's. It must not block the thread.
    pub fn new<A, T, E, F, R>(name: impl Into<String>, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        T: Serialize + JsonSchema,
        E: Into<Failure>,
        F: Fn(A) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
    {
        let function = Arc::new(function);
        Self::typed::<A, T>(name.into(), move |args| {
            let function = Arc::clone(&function);
            caught(async move {
                let result = function(arguments(&args)?).await;
                output(result.map_err(Into::into))
            })
        })
    }

    /// A plain function of one argument struct as a tool called `name`.
    ///
    /// It runs on the caller's thread: it must be quick. Work that takes long or blocks belongs in
    /// [`new`](Self::new), with `tokio::task::spawn_blocking`.
    pub fn plain<A, T, E, F>(name: impl Into<String>, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        T: Serialize + JsonSchema,
        E: Into<Failure>,
        F: Fn(A) -> Result<T, E> + Send + Sync + 'static,
    {
        let function = Arc::new(function);
        Self::typed::<A, T>(name.into(), move |args| {
            let function = Arc::clone(&function);
            caught(async move {
                let result = function(arguments(&args)?);
                output(result.map_err(Into::into))
            })
        })
    }

    /// A function from JSON text to JSON text, with the schema of its arguments given.
    pub fn raw<F, R>(name: impl Into<String>, input_schema: Value, function: F) -> Self
    where
        F: Fn(RawJson) -> R + Send + Sync + 'static,
        R: Future<Output = Result<RawJson, ToolFault>> + Send + 'static,
    {
        let function = Arc::new(function);
        Self {
            spec: ToolSpec::new(name, input_schema),
            function: Arc::new(move |args| {
                let function = Arc::clone(&function);
                caught(async move { function(args).await })
            }),
        }
    }

    fn typed<A: JsonSchema, T: JsonSchema>(
        name: String,
        function: impl Fn(RawJson) -> BoxFuture<'static, Result<RawJson, ToolFault>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let mut input = schema::of_arguments::<A>();
        let description = match input.remove("description") {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let spec = ToolSpec::new(name, schema::plain(input))
            .with_description(description)
            .with_output_schema(schema::of_result::<T>());
        Self {
            spec,
            function: Arc::new(function),
        }
    }

    /// Replaces the description, which otherwise is the doc comment of the argument struct.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.spec = self.spec.with_description(description);
        self
    }

    /// Says what effects it has.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.spec = self.spec.with_annotations(annotations);
        self
    }

    /// Replaces the schema of its result.
    #[must_use]
    pub fn with_output_schema(mut self, schema: Value) -> Self {
        self.spec = self.spec.with_output_schema(schema);
        self
    }

    pub(crate) fn call(&self, args: RawJson) -> BoxFuture<'static, Result<RawJson, ToolFault>> {
        (self.function)(args)
    }
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}

fn arguments<A: DeserializeOwned>(args: &RawJson) -> Result<A, ToolFault> {
    args.deserialize()
        .map_err(|error| ToolFault::InvalidArguments {
            message: error.to_string(),
        })
}

fn output<T: Serialize>(result: Result<T, Failure>) -> Result<RawJson, ToolFault> {
    RawJson::from_serialize(&result?).map_err(|error| ToolFault::Failed {
        kind: "ResultError".to_owned(),
        message: format!("the result cannot be written as JSON: {error}"),
    })
}

/// Turns a panic into a failure of this one call.
fn caught<T: 'static>(
    future: impl Future<Output = Result<T, ToolFault>> + Send + 'static,
) -> BoxFuture<'static, Result<T, ToolFault>> {
    // Whatever the function shares with its next call was broken by the function's own code.
    let guarded = AssertUnwindSafe(future).catch_unwind();
    Box::pin(guarded.map(|outcome| outcome.unwrap_or_else(|panic| Err(panicked(&*panic)))))
}

fn panicked(panic: &(dyn Any + Send)) -> ToolFault {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    ToolFault::Failed {
        kind: "Panic".to_owned(),
        message: format!("the tool panicked: {}", said.unwrap_or("no message")),
    }
}
