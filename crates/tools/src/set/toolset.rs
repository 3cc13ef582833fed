//! The set: built once per change of the tools, shared by all that read it.

use std::{
    fmt,
    num::NonZeroUsize,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{
    file::StubFile,
    fingerprint::{Fingerprint, Hasher},
    registry::{Entry, Namespace, register},
    reuse::{is_same, take_over},
    search::Index,
    suggest::suggest,
    tool_ref::ToolRef,
};
use crate::{
    catalog::{CatalogOptions, Section, least_bytes, render_block},
    module::{Stub, Summary, Tool, stub, summary},
    provider::{Listing, ToolProblem, ToolSpec},
};

/// Tools for which it is worth starting another thread: they take longer than it does to start.
const TOOLS_PER_THREAD: usize = 500;

/// Catalogs that a set remembers: one for each way it is asked for.
const MAX_CATALOGS: usize = 4;

/// One provider's tools, as a set is built from them.
#[derive(Clone, Debug)]
pub struct ProviderTools<'a> {
    /// [`ToolProvider::namespace`](crate::ToolProvider::namespace).
    pub namespace: Option<&'a str>,
    /// What it listed. The set keeps it.
    pub listing: Arc<Listing>,
}

/// Something to tell the person who runs a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which of the providers that the set was built from.
    pub provider: usize,
    /// What is wrong.
    pub problem: ToolProblem,
}

#[derive(Debug)]
pub(super) struct Provider {
    pub(super) namespace: Option<Box<str>>,
    pub(super) listing: Arc<Listing>,
}

/// All tools that a program may call. Cheap to clone; all clones share what was rendered.
///
/// Names are given at once, texts are rendered when they are first asked for: that takes time in proportion
/// to the tools (a few microseconds each), so a caller on an async thread with thousands of them should ask
/// from a blocking one.
#[derive(Clone)]
pub struct ToolSet {
    inner: Arc<Inner>,
}

struct Inner {
    providers: Vec<Provider>,
    /// By name; the package itself is last.
    namespaces: Vec<Namespace>,
    name_problems: Vec<Diagnostic>,
    by_raw_name: OnceLock<Vec<(usize, usize)>>,
    index: OnceLock<Index>,
    files: OnceLock<Arc<[StubFile]>>,
    fingerprint: OnceLock<Fingerprint>,
    catalogs: Mutex<Vec<(CatalogOptions, Arc<str>)>>,
}

impl ToolSet {
    /// Names the tools of all providers. Never fails: what is wrong with a tool is among
    /// [`ToolSet::problems`], and costs no other tool anything.
    pub fn build(providers: &[ProviderTools<'_>]) -> Self {
        Self::of(keep(providers), None)
    }

    /// Builds a set; texts of `earlier` that are still true are taken over.
    fn of(providers: Vec<Provider>, earlier: Option<&Inner>) -> Self {
        let (mut namespaces, name_problems) = register(&providers);
        if let Some(earlier) = earlier {
            take_over(
                (&earlier.namespaces, &earlier.providers),
                (&mut namespaces, &providers),
            );
        }
        Self {
            inner: Arc::new(Inner {
                providers,
                namespaces,
                name_problems,
                by_raw_name: OnceLock::new(),
                index: OnceLock::new(),
                files: OnceLock::new(),
                fingerprint: OnceLock::new(),
                catalogs: Mutex::new(Vec::new()),
            }),
        }
    }

    /// The set for what providers list now: this one if these are the same listings (by pointer), else a new
    /// one that takes over the texts of all namespaces whose tools are equal.
    #[must_use]
    pub fn update(&self, providers: &[ProviderTools<'_>]) -> Self {
        if is_same(&self.inner.providers, providers) {
            return self.clone();
        }
        Self::of(keep(providers), Some(&self.inner))
    }

    /// Finds the tool that a call names: by its dotted path, or by the name that its provider knows it by
    /// where only one tool has that. To the letter: nothing is trimmed, folded or guessed.
    pub fn resolve(&self, name: &str) -> Option<ToolRef<'_>> {
        let (namespace, attribute) = match name.split_once('.') {
            Some((namespace, attribute)) => (Some(namespace), attribute),
            None => (None, name),
        };
        self.by_path(namespace, attribute)
            .or_else(|| self.by_raw_name(name))
    }

    /// Up to three paths that `name` may have meant, the likeliest first.
    pub fn suggest(&self, name: &str) -> Vec<&str> {
        suggest(name, self.iter().map(|tool| tool.path()))
    }

    /// Up to `limit` tools whose names, descriptions or parameters have words of `query`, the best first.
    ///
    /// The first search reads all tools, which takes some microseconds each.
    pub fn search(&self, query: &str, limit: usize) -> Vec<ToolRef<'_>> {
        let index = self
            .inner
            .index
            .get_or_init(|| Index::of(self.iter().map(|tool| (tool.path(), tool.spec()))));
        let found = index.find(query, limit).into_iter();
        found
            .filter_map(|number| self.at(number as usize))
            .collect()
    }

