//! Finds tools by words: what a model asks for when the catalog cannot show everything.

use std::{cmp::Ordering, collections::HashMap};

use crate::{provider::ToolSpec, text::clip};

/// Words of a query that count.
const MAX_WORDS: usize = 16;
/// Characters of a query that count.
const MAX_QUERY_CHARS: usize = 400;
/// Characters of a description that are searched.
const MAX_DESCRIPTION_CHARS: usize = 2_000;
/// Words that a beginning of a word may stand for.
const MAX_COMPLETIONS: usize = 64;
/// Letters from which on a word may be the beginning of another.
const MIN_PREFIX_CHARS: usize = 3;

/// How much a word counts, by where it stands.
const IN_NAME: u8 = 8;
const IN_NAMESPACE: u8 = 4;
const IN_DESCRIPTION: u8 = 2;
const IN_PARAMETER: u8 = 1;

/// The tools that have a word, by number, and how much it counts there.
type Places = Vec<(u32, u8)>;

/// Which words stand in which tools.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// In the order of the alphabet.
    words: Vec<(Box<str>, Places)>,
    tools: u32,
}

impl Index {
    /// Reads the words of all tools: path and specification of each.
    pub(super) fn of<'s>(tools: impl Iterator<Item = (&'s str, &'s ToolSpec)>) -> Self {
        let mut words: HashMap<Box<str>, Places> = HashMap::new();
        let mut count = 0;
        for (number, (path, spec)) in (0u32..).zip(tools) {
            count += 1;
            let mut add = |text: &str, weight: u8| {
                each_word(text, |word| {
                    let known = words.entry(word.into()).or_default();
                    match known.last_mut() {
                        Some((last, most)) if *last == number => *most = weight.max(*most),
                        _ => known.push((number, weight)),
                    }
                });
            };
            let (namespace, attribute) = path.rsplit_once('.').unwrap_or(("", path));
            add(attribute, IN_NAME);
            add(&spec.name, IN_NAME);
            add(namespace, IN_NAMESPACE);
            add(
                clip(&spec.description, MAX_DESCRIPTION_CHARS).0,
                IN_DESCRIPTION,
            );
            let properties = spec.input_schema.get("properties");
            let properties = properties.and_then(serde_json::Value::as_object);
            for key in properties.into_iter().flat_map(serde_json::Map::keys) {
                add(clip(key, MAX_QUERY_CHARS).0, IN_PARAMETER);
            }
        }
        let mut words: Vec<_> = words.into_iter().collect();
        words.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Self {
            words,
            tools: count,
        }
    }

    /// The numbers of up to `limit` tools that have words of `query`, the best first. Rare words count more
    /// than common ones, and tools that have more of the words come before those that have fewer.
    pub(super) fn find(&self, query: &str, limit: usize) -> Vec<u32> {
        let mut wanted: Vec<String> = Vec::new();
        each_word(clip(query, MAX_QUERY_CHARS).0, |word| {
            if wanted.len() < MAX_WORDS && !wanted.iter().any(|known| known == word) {
                wanted.push(word.to_owned());
            }
        });
        let mut scores: HashMap<u32, (u32, f64)> = HashMap::new();
        for word in &wanted {
            let mut best: HashMap<u32, f64> = HashMap::new();
            for (found, tools) in self.completions(word) {
                let having = u32::try_from(tools.len()).unwrap_or(u32::MAX);
                let rarity = ((f64::from(self.tools) + 1.0) / f64::from(having)).ln();
                let share = if **found == **word { 1.0 } else { 0.5 };
                for &(tool, weight) in tools {
                    let score = f64::from(weight) * rarity * share;
                    let known = best.entry(tool).or_default();
                    *known = known.max(score);
                }
            }
            for (tool, score) in best {
                let (count, sum) = scores.entry(tool).or_default();
                *count += 1;
                *sum += score;
            }
        }
        let mut found: Vec<_> = scores.into_iter().collect();
        found.sort_by(|(a, (a_words, a_score)), (b, (b_words, b_score))| {
            let by_score = b_score.partial_cmp(a_score).unwrap_or(Ordering::Equal);
            b_words.cmp(a_words).then(by_score).then(a.cmp(b))
        });
        found.truncate(limit);
        found.into_iter().map(|(tool, _)| tool).collect()
    }

    /// The word itself, and words that begin with it.
    fn completions(&self, word: &str) -> impl Iterator<Item = &(Box<str>, Places)> {
        let start = self.words.partition_point(|(known, _)| **known < *word);
        let is_prefix = word.chars().count() >= MIN_PREFIX_CHARS;
        self.words[start..]
            .iter()
            .take(MAX_COMPLETIONS)
            .take_while(move |(known, _)| **known == *word || is_prefix && known.starts_with(word))
    }
}

/// Calls `each` with the words of `text` in lower case: `sendMessages` is `send` and `message`.
fn each_word(text: &str, mut each: impl FnMut(&str)) {
    let mut word = String::new();
    let mut was_lower = false;
    let mut end = |word: &mut String| {
        if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
            word.pop();
        }
        if !word.is_empty() {
            each(word);
        }
        word.clear();
    };
    for c in text.chars() {
        if !c.is_alphanumeric() || was_lower && c.is_uppercase() {
            end(&mut word);
        }
        was_lower = c.is_lowercase();
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    end(&mut word);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_taken_apart_into_words() {
        let mut words = Vec::new();
        each_word("sendMessages to_all, HTTPServer: Größe!", |word| {
            words.push(word.to_owned());
        });
        assert_eq!(
            words,
            ["send", "message", "to", "all", "httpserver", "größe"]
        );
    }
}
