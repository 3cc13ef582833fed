//! Gives every tool of every provider its dotted path.

use std::{
    borrow::Cow,
    cmp::Ordering,
    sync::{Arc, OnceLock},
};

use super::toolset::{Diagnostic, Provider};
use crate::{
    module::{Stub, Summary},
    names::{Candidate, assign, namespace_ident, tool_ident},
    provider::{ToolProblem, ToolSpec},
};

/// A namespace, or the package itself, with its tools in the order of their names.
#[derive(Debug)]
pub(super) struct Namespace {
    /// Its name in Python; `None` for the package itself.
    pub(super) name: Option<Box<str>>,
    pub(super) tools: Vec<Entry>,
    /// What is written about it. Shared with later sets in which its tools are the same.
    pub(super) texts: Arc<Texts>,
}

/// What is written about a namespace, once somebody asks.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) stub: OnceLock<Stub>,
    pub(super) summary: OnceLock<Summary>,
}

/// One tool that has its path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: Box<str>,
    /// Where the attribute starts in `path`.
    pub(super) attribute_at: usize,
    pub(super) provider: usize,
    /// Its place in the provider's listing.
    pub(super) index: usize,
}

impl Entry {
    pub(super) fn attribute(&self) -> &str {
        &self.path[self.attribute_at..]
    }
}

/// A tool before it has a name.
#[derive(Clone, Copy)]
struct Found<'p> {
    provider: usize,
    index: usize,
    spec: &'p ToolSpec,
    /// How many tools of the same name and namespace came before, from other providers.
    repeat: u32,
}

/// Names everything: namespaces in the order of their names, the package itself last.
pub(super) fn register(providers: &[Provider]) -> (Vec<Namespace>, Vec<Diagnostic>) {
    let mut problems = Vec::new();
    let raw_names = raw_namespaces(providers);
    let mut groups: Vec<Vec<Found<'_>>> = Vec::new();
    groups.resize_with(raw_names.len() + 1, Vec::new);
    for (number, provider) in providers.iter().enumerate() {
        let group = provider
            .namespace
            .as_deref()
            .map_or(raw_names.len(), |raw| {
                raw_names
                    .iter()
                    .position(|known| *known == raw)
                    .unwrap_or(raw_names.len())
            });
        collect(number, provider, &mut groups[group], &mut problems);
    }
    for group in &mut groups {
        group.sort_by(|a, b| {
            a.spec
                .name
                .cmp(&b.spec.name)
                .then(a.provider.cmp(&b.provider))
        });
        count_repeats(group);
    }
    let top = groups.pop().unwrap_or_default();
    let mut candidates: Vec<_> = raw_names
        .iter()
        .map(|raw| Candidate {
            ident: namespace_ident(raw),
            raw,
            rank: 0,
            repeat: 0,
        })
        .collect();
    candidates.extend(top.iter().map(|found| candidate(found, 1)));
    let mut names = assign(&candidates);
    for (raw, (candidate, name)) in raw_names.iter().zip(candidates.iter().zip(&names)) {
        if candidate.ident != *name {
            let provider = providers
                .iter()
                .position(|provider| provider.namespace.as_deref() == Some(raw));
            problems.push(clash(provider.unwrap_or(0), raw, &candidate.ident, name));
        }
    }
    let top_names = names.split_off(raw_names.len());
    let mut namespaces = Vec::with_capacity(names.len() + 1);
    for (name, group) in names.iter().zip(&groups) {
        // A provider without tools keeps its name, but there is nothing to import.
        if !group.is_empty() {
            let candidates: Vec<_> = group.iter().map(|found| candidate(found, 0)).collect();
            let attributes = assign(&candidates);
            namespaces.push(namespace(Some(name), group, &attributes, &mut problems));
        }
    }
    namespaces.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    namespaces.push(namespace(None, &top, &top_names, &mut problems));
    (namespaces, problems)
}

/// The different raw names of namespaces. Providers with the same one share it.
fn raw_namespaces(providers: &[Provider]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for provider in providers {
        if let Some(name) = provider.namespace.as_deref()
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

fn candidate<'p>(found: &Found<'p>, rank: u8) -> Candidate<'p> {
    Candidate {
        ident: tool_ident(&found.spec.name),
        raw: &found.spec.name,
        rank,
        repeat: found.repeat,
    }
}

/// Adds the tools of one provider, each raw name once.
fn collect<'p>(
    number: usize,
    provider: &'p Provider,
    group: &mut Vec<Found<'p>>,
    problems: &mut Vec<Diagnostic>,
) {
    let mut problem = |tool: &str, reason: String| {
        problems.push(Diagnostic {
            provider: number,
            problem: ToolProblem {
                tool: tool.to_owned(),
                reason,
            },
        });
    };
    let mut found: Vec<_> = provider
        .listing
        .tools
        .iter()
        .enumerate()
        .map(|(index, spec)| Found {
            provider: number,
            index,
            spec,
            repeat: 0,
        })
        .collect();
    found.sort_by(|a, b| a.spec.name.cmp(&b.spec.name));
    for same in found.chunk_by(|a, b| a.spec.name == b.spec.name) {
        let Some(first) = same.iter().min_by(|a, b| order(a.spec, b.spec)) else {
            continue;
        };
        if first.spec.name.is_empty() {
            for nameless in same {
                let place = format!("tool number {}", nameless.index + 1);
                problem(&place, "it has no name, so nothing can call it".to_owned());
            }
            continue;
        }
        if same.len() > 1 {
            let reason = format!("listed {} times; one of them is offered", same.len());
            problem(&first.spec.name, reason);
        }
        group.push(*first);
    }
}

/// An order of tools of one name that does not depend on how they were listed.
fn order(a: &ToolSpec, b: &ToolSpec) -> Ordering {
    let key = |spec: &ToolSpec| {
        (
            spec.description.clone(),
            spec.input_schema.to_string(),
            spec.output_schema.as_ref().map(ToString::to_string),
        )
    };
    key(a).cmp(&key(b))
}

/// Numbers tools of the same raw name, which several providers of one namespace may have.
fn count_repeats(group: &mut [Found<'_>]) {
    for at in 1..group.len() {
        if group[at].spec.name == group[at - 1].spec.name {
            group[at].repeat = group[at - 1].repeat + 1;
        }
    }
}

fn namespace(
    name: Option<&str>,
    group: &[Found<'_>],
    attributes: &[Cow<'_, str>],
    problems: &mut Vec<Diagnostic>,
) -> Namespace {
    let mut tools = Vec::with_capacity(group.len());
    for (found, attribute) in group.iter().zip(attributes) {
        let attribute_at = name.map_or(0, |name| name.len() + 1);
        let mut path = String::with_capacity(attribute_at + attribute.len());
        if let Some(name) = name {
            path.push_str(name);
            path.push('.');
        }
        path.push_str(attribute);
        let ident = tool_ident(&found.spec.name);
        if *attribute != ident {
            problems.push(clash(found.provider, &found.spec.name, &ident, &path));
        }
        tools.push(Entry {
            path: path.into(),
            attribute_at,
            provider: found.provider,
            index: found.index,
        });
    }
    tools.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Namespace {
        name: name.map(Into::into),
        tools,
        texts: Arc::default(),
    }
}

fn clash(provider: usize, raw: &str, wanted: &str, got: &str) -> Diagnostic {
    Diagnostic {
        provider,
        problem: ToolProblem {
            tool: raw.to_owned(),
            reason: format!("another one is called `{wanted}` too, so its name is `{got}`"),
        },
    }
}