    /// All tools, by namespace and name; those of the package itself last.
    pub fn iter(&self) -> impl Iterator<Item = ToolRef<'_>> {
        let namespaces = self.inner.namespaces.iter().enumerate();
        namespaces.flat_map(move |(namespace, group)| {
            (0..group.tools.len()).map(move |tool| ToolRef {
                set: self,
                namespace,
                tool,
            })
        })
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        let namespaces = self.inner.namespaces.iter();
        namespaces.map(|namespace| namespace.tools.len()).sum()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The files of the generated package, by path.
    pub fn files(&self) -> Arc<[StubFile]> {
        let files = self.inner.files.get_or_init(|| {
            self.render_stubs();
            let mut files: Vec<_> = self
                .inner
                .namespaces
                .iter()
                .map(|namespace| StubFile::module(namespace.name.as_deref(), &namespace.texts))
                .collect();
            files.push(StubFile::runtime());
            files.sort_unstable_by(|a, b| a.path().cmp(b.path()));
            files.into()
        });
        Arc::clone(files)
    }

    /// The block that tells the model what it can use. The same tools and options give the same bytes.
    pub fn catalog(&self, options: &CatalogOptions) -> Arc<str> {
        // The list is only read and replaced whole, so a panic elsewhere cannot leave it half done.
        let catalogs = &self.inner.catalogs;
        let known = catalogs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = known.iter().find(|(known, _)| known == options) {
            return Arc::clone(text);
        }
        drop(known);
        let text: Arc<str> = self.render_catalog(options).into();
        let mut known = catalogs.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == MAX_CATALOGS {
            known.remove(0);
        }
        known.push((options.clone(), Arc::clone(&text)));
        text
    }

    /// The name under which the package itself can offer a function `name`: with `_` behind it if a tool or a
    /// namespace is called so. Neither ever ends in `_`, unless it is a keyword.
    pub fn helper_name(&self, name: &str) -> String {
        let is_tool = self.by_path(None, name).is_some();
        let is_namespace = self.namespace_at(Some(name)).is_some();
        let end = if is_tool || is_namespace { "_" } else { "" };
        format!("{name}{end}")
    }

    /// A hash of all that was said of the tools.
    pub fn fingerprint(&self) -> Fingerprint {
        *self.inner.fingerprint.get_or_init(|| {
            let mut hasher = Hasher::default();
            for tool in self.iter() {
                hasher.tool(tool.path(), tool.spec());
            }
            hasher.finish()
        })
    }

    /// What is wrong with tools: what providers said, names that clash, schemas that could not be read.
    pub fn problems(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for (provider, known) in self.inner.providers.iter().enumerate() {
            let said = known.listing.problems.iter().cloned();
            problems.extend(said.map(|problem| Diagnostic { provider, problem }));
        }
        problems.extend(self.inner.name_problems.iter().cloned());
        for (at, namespace) in self.inner.namespaces.iter().enumerate() {
            for (tool, reason) in &self.stub(at).problems {
                let entry = &namespace.tools[*tool];
                problems.push(Diagnostic {
                    provider: entry.provider,
                    problem: ToolProblem {
                        tool: self.spec(entry).name.clone(),
                        reason: reason.clone(),
                    },
                });
            }
        }
        problems
    }

    pub(super) fn namespaces(&self) -> &[Namespace] {
        &self.inner.namespaces
    }

    pub(super) fn spec(&self, entry: &Entry) -> &ToolSpec {
        &self.inner.providers[entry.provider].listing.tools[entry.index]
    }

    fn render_catalog(&self, options: &CatalogOptions) -> String {
        let shown = self.inner.namespaces.iter().enumerate();
        let shown: Vec<_> = shown
            .filter(|(_, namespace)| !namespace.tools.is_empty())
            .map(|(at, namespace)| {
                let tools = namespace.tools.iter();
                let names: Vec<_> = tools.clone().map(Entry::attribute).collect();
                let least: usize = tools
                    .map(|tool| least_bytes(tool.attribute(), self.spec(tool)))
                    .sum();
                (at, namespace.name.as_deref(), names, least)
            })
            .collect();
        let sections: Vec<_> = shown
            .iter()
            .map(|(at, namespace, names, least)| Section {
                namespace: *namespace,
                names,
                // Thousands of tools need not be described to know that they do not fit.
                summary: (*least <= options.budget_chars).then(|| self.summary(*at)),
            })
            .collect();
        let search = options.search.then(|| self.helper_name("search"));
        render_block(&sections, options, search.as_deref())
    }

