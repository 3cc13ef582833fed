//! One tool as its schemas describe it.

use crate::{
    provider::ToolSpec,
    schema::{Parameters, Reader, Ty, TypeDef},
};

/// A tool that has its name in Python.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool<'a> {
    /// The name of its function.
    pub(crate) attribute: &'a str,
    /// The name that calls carry: namespace and attribute.
    pub(crate) path: &'a str,
    /// What its provider says of it.
    pub(crate) spec: &'a ToolSpec,
}

/// A tool's schemas as Python types.
#[derive(Debug)]
pub(crate) struct Shape<'a> {
    pub(crate) tool: Tool<'a>,
    pub(crate) parameters: Parameters<'a>,
    /// The type of its result, where one is declared.
    pub(crate) returns: Ty<'a>,
    /// The types that the tool names; [`Ty::Named`] counts in this list.
    pub(crate) types: Vec<TypeDef<'a>>,
    /// What is wrong with its schemas.
    pub(crate) problem: Option<String>,
}

impl<'a> Shape<'a> {
    /// Reads the schemas of `tool`.
    pub(crate) fn read(tool: Tool<'a>) -> Self {
        let mut reader = Reader::new();
        let spec = tool.spec;
        let parameters = reader.parameters(tool.attribute, &spec.input_schema);
        let returns = match &spec.output_schema {
            Some(schema) => reader.result(tool.attribute, schema),
            None => Ty::Any,
        };
        let (types, problem) = reader.finish();
        Self {
            tool,
            parameters,
            returns,
            types,
            problem,
        }
    }
}
