//! Listing files, counting their lines, and reading ranges of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{error::ToolError, language, root::Root};

/// Bytes of text that one read gives (1 MiB).
const MAX_READ_BYTES: usize = 1024 * 1024;

/// Which files to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct ListFiles {
    /// A glob for paths relative to the workspace, such as `src/**/*.rs`. Default: all files.
    pub(crate) glob: Option<String>,
    /// Files to list at most. Default 1000.
    pub(crate) limit: Option<usize>,
}

/// Files of the workspace.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FileList {
    /// The files, by path.
    pub(crate) files: Vec<FileInfo>,
    /// Whether there are more than were listed.
    pub(crate) truncated: bool,
}

/// One file.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FileInfo {
    /// Its path, relative to the workspace.
    pub(crate) path: String,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// Its language, if its name tells.
    pub(crate) language: Option<String>,
}

/// Lists files.
pub(crate) fn list(root: &Root, wanted: &ListFiles) -> Result<FileList, ToolError> {
    let found = root.files(wanted.glob.as_deref())?;
    let limit = wanted.limit.unwrap_or(1000);
    Ok(FileList {
        truncated: found.len() > limit,
        files: found
            .into_iter()
            .take(limit)
            .map(|file| FileInfo {
                language: language::of(&file.path).map(str::to_owned),
                path: file.name,
                bytes: file.bytes,
            })
            .collect(),
    })
}

/// Which lines to read.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ReadText {
    /// The file's path, relative to the workspace.
    pub(crate) path: String,
    /// The first line, counted from 1. Default 1.
    pub(crate) first_line: Option<u64>,
    /// The last line. Default: the last of the file.
    pub(crate) last_line: Option<u64>,
}

/// Lines of a file.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FileText {
    /// The text of the lines.
    pub(crate) text: String,
    /// The first line read, counted from 1.
    pub(crate) first_line: u64,
    /// The last line read.
    pub(crate) last_line: u64,
    /// Lines in the whole file.
    pub(crate) total_lines: u64,
    /// Whether lines that were asked for were left out, because there are more than 1 MiB of them.
    pub(crate) truncated: bool,
}

/// Reads a range of lines.
pub(crate) fn read(root: &Root, wanted: &ReadText) -> Result<FileText, ToolError> {
    let text = root.text(&wanted.path)?;
    let total_lines = text.lines().count() as u64;
    let first_line = wanted.first_line.unwrap_or(1).max(1);
    if first_line > total_lines.max(1) {
        return Err(ToolError::BeyondEnd {
            path: wanted.path.clone(),
            lines: total_lines,
            first: first_line,
        });
    }
    let end = wanted.last_line.unwrap_or(total_lines).min(total_lines);
    let mut out = String::new();
    let mut last_line = first_line.saturating_sub(1);
    let mut truncated = false;
    let lines = (1..).zip(text.split_inclusive('\n'));
    for (number, line) in lines.filter(|(number, _)| (first_line..=end).contains(number)) {
        truncated = out.len() + line.len() > MAX_READ_BYTES;
        if truncated {
            break;
        }
        out.push_str(line);
        last_line = number;
    }
    Ok(FileText {
        text: out,
        first_line,
        last_line,
        total_lines,
        truncated,
    })
}

/// Whose lines to count.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct CountLines {
    /// A glob for paths relative to the workspace. Default: all files.
    pub(crate) glob: Option<String>,
}

/// Lines of files.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct LineCounts {
    /// Each text file, by path.
    pub(crate) files: Vec<LineCount>,
    /// Lines of all of them.
    pub(crate) total_lines: u64,
    /// Files left out, because they are no text or larger than 4 MiB.
    pub(crate) skipped: u64,
}

/// Lines of one file.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct LineCount {
    /// Its path, relative to the workspace.
    pub(crate) path: String,
    /// Its language, if its name tells.
    pub(crate) language: Option<String>,
    /// All its lines.
    pub(crate) lines: u64,
    /// Those that hold nothing but white space.
    pub(crate) blank_lines: u64,
}

