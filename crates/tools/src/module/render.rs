//! Everything that is written about one namespace.

use std::ops::Range;

use super::{
    expr::Shadow,
    shape::{Shape, Tool},
    types::{TypeNames, Types},
};
use crate::{
    catalog::{push_definition, push_entry},
    schema::TypeDef,
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
    /// Where the tools stand in `full`.
    pub(crate) entries: Vec<Entry>,
    /// Where the types stand in `full`; nowhere those that are left out.
    pub(crate) types: Vec<Range<usize>>,
}

/// Where one tool stands in [`Summary::full`].
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) signature: Range<usize>,
    /// All its lines.
    pub(crate) lines: Range<usize>,
    /// The types that it names, by their places.
    pub(crate) types: Vec<u32>,
}

/// Functions written with the names that their types should have: all but few of them are right, and a
/// tool's schemas are looked at only once, while they are at hand.
struct Drafts<'a> {
    text: String,
    /// Where each tool's function stands in `text`.
    functions: Vec<Range<usize>>,
    types: Vec<Vec<TypeDef<'a>>>,
    problems: Vec<(usize, String)>,
}

impl<'a> Drafts<'a> {
    fn of(tools: &[Tool<'a>], shadow: Shadow) -> Self {
        let mut drafts = Self {
            text: String::with_capacity(tools.len() * 1_000),
            functions: Vec::with_capacity(tools.len()),
            types: Vec::with_capacity(tools.len()),
            problems: Vec::new(),
        };
        for (index, tool) in tools.iter().enumerate() {
            let shape = Shape::read(*tool);
            let start = drafts.text.len();
            let names = TypeNames::Base(&shape.types);
            push_function(&mut drafts.text, &shape, names, shadow);
            drafts.functions.push(start..drafts.text.len());
            drafts.types.push(shape.types);
            drafts
                .problems
                .extend(shape.problem.map(|text| (index, text)));
        }
        drafts
    }
}

/// Renders the module of a namespace; `tools` come in the order of their names. `namespaces` are those that
/// the package itself tells of.
pub(crate) fn stub(namespace: Option<&str>, tools: &[Tool<'_>], namespaces: &[&str]) -> Stub {
    let mut shadow = Shadow::default();
    for tool in tools {
        shadow.add(tool.attribute);
    }
    let drafts = Drafts::of(tools, shadow);
    let types = Types::of(&drafts.types);
    let attributes = || tools.iter().map(|tool| tool.attribute);
    let mut source = String::with_capacity(2_000 + drafts.text.len() + drafts.text.len() / 4);
    if let Some(namespace) = namespace {
        push_preamble(&mut source, namespace, attributes());
    }
    for named in &types.list {
        source.push_str("\n\n");
        let names = types.names(named.tool, &drafts.types[named.tool]);
        push_type_block(&mut source, named, names, &types, shadow);
    }
    for (index, tool) in tools.iter().enumerate() {
        source.push_str("\n\n");
        if types.is_renamed(index) {
            let shape = Shape::read(*tool);
            let names = types.names(index, &shape.types);
            push_function(&mut source, &shape, names, shadow);
        } else {
            source.push_str(&drafts.text[drafts.functions[index].clone()]);
        }
    }
    if namespace.is_none() {
        source = package_source(&source, namespaces.iter().copied(), attributes());
    } else {
        push_all(&mut source, attributes());
    }
    Stub {
        source,
        problems: drafts.problems,
    }
}

/// Renders what the catalog says of a namespace.
pub(crate) fn summary(tools: &[Tool<'_>]) -> Summary {
    let mut shapes: Vec<_> = tools.iter().map(|tool| Shape::read(*tool)).collect();
    let defs: Vec<_> = shapes
        .iter_mut()
        .map(|shape| std::mem::take(&mut shape.types))
        .collect();
    let types = Types::of(&defs);
    let (mut full, mut brief) = (String::new(), String::new());
    let entries = shapes
        .iter()
        .enumerate()
        .map(|(index, shape)| {
            let names = types.names(index, &defs[index]);
            let signature = push_entry((&mut full, &mut brief), shape, names);
            Entry {
                lines: signature.start..full.len(),
                signature,
                types: types.of_tool(index),
            }
        })
        .collect();
    let mut lines = Vec::with_capacity(types.list.len());
    for named in &types.list {
        let start = full.len();
        if named.place < MAX_TYPES_SHOWN {
            let names = types.names(named.tool, &defs[named.tool]);
            push_definition(&mut full, &named.name, named.def, names);
            full.push('\n');
            brief.push_str(&full[start..]);
        }
        lines.push(start..full.len());
    }
    Summary {
        brief_chars: brief.chars().count(),
        brief,
        full_chars: full.chars().count(),
        full,
        entries,
        types: lines,
    }
}
