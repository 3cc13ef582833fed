//! Whole modules: what stands before and behind the blocks.

use crate::text::push_str;

/// The module that all generated ones import: how a call is sent.
pub(crate) const RUNTIME: &str = include_str!("_stub.py");

/// Characters of names that a module's docstring lists.
const MAX_LISTED_CHARS: usize = 4_000;

const FUTURE: &str = "\
from __future__ import annotations

import builtins as _b
";

const IMPORTS: &str = "\
from typing import Any, Literal, NoReturn, TypedDict, Union

from ._stub import REQUIRED as _REQUIRED
from ._stub import UNSET as _UNSET
from ._stub import NotRequired
from ._stub import send as _send
";

/// Errors and namespaces of the package itself. Type checkers find the modules without `__getattr__`, and with
/// it would take every name for one.
const PACKAGE: &str = "\
from ._stub import HTTPStatusError, ToolError
from ._stub import attribute as _attribute

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return _attribute(__name__, name)
";

/// Appends what stands before the blocks of a namespace's module.
pub(crate) fn push_preamble<'n>(
    out: &mut String,
    namespace: &str,
    names: impl Iterator<Item = &'n str>,
) {
    out.push_str("\"\"\"Functions of tools.");
    out.push_str(namespace);
    push_names(out, names);
    out.push_str("\"\"\"\n\n");
    out.push_str(FUTURE);
    out.push_str(IMPORTS);
}

/// The source of the package: `blocks` are those of its own tools.
pub(crate) fn package_source<'n>(
    blocks: &str,
    namespaces: impl Iterator<Item = &'n str>,
    names: impl Iterator<Item = &'n str>,
) -> String {
    let mut out = String::with_capacity(blocks.len() + 2_000);
    out.push_str("\"\"\"Functions that run on the host, by module");
    push_names(&mut out, namespaces);
    out.push_str("\"\"\"\n\n");
    out.push_str(FUTURE);
    out.push_str("from typing import TYPE_CHECKING\n");
    out.push_str(IMPORTS);
    out.push_str(PACKAGE);
    out.push_str(blocks);
    push_all(
        &mut out,
        ["HTTPStatusError", "ToolError"].into_iter().chain(names),
    );
    out
}

/// Appends the list of what `from … import *` takes.
pub(crate) fn push_all<'n>(out: &mut String, names: impl Iterator<Item = &'n str>) {
    out.push_str("\n\n__all__ = (");
    for name in names {
        push_str(out, name);
        out.push_str(", ");
    }
    out.push_str(")\n");
}

fn push_names<'n>(out: &mut String, names: impl Iterator<Item = &'n str>) {
    let start = out.len();
    let mut more = 0usize;
    for name in names {
        if out.len() - start > MAX_LISTED_CHARS {
            more += 1;
            continue;
        }
        out.push_str(if out.len() == start { ": " } else { ", " });
        out.push_str(name);
    }
    if more > 0 {
        out.push_str(", and ");
        out.push_str(&more.to_string());
        out.push_str(" more");
    }
    out.push('.');
}