    /// Renders the modules of all namespaces, on several threads where there is much to do.
    fn render_stubs(&self) {
        let next = AtomicUsize::new(0);
        let work = || {
            while let at = next.fetch_add(1, Ordering::Relaxed)
                && at < self.inner.namespaces.len()
            {
                self.stub(at);
            }
        };
        let helpers = if self.len() < TOOLS_PER_THREAD {
            0
        } else {
            let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
            (cores - 1).min(self.len() / TOOLS_PER_THREAD)
        };
        thread::scope(|scope| {
            for _ in 0..helpers {
                // Without another thread this one does it all.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }

    /// The Python module of the namespace at `at`.
    fn stub(&self, at: usize) -> &Stub {
        let namespace = &self.inner.namespaces[at];
        namespace.texts.stub.get_or_init(|| {
            let others = self.inner.namespaces.iter();
            let others: Vec<_> = others.filter_map(|other| other.name.as_deref()).collect();
            stub(namespace.name.as_deref(), &self.tools(namespace), &others)
        })
    }

    /// What the catalog says of the namespace at `at`.
    pub(super) fn summary(&self, at: usize) -> &Summary {
        let namespace = &self.inner.namespaces[at];
        let texts = &namespace.texts;
        texts
            .summary
            .get_or_init(|| summary(&self.tools(namespace)))
    }

    fn tools<'s>(&'s self, namespace: &'s Namespace) -> Vec<Tool<'s>> {
        let entries = namespace.tools.iter();
        entries
            .map(|entry| Tool {
                attribute: entry.attribute(),
                path: &entry.path,
                spec: self.spec(entry),
            })
            .collect()
    }

    /// The tool that [`ToolSet::iter`] returns as number `number`.
    fn at(&self, mut number: usize) -> Option<ToolRef<'_>> {
        for (namespace, group) in self.inner.namespaces.iter().enumerate() {
            if number < group.tools.len() {
                return Some(ToolRef {
                    set: self,
                    namespace,
                    tool: number,
                });
            }
            number -= group.tools.len();
        }
        None
    }

    fn namespace_at(&self, name: Option<&str>) -> Option<usize> {
        let namespaces = &self.inner.namespaces;
        let last = namespaces.len() - 1;
        match name {
            None => Some(last),
            Some(name) => namespaces[..last]
                .binary_search_by(|known| known.name.as_deref().cmp(&Some(name)))
                .ok(),
        }
    }

    fn by_path(&self, namespace: Option<&str>, attribute: &str) -> Option<ToolRef<'_>> {
        let namespace = self.namespace_at(namespace)?;
        let tools = &self.inner.namespaces[namespace].tools;
        let tool = tools
            .binary_search_by(|known| known.attribute().cmp(attribute))
            .ok()?;
        Some(ToolRef {
            set: self,
            namespace,
            tool,
        })
    }

    fn by_raw_name(&self, name: &str) -> Option<ToolRef<'_>> {
        let tool_ref = |&(namespace, tool): &(usize, usize)| ToolRef {
            set: self,
            namespace,
            tool,
        };
        let raw = |at: &(usize, usize)| tool_ref(at).spec().name.as_str();
        let sorted = self.inner.by_raw_name.get_or_init(|| {
            let mut all: Vec<_> = self
                .iter()
                .map(|tool| (tool.namespace, tool.tool))
                .collect();
            all.sort_unstable_by(|a, b| raw(a).cmp(raw(b)));
            all
        });
        let first = sorted.partition_point(|at| raw(at) < name);
        match &sorted[first..] {
            [only, rest @ ..] if raw(only) == name => {
                let is_shared = rest.first().is_some_and(|next| raw(next) == name);
                (!is_shared).then(|| tool_ref(only))
            }
            _ => None,
        }
    }
}

fn keep(providers: &[ProviderTools<'_>]) -> Vec<Provider> {
    let providers = providers.iter();
    providers
        .map(|provider| Provider {
            namespace: provider.namespace.map(Into::into),
            listing: Arc::clone(&provider.listing),
        })
        .collect()
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSet")
            .field("tools", &self.len())
            .finish_non_exhaustive()
    }
}
