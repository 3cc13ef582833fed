//! The whole block, from the parts that fit.

use std::fmt::Write as _;

use super::{
    environment::push_environment,
    fit::{Detail, Lengths, fit},
    options::CatalogOptions,
};
use crate::module::Module;

const HOW_TO_USE: &str = "\
The code given to `execute_code` runs in the sandbox described here. The functions of the package `tools` run \
on the host. Import those under `# tools.x` with `from tools.x import name`, those under `# tools` with \
`from tools import name`. `= ...` marks an argument that may be left out. Results are plain dicts, lists and \
scalars: `T = {id: int, note?: str}` names the keys of a dict, and `?` one that may be missing. A call that \
fails raises `ToolError`, or `HTTPStatusError` with `status_code` and `body`; both are in `tools`. \
`help(name)` shows all there is to know of a function.";

const FILES: &str = "List `/tools/`, and read a file there or `help()` of a function.";

/// Renders the block for `modules`, the package's own tools last. `search` is the name of the function that
/// finds tools, if there is one.
pub(crate) fn render(
    modules: &[&Module],
    options: &CatalogOptions,
    search: Option<&str>,
) -> String {
    let mut out = String::from("<code-mode>\n  <how-to-use>\n");
    out.push_str(HOW_TO_USE);
    out.push_str("\n  </how-to-use>\n");
    if let Some(environment) = &options.environment {
        push_environment(&mut out, environment);
    }
    if modules.is_empty() {
        out.push_str("</code-mode>");
        return out;
    }
    out.push_str("  <tools-package>\n");
    let end = "  </tools-package>\n</code-mode>";
    let hint = hint(search);
    let room = options
        .budget_chars
        .saturating_sub(out.chars().count() + end.len());
    push_tools(&mut out, modules, room, &hint);
    out.push_str(end);
    out
}

fn hint(search: Option<&str>) -> String {
    match search {
        Some(name) => format!("`tools.{name}(\"words\")` finds functions. {FILES}\n"),
        None => format!("{FILES}\n"),
    }
}

fn push_tools(out: &mut String, modules: &[&Module], room: usize, hint: &str) {
    let lengths: Vec<_> = modules.iter().map(|module| lengths(module)).collect();
    let full: usize = lengths.iter().map(|lengths| lengths[3]).sum();
    if full <= room {
        for module in modules {
            push_section(out, module, Detail::Full);
        }
        return;
    }
    let rest = "Not everything fits here. ";
    let note = rest.len() + hint.chars().count();
    let Some(details) = fit(&lengths, room.saturating_sub(note)) else {
        let tools: usize = modules.iter().map(|module| module.tools.len()).sum();
        // Writing to a `String` cannot fail.
        let _ = write!(out, "{tools} functions are too many to list here. {hint}");
        return;
    };
    for (module, detail) in modules.iter().zip(&details) {
        push_section(out, module, *detail);
    }
    out.push_str(rest);
    out.push_str(hint);
}

fn heading(module: &Module) -> String {
    match &module.namespace {
        Some(namespace) => format!("# tools.{namespace}"),
        None => "# tools".to_owned(),
    }
}

fn pointer(module: &Module) -> String {
    format!("{}: {} functions\n", heading(module), module.tools.len())
}

fn push_section(out: &mut String, module: &Module, detail: Detail) {
    if detail == Detail::Pointer {
        out.push_str(&pointer(module));
        return;
    }
    out.push_str(&heading(module));
    out.push('\n');
    match detail {
        Detail::Full => out.push_str(&module.full),
        Detail::Brief => out.push_str(&module.brief),
        Detail::Pointer | Detail::Names => out.push_str(&module.imports),
    }
}

fn lengths(module: &Module) -> Lengths {
    let heading = heading(module).len() + 1;
    [
        pointer(module).len(),
        heading + module.imports.len(),
        heading + module.brief_chars,
        heading + module.full_chars,
    ]
}
