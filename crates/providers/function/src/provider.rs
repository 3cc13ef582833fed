//! A set of Rust functions as one tool provider.

use std::collections::HashMap;

use codehatch_tools::{
    BoxFuture, Listing, ProviderError, ToolFault, ToolOutput, ToolProvider, ToolRequest, ToolSpec,
};
use serde_json::Value;

use crate::tool::FunctionTool;

/// Rust functions under an optional namespace. The set is fixed once it is built.
#[derive(Debug)]
pub struct FunctionProvider {
    namespace: Option<String>,
    specs: Vec<ToolSpec>,
    tools: HashMap<String, FunctionTool>,
}

/// Collects functions for a [`FunctionProvider`].
#[derive(Debug, Default)]
#[must_use]
pub struct FunctionProviderBuilder {
    namespace: Option<String>,
    tools: Vec<FunctionTool>,
}

/// Why functions do not make a provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A tool has an empty name.
    #[error("a tool needs a name")]
    NoName,
    /// Two tools have one name.
    #[error("two tools are called `{tool}`; rename one")]
    Duplicate {
        /// The name.
        tool: String,
    },
    /// A tool takes something other than a struct.
    #[error("tool `{tool}` takes {found}; arguments are named, so give it a struct")]
    NoStruct {
        /// The tool.
        tool: String,
        /// What it takes, by its JSON name.
        found: String,
    },
}

impl FunctionProvider {
    /// Starts a set of functions.
    pub fn builder() -> FunctionProviderBuilder {
        FunctionProviderBuilder::default()
    }
}

impl FunctionProviderBuilder {
    /// Groups the tools under a name. Default: none, so that they stand at the top level.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: FunctionTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Makes the provider.
    pub fn build(self) -> Result<FunctionProvider, BuildError> {
        let specs: Vec<_> = self.tools.iter().map(|tool| tool.spec.clone()).collect();
        let mut tools = HashMap::with_capacity(specs.len());
        for tool in self.tools {
            check(&tool.spec)?;
            let name = tool.spec.name.clone();
            if tools.insert(name.clone(), tool).is_some() {
                return Err(BuildError::Duplicate { tool: name });
            }
        }
        Ok(FunctionProvider {
            namespace: self.namespace,
            specs,
            tools,
        })
    }
}

fn check(spec: &ToolSpec) -> Result<(), BuildError> {
    if spec.name.is_empty() {
        return Err(BuildError::NoName);
    }
    // An enum of structs has no `type` at its top.
    match spec.input_schema.get("type") {
        None => Ok(()),
        Some(Value::String(kind)) if kind == "object" => Ok(()),
        Some(other) => Err(BuildError::NoStruct {
            tool: spec.name.clone(),
            found: other.to_string(),
        }),
    }
}

impl ToolProvider for FunctionProvider {
    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    fn list(&self) -> BoxFuture<'_, Result<Listing, ProviderError>> {
        let listing = Listing {
            tools: self.specs.clone(),
            problems: Vec::new(),
        };
        Box::pin(std::future::ready(Ok(listing)))
    }

    fn call(&self, request: ToolRequest) -> BoxFuture<'_, Result<ToolOutput, ToolFault>> {
        let Some(tool) = self.tools.get(&request.tool) else {
            let fault = ToolFault::Failed {
                kind: "UnknownTool".to_owned(),
                message: format!("there is no tool `{}`", request.tool),
            };
            return Box::pin(std::future::ready(Err(fault)));
        };
        let called = tool.call(request.args);
        Box::pin(async move { called.await.map(ToolOutput::from) })
    }
}
