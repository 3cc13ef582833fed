//! Everything that is written about one namespace.

use std::sync::Arc;

use super::{
    expr::Shadow,
    shape::{Shape, Tool},
    types::Types,
};
use crate::{
    catalog::{Entry, push_definition},
    stub::{package_source, push_all, push_function, push_preamble, push_type_block},
};

/// Types of one tool that the catalog defines; the stub has them all.
const MAX_TYPES_SHOWN: usize = 24;

/// The texts of a namespace, or of the package's own tools.
#[derive(Debug)]
pub(crate) struct Module {
    /// Its name; `None` for the package itself.
    pub(crate) namespace: Option<Box<str>>,
    /// In the order of their names.
    pub(crate) tools: Vec<ToolText>,
    /// The Python source of its module.
    pub(crate) source: Arc<str>,
    /// The line that imports all its functions.
    pub(crate) imports: String,
    /// Its functions and types with signatures and first sentences.
    pub(crate) brief: String,
    pub(crate) brief_chars: usize,
    /// Its functions and types with all that is said of them.
    pub(crate) full: String,
    pub(crate) full_chars: usize,
}

/// What was found out about one tool while its namespace was rendered.
#[derive(Debug)]
pub(crate) struct ToolText {
    /// Where its signature stands in [`Module::full`].
    pub(crate) signature: std::ops::Range<usize>,
    /// What is wrong with its schemas.
    pub(crate) problem: Option<Box<str>>,
}

/// Renders a namespace; `tools` come in the order of their names. `namespaces` are those that the package
/// itself tells of.
pub(crate) fn render(namespace: Option<&str>, tools: &[Tool<'_>], namespaces: &[&str]) -> Module {
    let shapes: Vec<_> = tools.iter().map(|tool| Shape::read(*tool)).collect();
    let types = Types::of(&shapes);
    let mut shadow = Shadow::default();
    for tool in tools {
        shadow.add(tool.attribute);
    }
    let source = source(namespace, &shapes, &types, shadow, namespaces);
    let mut module = Module {
        namespace: namespace.map(Into::into),
        tools: Vec::with_capacity(tools.len()),
        source: source.into(),
        imports: imports(namespace, tools),
        brief: String::new(),
        brief_chars: 0,
        full: String::new(),
        full_chars: 0,
    };
    for (index, shape) in shapes.iter().enumerate() {
        let entry = Entry::of(index, shape, &types);
        let start = module.full.len();
        module.full.push_str(&entry.full);
        module.brief.push_str(&entry.brief);
        module.tools.push(ToolText {
            signature: start..start + entry.signature,
            problem: shape.problem.as_deref().map(Into::into),
        });
    }
    let mut line = String::new();
    for named in &types.list {
        if named.place >= MAX_TYPES_SHOWN {
            continue;
        }
        line.clear();
        push_definition(&mut line, named, &types);
        line.push('\n');
        module.full.push_str(&line);
        module.brief.push_str(&line);
    }
    module.brief_chars = module.brief.chars().count();
    module.full_chars = module.full.chars().count();
    module
}

fn imports(namespace: Option<&str>, tools: &[Tool<'_>]) -> String {
    let mut out = String::from("from tools");
    if let Some(namespace) = namespace {
        out.push('.');
        out.push_str(namespace);
    }
    for (index, tool) in tools.iter().enumerate() {
        out.push_str(if index == 0 { " import " } else { ", " });
        out.push_str(tool.attribute);
    }
    out.push('\n');
    out
}

fn source(
    namespace: Option<&str>,
    shapes: &[Shape<'_>],
    types: &Types<'_, '_>,
    shadow: Shadow,
    namespaces: &[&str],
) -> String {
    let names = || shapes.iter().map(|shape| shape.tool.attribute);
    let mut out = String::with_capacity(1_000 + shapes.len() * 900);
    if let Some(namespace) = namespace {
        push_preamble(&mut out, namespace, names());
    }
    for named in &types.list {
        out.push_str("\n\n");
        push_type_block(&mut out, named, types, shadow);
    }
    for (index, shape) in shapes.iter().enumerate() {
        out.push_str("\n\n");
        push_function(&mut out, index, shape, types, shadow);
    }
    if namespace.is_none() {
        return package_source(&out, namespaces.iter().copied(), names());
    }
    push_all(&mut out, names());
    out
}
