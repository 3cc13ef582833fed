//! Everything that is written about one namespace.

use std::ops::Range;

use super::{
    expr::Shadow,
    shape::{Shape, Tool},
    types::Types,
};
use crate::{
    catalog::{push_definition, push_entry},
    stub::{package_source, push_all, push_function, push_preamble, push_type_block},
};

/// Types of one tool that the catalog defines; the stub has them all.
const MAX_TYPES_SHOWN: usize = 24;

/// The Python module of a namespace, or of the package itself.
#[derive(Debug)]
pub(crate) struct Stub {
    /// Its source.
    pub(crate) source: String,
    /// What is wrong with the schemas of its tools, by their places.
    pub(crate) problems: Vec<(usize, String)>,
}

/// What the catalog says of a namespace.
#[derive(Debug)]
pub(crate) struct Summary {
    /// Its functions and types with signatures and first sentences.
    pub(crate) brief: String,
    pub(crate) brief_chars: usize,
    /// Its functions and types with all that is said of them.
    pub(crate) full: String,
    pub(crate) full_chars: usize,
    /// Where the signature of each tool stands in `full`.
    pub(crate) signatures: Vec<Range<usize>>,
}

/// Renders the module of a namespace; `tools` come in the order of their names. `namespaces` are those that
/// the package itself tells of.
pub(crate) fn stub(namespace: Option<&str>, tools: &[Tool<'_>], namespaces: &[&str]) -> Stub {
    let mut shapes: Vec<_> = tools.iter().map(|tool| Shape::read(*tool)).collect();
    let problems = shapes
        .iter_mut()
        .enumerate()
        .filter_map(|(at, shape)| Some((at, shape.problem.take()?)))
        .collect();
    let types = Types::of(&shapes);
    let mut shadow = Shadow::default();
    for tool in tools {
        shadow.add(tool.attribute);
    }
    let names = || tools.iter().map(|tool| tool.attribute);
    let mut source = String::with_capacity(1_000 + tools.len() * 1_000);
    if let Some(namespace) = namespace {
        push_preamble(&mut source, namespace, names());
    }
    for named in &types.list {
        source.push_str("\n\n");
        push_type_block(&mut source, named, &types, shadow);
    }
    for (index, shape) in shapes.iter().enumerate() {
        source.push_str("\n\n");
        push_function(&mut source, index, shape, &types, shadow);
    }
    if namespace.is_none() {
        source = package_source(&source, namespaces.iter().copied(), names());
    } else {
        push_all(&mut source, names());
    }
    Stub { source, problems }
}

/// Renders what the catalog says of a namespace.
pub(crate) fn summary(tools: &[Tool<'_>]) -> Summary {
    let shapes: Vec<_> = tools.iter().map(|tool| Shape::read(*tool)).collect();
    let types = Types::of(&shapes);
    let (mut full, mut brief) = (String::new(), String::new());
    let signatures = shapes
        .iter()
        .enumerate()
        .map(|(index, shape)| push_entry((&mut full, &mut brief), index, shape, &types))
        .collect();
    for named in &types.list {
        if named.place < MAX_TYPES_SHOWN {
            let start = full.len();
            push_definition(&mut full, named, &types);
            full.push('\n');
            brief.push_str(&full[start..]);
        }
    }
    Summary {
        brief_chars: brief.chars().count(),
        brief,
        full_chars: full.chars().count(),
        full,
        signatures,
    }
}
