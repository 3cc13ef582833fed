//! Names that somebody may have meant.

/// Names that are suggested.
const MAX_SUGGESTIONS: usize = 3;
/// Longest name that is compared, in bytes.
const MAX_COMPARED_BYTES: usize = 200;
/// Letters that may differ.
const MAX_DISTANCE: usize = 3;

/// Up to three of `paths` that are like `name`, the most alike first.
///
/// Alike is the same function elsewhere (`create_issue` for `github.create_issue`), the same words in another
/// order, or a few letters' difference. Case and what separates words do not count.
pub(super) fn suggest<'p>(name: &str, paths: impl Iterator<Item = &'p str>) -> Vec<&'p str> {
    if name.is_empty() || name.len() > MAX_COMPARED_BYTES {
        return Vec::new();
    }
    let wanted = folded(name);
    let wanted_last = last(&wanted);
    let letters = (Letters::of(&wanted), Letters::of(wanted_last));
    let most = MAX_DISTANCE.min(wanted.len() / 3 + 1);
    let mut found: Vec<(usize, &str)> = Vec::new();
    for path in paths {
        let path_last = last(path);
        let score = if path == wanted || path_last == wanted_last {
            0
        } else if has_same_words(path_last, wanted_last) || has_same_words(path, &wanted) {
            1
        } else {
            let whole = distance(&wanted, path, &letters.0, most);
            let only_last = distance(wanted_last, path_last, &letters.1, most);
            match whole.into_iter().chain(only_last).min() {
                Some(distance) => 1 + distance,
                None => continue,
            }
        };
        found.push((score, path));
    }
    found.sort_unstable();
    found.truncate(MAX_SUGGESTIONS);
    found.into_iter().map(|(_, path)| path).collect()
}

/// In lower case, with `_` for what cannot stand in a name.
fn folded(name: &str) -> String {
    let name = name.trim();
    name.chars()
        .map(|c| match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9' | '.' | '_') => c,
            _ => '_',
        })
        .collect()
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn has_same_words(a: &str, b: &str) -> bool {
    let words = |name: &str| {
        let mut words: Vec<_> = name.split(['_', '.']).map(str::to_owned).collect();
        words.sort_unstable();
        words
    };
    a.len() == b.len() && words(a) == words(b)
}

/// How often each letter occurs: tells most names apart without comparing them letter by letter.
struct Letters([i16; 128]);

impl Letters {
    fn of(name: &str) -> Self {
        let mut counts = [0; 128];
        for byte in name.bytes() {
            counts[usize::from(byte & 127)] += 1;
        }
        Self(counts)
    }

    /// At least how many letters must change to get `other`.
    fn distance(&self, other: &str) -> usize {
        let mut counts = self.0;
        let mut missing = 0;
        for byte in other.bytes() {
            let count = &mut counts[usize::from(byte & 127)];
            missing += usize::from(*count <= 0);
            *count -= 1;
        }
        missing
    }
}

/// How many letters must be added, removed, replaced or swapped, if at most `most`.
fn distance(a: &str, b: &str, letters_of_a: &Letters, most: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > most || letters_of_a.distance(b) > most {
        return None;
    }
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut next = vec![i + 1; b.len() + 1];
        for (j, &y) in b.iter().enumerate() {
            let mut least = last[j] + usize::from(x != y);
            least = least.min(last[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                least = least.min(before[j - 1] + 1);
            }
            next[j + 1] = least;
        }
        if next.iter().all(|&distance| distance > most) {
            return None;
        }
        before = std::mem::replace(&mut last, next);
    }
    last.pop().filter(|&distance| distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likely_names_are_suggested() {
        let paths = [
            "github.create_issue",
            "github.list_issues",
            "gitlab.create_issue",
            "search",
            "slack.send_message",
        ];
        let suggested = |name| suggest(name, paths.into_iter());
        assert_eq!(
            suggested("create_issue"),
            ["github.create_issue", "gitlab.create_issue"]
        );
        assert_eq!(suggested("slack.sendMessage"), ["slack.send_message"]);
        assert_eq!(suggested("slack.message_send"), ["slack.send_message"]);
        assert_eq!(suggested("SEARCH "), ["search"]);
        assert_eq!(suggested("serach"), ["search"]);
        assert_eq!(suggested("github.list_isues"), ["github.list_issues"]);
        assert_eq!(suggested("weather"), [""; 0]);
        assert_eq!(suggested(&"x".repeat(10_000)), [""; 0]);
    }
}
