//! Searching files for a regular expression, within bounds.

use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{error::ToolError, root::Root};

/// Size of a compiled pattern, in bytes (1 MiB). The search itself is linear in the text.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;
/// Bytes of a matching line that are shown.
const SHOWN_BYTES: usize = 400;

/// What to search for.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct SearchText {
    /// A regular expression, matched line by line. No look-around and no back-references.
    pub(crate) pattern: String,
    /// A glob for paths relative to the workspace. Default: all files.
    pub(crate) glob: Option<String>,
    /// Whether upper and lower case are the same. Default false.
    #[serde(default)]
    pub(crate) ignore_case: bool,
    /// Matching lines to give at most. Default 200.
    pub(crate) limit: Option<usize>,
}

/// Lines that match.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Found {
    /// The lines, by path and number.
    pub(crate) matches: Vec<Match>,
    /// Text files that were searched.
    pub(crate) files_searched: u64,
    /// Whether the search stopped at the limit.
    pub(crate) truncated: bool,
}

/// One matching line.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Match {
    /// The file's path, relative to the workspace.
    pub(crate) path: String,
    /// The line's number, from 1.
    pub(crate) line: u64,
    /// The line, without its end; only its first 400 bytes.
    pub(crate) text: String,
}

/// Searches.
pub(crate) fn search(root: &Root, wanted: &SearchText) -> Result<Found, ToolError> {
    let pattern = compile(wanted)?;
    let limit = wanted.limit.unwrap_or(200);
    let mut found = Found::default();
    for file in root.files(wanted.glob.as_deref())? {
        let Some(text) = file.text() else { continue };
        found.files_searched += 1;
        for (number, line) in (1..).zip(text.lines()) {
            if !pattern.is_match(line) {
                continue;
            }
            if found.matches.len() == limit {
                found.truncated = true;
                return Ok(found);
            }
            found.matches.push(Match {
                path: file.name.clone(),
                line: number,
                text: line[..line.floor_char_boundary(SHOWN_BYTES)].to_owned(),
            });
        }
    }
    Ok(found)
}

fn compile(wanted: &SearchText) -> Result<Regex, ToolError> {
    let built = RegexBuilder::new(&wanted.pattern)
        .case_insensitive(wanted.ignore_case)
        .size_limit(MAX_PATTERN_BYTES)
        .build();
    built.map_err(|error| ToolError::BadPattern {
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn workspace() -> (TempDir, Root) {
        let directory = TempDir::new().expect("a temporary directory");
        std::fs::write(directory.path().join("a.py"), "import os\nTODO = 1\n").expect("a file");
        std::fs::write(
            directory.path().join("b.txt"),
            format!("todo {}\n", "ü".repeat(400)),
        )
        .expect("a file");
        std::fs::write(directory.path().join("c"), b"TODO \xff").expect("a file");
        let root = Root::open(directory.path()).expect("a directory");
        (directory, root)
    }

    fn lines(wanted: &SearchText) -> (Vec<(String, u64)>, u64, bool) {
        let (_directory, root) = workspace();
        let found = search(&root, wanted).expect("a valid search");
        let lines = found
            .matches
            .into_iter()
            .map(|found| (found.path, found.line));
        (lines.collect(), found.files_searched, found.truncated)
    }

    #[test]
    fn matching_lines_are_found_in_text_files() {
        let mut wanted = SearchText {
            pattern: r"^TODO\b".to_owned(),
            ..SearchText::default()
        };
        let a = ("a.py".to_owned(), 2);
        assert_eq!(lines(&wanted), (vec![a.clone()], 2, false));
        wanted.ignore_case = true;
        assert_eq!(
            lines(&wanted),
            (vec![a.clone(), ("b.txt".to_owned(), 1)], 2, false)
        );
        wanted.limit = Some(1);
        assert_eq!(lines(&wanted), (vec![a.clone()], 2, true));
        wanted.glob = Some("*.py".to_owned());
        assert_eq!(lines(&wanted), (vec![a], 1, false));
    }

    #[test]
    fn long_lines_are_cut_at_a_character() {
        let (_directory, root) = workspace();
        let wanted = SearchText {
            pattern: "todo".to_owned(),
            ..SearchText::default()
        };
        let found = search(&root, &wanted).expect("a valid search");
        assert_eq!(found.matches[0].text.len(), 399);
    }

    #[test]
    fn a_bad_pattern_is_explained() {
        let (_directory, root) = workspace();
        for pattern in ["(", "a{9999999}"] {
            let wanted = SearchText {
                pattern: pattern.to_owned(),
                ..SearchText::default()
            };
            let error = search(&root, &wanted).expect_err(pattern);
            assert!(matches!(error, ToolError::BadPattern { .. }), "{error}");
        }
    }
}
