//! The whole block, from the parts that fit.

use std::fmt::Write as _;

use super::{
    environment::push_environment,
    fit::{Detail, Lengths, fit},
    options::CatalogOptions,
};
use crate::module::Summary;

const HOW_TO_USE: &str = "\
The code given to `execute_code` runs in the sandbox described here. The functions of the package `tools` run \
on the host. Import those under `# tools.x` with `from tools.x import name`, those under `# tools` with \
`from tools import name`. `= ...` marks an argument that may be left out. Results are plain dicts, lists and \
scalars: `T = {id: int, note?: str}` names the keys of a dict, and `?` one that may be missing. A call that \
fails raises `ToolError`, or `HTTPStatusError` with `status_code` and `body`; both are in `tools`. \
`help(name)` shows all there is to know of a function.";

const FILES: &str = "List `/tools/`, and read a file there or `help()` of a function.";

/// What stands behind the tools.
const END: &str = "  </tools-package>\n</code-mode>";

/// A namespace that the catalog is to show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'s> {
    /// Its name; `None` for the package itself.
    pub(crate) namespace: Option<&'s str>,
    /// The names of its functions, in their order.
    pub(crate) names: &'s [&'s str],
    /// What is said of it; `None` if that is surely longer than the budget.
    pub(crate) summary: Option<&'s Summary>,
}

/// Renders the block for `sections`, the package's own tools last. `search` is the name of the function that
/// finds tools, if there is one.
pub(crate) fn render(
    sections: &[Section<'_>],
    options: &CatalogOptions,
    search: Option<&str>,
) -> String {
    let mut out = String::from("<code-mode>\n  <how-to-use>\n");
    out.push_str(HOW_TO_USE);
    out.push_str("\n  </how-to-use>\n");
    if let Some(environment) = &options.environment {
        push_environment(&mut out, environment);
    }
    if sections.is_empty() {
        out.push_str("</code-mode>");
        return out;
    }
    out.push_str("  <tools-package>\n");
    let room = options
        .budget_chars
        .saturating_sub(out.chars().count() + END.len());
    push_tools(&mut out, sections, room, &hint(search));
    out.push_str(END);
    out
}

fn hint(search: Option<&str>) -> String {
    match search {
        Some(name) => format!("`tools.{name}(\"words\")` finds functions. {FILES}\n"),
        None => format!("{FILES}\n"),
    }
}

fn push_tools(out: &mut String, sections: &[Section<'_>], room: usize, hint: &str) {
    let lengths: Vec<_> = sections.iter().map(lengths).collect();
    let full: Option<usize> = lengths.iter().map(|lengths| lengths[3]).sum();
    if full.is_some_and(|full| full <= room) {
        for section in sections {
            push_section(out, section, Detail::Full);
        }
        return;
    }
    let rest = "Not everything fits here. ";
    let note = rest.len() + hint.chars().count();
    let Some(details) = fit(&lengths, room.saturating_sub(note)) else {
        let tools: usize = sections.iter().map(|section| section.names.len()).sum();
        // Writing to a `String` cannot fail.
        let _ = write!(out, "{tools} functions are too many to list here. {hint}");
        return;
    };
    for (section, detail) in sections.iter().zip(&details) {
        push_section(out, section, *detail);
    }
    out.push_str(rest);
    out.push_str(hint);
}

fn push_module(out: &mut String, section: &Section<'_>) {
    out.push_str("tools");
    if let Some(namespace) = section.namespace {
        out.push('.');
        out.push_str(namespace);
    }
}

fn push_section(out: &mut String, section: &Section<'_>, detail: Detail) {
    out.push_str("# ");
    push_module(out, section);
    match (detail, section.summary) {
        (Detail::Full, Some(summary)) => {
            out.push('\n');
            out.push_str(&summary.full);
        }
        (Detail::Brief, Some(summary)) => {
            out.push('\n');
            out.push_str(&summary.brief);
        }
        (Detail::Names, _) => {
            out.push_str("\nfrom ");
            push_module(out, section);
            out.push_str(" import ");
            for (index, name) in section.names.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                out.push_str(name);
            }
            out.push('\n');
        }
        _ => {
            let count = section.names.len();
            let noun = if count == 1 { "function" } else { "functions" };
            // Writing to a `String` cannot fail.
            let _ = writeln!(out, ": {count} {noun}");
        }
    }
}

fn lengths(section: &Section<'_>) -> Lengths {
    let written = |detail| {
        let mut out = String::new();
        push_section(&mut out, section, detail);
        // Names are ASCII.
        out.len()
    };
    let mut heading = String::from("# \n");
    push_module(&mut heading, section);
    let shown = |chars: fn(&Summary) -> usize| Some(heading.len() + chars(section.summary?));
    [
        Some(written(Detail::Pointer)),
        Some(written(Detail::Names)),
        shown(|summary| summary.brief_chars),
        shown(|summary| summary.full_chars),
    ]
}
