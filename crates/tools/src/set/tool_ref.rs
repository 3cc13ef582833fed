//! One tool of a set.

use std::fmt;

use super::toolset::ToolSet;
use crate::provider::ToolSpec;

/// One tool of a [`ToolSet`].
#[derive(Clone, Copy)]
pub struct ToolRef<'s> {
    pub(super) set: &'s ToolSet,
    pub(super) namespace: usize,
    pub(super) tool: usize,
}

impl<'s> ToolRef<'s> {
    /// The name that calls carry and that programs import: `github.create_issue`.
    pub fn path(&self) -> &'s str {
        &self.entry().path
    }

    /// The module that it is in: `github` of `tools.github`; `None` for the package itself.
    pub fn namespace(&self) -> Option<&'s str> {
        self.set.namespaces()[self.namespace].name.as_deref()
    }

    /// The name of its function: `create_issue`.
    pub fn attribute(&self) -> &'s str {
        self.entry().attribute()
    }

    /// Which of the providers that the set was built from has it.
    pub fn provider(&self) -> usize {
        self.entry().provider
    }

    /// What the provider says of it; [`ToolSpec::name`] is the name to send there.
    pub fn spec(&self) -> &'s ToolSpec {
        self.set.spec(self.entry())
    }

    /// Its signature as the catalog shows it. Renders the namespace if nothing has yet.
    pub fn signature(&self) -> &'s str {
        let summary = self.set.summary(self.namespace);
        &summary.full[summary.entries[self.tool].signature.clone()]
    }

    /// All that the catalog says of it: signature, description, parameters, and the types that it names.
    /// Renders the namespace if nothing has yet.
    pub fn text(&self) -> String {
        let summary = self.set.summary(self.namespace);
        let entry = &summary.entries[self.tool];
        let mut text = summary.full[entry.lines.clone()].to_owned();
        for &at in &entry.types {
            text.push_str(&summary.full[summary.types[at as usize].clone()]);
        }
        text
    }

    fn entry(&self) -> &'s super::registry::Entry {
        &self.set.namespaces()[self.namespace].tools[self.tool]
    }
}

impl fmt::Debug for ToolRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolRef")
            .field("path", &self.path())
            .field("provider", &self.provider())
            .finish_non_exhaustive()
    }
}
