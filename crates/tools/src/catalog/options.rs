//! What the catalog should show, and in how much space.

use std::collections::BTreeMap;

/// How the catalog is written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogOptions {
    /// Longest block, in characters, tags included. Default 50,000. The Python version, the packages and one
    /// sentence on where to find the tools are kept even where they are longer than this.
    pub budget_chars: usize,
    /// What the sandbox has, once it has said so. Default: not known, and not shown.
    pub environment: Option<Environment>,
    /// Whether `tools.search(words)` works in the sandbox, so that the model can be told of it. Default no.
    pub search: bool,
}

impl Default for CatalogOptions {
    fn default() -> Self {
        Self {
            budget_chars: 50_000,
            environment: None,
            search: false,
        }
    }
}

impl CatalogOptions {
    /// Replaces the budget.
    #[must_use]
    pub fn with_budget_chars(mut self, chars: usize) -> Self {
        self.budget_chars = chars;
        self
    }

    /// Sets what the sandbox has.
    #[must_use]
    pub fn with_environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Says whether `tools.search(words)` works in the sandbox.
    #[must_use]
    pub fn with_search(mut self, search: bool) -> Self {
        self.search = search;
        self
    }
}

/// What a sandbox says it has. It may lie: every text is cut and made visible before a model reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// The version of Python, such as `3.12.1`. Empty: not known.
    pub python_version: String,
    /// For each module that can be imported the distributions that bring it, and their versions.
    pub packages: BTreeMap<String, BTreeMap<String, String>>,
}
