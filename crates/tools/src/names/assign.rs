//! Gives every raw name of one scope its own Python name.

use std::{borrow::Cow, cmp::Ordering};

use super::suffix::suffix;

/// Lengths of the hash that are tried in turn, in characters.
const SUFFIX_CHARS: [usize; 4] = [6, 10, 16, 26];

/// One raw name that wants a Python name.
#[derive(Debug)]
pub(crate) struct Candidate<'a> {
    /// The name that the rule makes of it.
    pub(crate) ident: Cow<'a, str>,
    /// The name as it was given.
    pub(crate) raw: &'a str,
    /// Lower ranks keep the plain name before higher ones.
    pub(crate) rank: u8,
    /// Tells equal raw names of one rank apart: 0 for the first.
    pub(crate) repeat: u32,
}

impl Candidate<'_> {
    /// Whether the raw name is the identifier itself.
    fn is_own(&self) -> bool {
        self.repeat == 0 && self.ident == self.raw
    }

    fn suffix(&self, len: usize) -> String {
        suffix(
            &[
                &[self.rank],
                self.raw.as_bytes(),
                &self.repeat.to_le_bytes(),
            ],
            len,
        )
    }
}

/// Gives each candidate a name of its own, in their order.
///
/// A name that only one candidate wants is its name. Where several want it, the one whose raw name is the
/// name keeps it (the lowest rank, if there are two), and all others get a hash of their raw names. So a name
/// depends on the others only where they clash, and never on the order in which they come.
pub(crate) fn assign<'a>(candidates: &[Candidate<'a>]) -> Vec<Cow<'a, str>> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_unstable_by(|&a, &b| compare(&candidates[a], &candidates[b]));
    let mut names = vec![Cow::Borrowed(""); candidates.len()];
    let mut any_suffixed = false;
    for group in order.chunk_by(|&a, &b| candidates[a].ident == candidates[b].ident) {
        let (keeper, others) = match group {
            [only] => (Some(only), &[][..]),
            [first, rest @ ..] if candidates[*first].is_own() => (Some(first), rest),
            all => (None, all),
        };
        if let Some(&keeper) = keeper {
            names[keeper].clone_from(&candidates[keeper].ident);
        }
        if others.is_empty() {
            continue;
        }
        any_suffixed = true;
        let len = shortest_free(candidates, &order, others);
        for &other in others {
            names[other] = Cow::Owned(suffixed(&candidates[other], len));
        }
    }
    if any_suffixed {
        lengthen_equal(candidates, &mut names);
    }
    names
}

/// Gives names that are still equal the longest hash. Takes names so long that they were cut to make room for
/// a hash, and hashes that somebody searched for.
fn lengthen_equal<'a>(candidates: &[Candidate<'a>], names: &mut [Cow<'a, str>]) {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_unstable_by(|&a, &b| names[a].cmp(&names[b]));
    let equal: Vec<usize> = order
        .chunk_by(|&a, &b| names[a] == names[b])
        .filter(|group| group.len() > 1)
        .flatten()
        .copied()
        .collect();
    for index in equal {
        names[index] = Cow::Owned(suffixed(&candidates[index], 26));
    }
}

/// Sorts by name; of one name, the candidate that keeps it comes first.
fn compare(a: &Candidate<'_>, b: &Candidate<'_>) -> Ordering {
    let key = |c: &Candidate<'_>| (!c.is_own(), c.rank, c.repeat);
    a.ident
        .cmp(&b.ident)
        .then_with(|| key(a).cmp(&key(b)))
        .then_with(|| a.raw.cmp(b.raw))
}

/// The first length at which no two of `group` share a name and none takes the plain name of another.
fn shortest_free(candidates: &[Candidate<'_>], order: &[usize], group: &[usize]) -> usize {
    let is_free = |len: &usize| {
        let mut names: Vec<String> = group
            .iter()
            .map(|&index| suffixed(&candidates[index], *len))
            .collect();
        names.sort_unstable();
        let distinct = names.windows(2).all(|pair| pair[0] != pair[1]);
        let taken = |name: &String| {
            order
                .binary_search_by(|&index| candidates[index].ident.as_ref().cmp(name))
                .is_ok()
        };
        distinct && !names.iter().any(taken)
    };
    // At 26 characters, 130 bits of a hash, a clash would be one of the hash function itself.
    SUFFIX_CHARS.into_iter().find(is_free).unwrap_or(26)
}

fn suffixed(candidate: &Candidate<'_>, len: usize) -> String {
    let hash = candidate.suffix(len);
    let room = super::MAX_NAME_CHARS - len - 1;
    let stem = candidate.ident.get(..room).unwrap_or(&candidate.ident);
    let mut name = String::with_capacity(stem.len() + 1 + len);
    name.push_str(stem);
    // `import_` and the like end in one already.
    if !stem.ends_with('_') {
        name.push('_');
    }
    name.push_str(&hash);
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::tool_ident;

    fn names(raws: &[&str]) -> Vec<String> {
        let candidates: Vec<_> = raws
            .iter()
            .map(|raw| Candidate {
                ident: tool_ident(raw),
                raw,
                rank: 0,
                repeat: 0,
            })
            .collect();
        let names = assign(&candidates);
        names.into_iter().map(Cow::into_owned).collect()
    }

    #[test]
    fn the_tool_that_is_called_so_keeps_the_name() {
        let [a, b, c] = &names(&["doc.get", "doc-get", "doc_get"])[..] else {
            panic!("three names");
        };
        assert_eq!(c, "doc_get");
        assert!(a.starts_with("doc_get_") && b.starts_with("doc_get_") && a != b);
    }

    #[test]
    fn names_do_not_depend_on_the_order() {
        let raws = ["doc.get", "a", "doc-get", "Doc_Get", "a_b", "A"];
        let reversed: Vec<_> = raws.iter().rev().copied().collect();
        let mut backwards = names(&reversed);
        backwards.reverse();
        assert_eq!(names(&raws), backwards);
    }

    #[test]
    fn a_further_name_changes_only_those_it_clashes_with() {
        let before = names(&["doc.get", "list", "X"]);
        let after = names(&["doc.get", "list", "X", "doc-get", "other"]);
        assert_eq!(before[1..3], after[1..3]);
        assert_ne!(before[0], after[0]);
        let third = names(&["doc.get", "doc-get", "doc_get"]);
        assert_eq!(third[0], after[0]);
    }

    #[test]
    fn a_name_made_to_look_like_a_suffix_takes_nothing() {
        let first = names(&["a.b", "a-b"]);
        let names = names(&["a.b", "a-b", &first[0]]);
        assert_eq!(names[2], first[0]);
        assert_ne!(names[0], names[2]);
    }

    #[test]
    fn equal_raw_names_are_told_apart_by_their_turn_and_rank() {
        let candidate = |rank, repeat| Candidate {
            ident: tool_ident("get"),
            raw: "get",
            rank,
            repeat,
        };
        let names = assign(&[candidate(1, 0), candidate(0, 1), candidate(0, 0)]);
        assert_eq!(names[2], "get");
        assert!(names[0] != names[1] && names[1] != names[2] && names[0] != names[2]);
    }
}