/// Counts lines.
pub(crate) fn count(root: &Root, wanted: &CountLines) -> Result<LineCounts, ToolError> {
    let mut counts = LineCounts::default();
    for file in root.files(wanted.glob.as_deref())? {
        let Some(text) = file.text() else {
            counts.skipped += 1;
            continue;
        };
        let lines = text.lines().count() as u64;
        counts.total_lines += lines;
        counts.files.push(LineCount {
            language: language::of(&file.path).map(str::to_owned),
            path: file.name,
            lines,
            blank_lines: text.lines().filter(|line| line.trim().is_empty()).count() as u64,
        });
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn workspace(files: &[(&str, &[u8])]) -> (TempDir, Root) {
        let directory = TempDir::new().expect("a temporary directory");
        for (name, bytes) in files {
            std::fs::write(directory.path().join(name), bytes).expect("a file");
        }
        let root = Root::open(directory.path()).expect("a directory");
        (directory, root)
    }

    #[test]
    fn files_are_listed_with_size_and_language_up_to_the_limit() {
        let (_directory, root) = workspace(&[("a.py", b"x"), ("b.odd", b"yy"), ("c", b"")]);
        let wanted = ListFiles {
            limit: Some(2),
            ..ListFiles::default()
        };
        let expected = FileList {
            files: vec![
                FileInfo {
                    path: "a.py".to_owned(),
                    bytes: 1,
                    language: Some("Python".to_owned()),
                },
                FileInfo {
                    path: "b.odd".to_owned(),
                    bytes: 2,
                    language: None,
                },
            ],
            truncated: true,
        };
        assert_eq!(list(&root, &wanted).expect("a list"), expected);
    }

    #[test]
    fn a_range_of_lines_is_read_with_its_line_ends() {
        let (_directory, root) = workspace(&[("a", b"1\n2\r\n3\n4"), ("empty", b"")]);
        let lines = |path: &str, first_line, last_line| {
            let wanted = ReadText {
                path: path.to_owned(),
                first_line,
                last_line,
            };
            let text = read(&root, &wanted).map_err(|error| error.to_string())?;
            Ok::<_, String>((text.text, text.first_line, text.last_line, text.total_lines))
        };
        assert_eq!(
            lines("a", None, None),
            Ok(("1\n2\r\n3\n4".to_owned(), 1, 4, 4))
        );
        assert_eq!(
            lines("a", Some(2), Some(3)),
            Ok(("2\r\n3\n".to_owned(), 2, 3, 4))
        );
        assert_eq!(lines("a", Some(4), Some(99)), Ok(("4".to_owned(), 4, 4, 4)));
        assert_eq!(lines("empty", None, None), Ok((String::new(), 1, 0, 0)));
        assert_eq!(
            lines("a", Some(5), None),
            Err("`a` has 4 lines; line 5 is beyond its end".to_owned())
        );
    }

    #[test]
    fn a_read_beyond_the_limit_stops_at_a_whole_line() {
        let line = [&[b'x'; 1023][..], b"\n"].concat();
        let (_directory, root) = workspace(&[("a", &line.repeat(1500))]);
        let wanted = ReadText {
            path: "a".to_owned(),
            first_line: Some(2),
            last_line: None,
        };
        let text = read(&root, &wanted).expect("text");
        assert_eq!(
            (text.last_line, text.text.len(), text.truncated),
            (1025, 1024 * 1024, true)
        );
    }

    #[test]
    fn lines_are_counted_by_file() {
        let (_directory, root) = workspace(&[("a.rs", b"fn a() {}\n\n  \n"), ("b", b"\xff")]);
        let expected = LineCounts {
            files: vec![LineCount {
                path: "a.rs".to_owned(),
                language: Some("Rust".to_owned()),
                lines: 3,
                blank_lines: 2,
            }],
            total_lines: 3,
            skipped: 1,
        };
        assert_eq!(
            count(&root, &CountLines::default()).expect("counts"),
            expected
        );
    }
}
