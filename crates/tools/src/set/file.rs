//! Files of the generated package.

use std::{fmt, sync::Arc};

use super::registry::Texts;
use crate::stub::RUNTIME;

/// A file of the generated package `tools`.
#[derive(Clone)]
pub struct StubFile {
    path: Box<str>,
    source: Source,
}

#[derive(Clone)]
enum Source {
    /// The module that all others import.
    Runtime,
    /// One that was rendered.
    Rendered(Arc<Texts>),
}

impl StubFile {
    /// The module of a namespace, or of the package itself, that has been rendered.
    pub(super) fn module(namespace: Option<&str>, texts: &Arc<Texts>) -> Self {
        let path = match namespace {
            Some(name) => format!("{name}.py"),
            None => "__init__.py".to_owned(),
        };
        Self {
            path: path.into(),
            source: Source::Rendered(Arc::clone(texts)),
        }
    }

    pub(super) fn runtime() -> Self {
        Self {
            path: "_stub.py".into(),
            source: Source::Runtime,
        }
    }

    /// Where it is within the directory of the package: `__init__.py`, `github.py`. Never in a directory below.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Python source.
    pub fn source(&self) -> &str {
        match &self.source {
            Source::Runtime => RUNTIME,
            Source::Rendered(texts) => texts.stub.get().map_or("", |stub| &stub.source),
        }
    }
}

impl fmt::Debug for StubFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StubFile")
            .field("path", &self.path)
            .field("bytes", &self.source().len())
            .finish_non_exhaustive()
    }
}
