//! The one directory that the tools see: paths in, files out, nothing from outside.

use std::{
    fs::File,
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

use globset::{Glob, GlobMatcher};
use ignore::WalkBuilder;

use crate::error::ToolError;

/// Longest file that is read whole, in bytes (4 MiB).
pub(crate) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// An existing directory, by its real path.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    path: PathBuf,
}

/// A file of the directory.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Relative to the directory, with `/` between its parts.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

impl Root {
    /// The directory at `path`.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize().and_then(|path| {
            if path.is_dir() {
                Ok(path)
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            }
        });
        Ok(Self { path: path? })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The real path of something inside the directory. Symbolic links are followed, and must end inside.
    pub(crate) fn resolve(&self, name: &str) -> Result<PathBuf, ToolError> {
        let outside = || ToolError::Outside {
            path: name.to_owned(),
        };
        let relative = Path::new(name);
        let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if name.contains('\0') || !relative.components().all(plain) {
            return Err(outside());
        }
        match self.path.join(relative).canonicalize() {
            Ok(path) if path.starts_with(&self.path) => Ok(path),
            Ok(_) => Err(outside()),
            Err(error) => Err(of_io(name, error)),
        }
    }

    /// The text of a file.
    pub(crate) fn text(&self, name: &str) -> Result<String, ToolError> {
        let path = self.resolve(name)?;
        if !path.is_file() {
            return Err(ToolError::NotAFile {
                path: name.to_owned(),
            });
        }
        let bytes = read_bounded(&path).map_err(|error| of_io(name, error))?;
        let bytes = bytes.ok_or_else(|| ToolError::TooLarge {
            path: name.to_owned(),
            bytes: path.metadata().map_or(0, |metadata| metadata.len()),
            limit: MAX_FILE_BYTES,
        })?;
        String::from_utf8(bytes).map_err(|_| ToolError::NotText {
            path: name.to_owned(),
        })
    }

    /// The files that match `glob` (all without one), by name. What git ignores and what is hidden is left
    /// out, and symbolic links are not followed.
    pub(crate) fn files(&self, glob: Option<&str>) -> Result<Vec<Entry>, ToolError> {
        let matcher = glob.map(matcher).transpose()?;
        let mut found = Vec::new();
        let walk = WalkBuilder::new(&self.path).require_git(false).build();
        for entry in walk.flatten() {
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let Ok(relative) = entry.path().strip_prefix(&self.path) else {
                continue;
            };
            if matcher
                .as_ref()
                .is_some_and(|matcher| !matcher.is_match(relative))
            {
                continue;
            }
            found.push(Entry {
                name: relative.to_string_lossy().replace('\\', "/"),
                bytes: entry.metadata().map_or(0, |metadata| metadata.len()),
                path: entry.into_path(),
            });
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }
}

impl Entry {
    /// The file's text; `None` if it is too large, no text, or gone.
    pub(crate) fn text(&self) -> Option<String> {
        let bytes = read_bounded(&self.path).ok().flatten()?;
        String::from_utf8(bytes).ok()
    }
}

/// The file's bytes; `None` if there are too many.
fn read_bounded(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let read = File::open(path)?
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)?;
    Ok((read as u64 <= MAX_FILE_BYTES).then_some(bytes))
}

fn matcher(glob: &str) -> Result<GlobMatcher, ToolError> {
    let glob = Glob::new(glob).map_err(|error| ToolError::BadGlob {
        glob: glob.to_owned(),
        reason: error.kind().to_string(),
    })?;
    Ok(glob.compile_matcher())
}

fn of_io(name: &str, source: io::Error) -> ToolError {
    let path = name.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ToolError::Missing { path },
        _ => ToolError::Io { path, source },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn workspace() -> (TempDir, Root) {
        let directory = TempDir::new().expect("a temporary directory");
        let inside = directory.path().join("inside");
        std::fs::create_dir_all(inside.join("src")).expect("a directory");
        std::fs::write(directory.path().join("secret"), "s").expect("a file");
        std::fs::write(inside.join("src/a.rs"), "fn a() {}\n").expect("a file");
        std::fs::write(inside.join("b.txt"), "b").expect("a file");
        std::fs::write(inside.join("skipped.log"), "l").expect("a file");
        std::fs::write(inside.join(".gitignore"), "*.log\n").expect("a file");
        symlink("../secret", inside.join("leak")).expect("a link");
        symlink("..", inside.join("up")).expect("a link");
        symlink("b.txt", inside.join("good")).expect("a link");
        let root = Root::open(&inside).expect("a directory");
        (directory, root)
    }

    #[test]
    fn nothing_outside_can_be_read() {
        let (_directory, root) = workspace();
        for path in [
            "../secret",
            "/etc/passwd",
            "src/../../secret",
            "leak",
            "up/secret",
            "a\0b",
        ] {
            let error = root.text(path).expect_err(path);
            assert!(
                matches!(error, ToolError::Outside { .. }),
                "{path}: {error}"
            );
        }
    }

    #[test]
    fn files_and_links_inside_can_be_read() {
        let (_directory, root) = workspace();
        for (path, text) in [("b.txt", "b"), ("./src/a.rs", "fn a() {}\n"), ("good", "b")] {
            assert_eq!(root.text(path).expect(path), text);
        }
    }

    #[test]
    fn what_is_no_text_file_is_named() {
        let (directory, root) = workspace();
        std::fs::write(directory.path().join("inside/raw"), [0xff, 0xfe]).expect("a file");
        let large = vec![b'x'; usize::try_from(MAX_FILE_BYTES).expect("small") + 1];
        std::fs::write(directory.path().join("inside/large"), large).expect("a file");
        let messages: Vec<_> = ["src", "none", "b.txt/x", "raw", "large"]
            .map(|path| root.text(path).expect_err(path).to_string())
            .into();
        assert_eq!(
            messages,
            [
                "`src` is no file; list_files with `src/**` shows what is in it",
                "there is no `none`; list_files shows what there is",
                "there is no `b.txt/x`; list_files shows what there is",
                "`raw` is not text in UTF-8",
                "`large` has 4194305 bytes, more than the limit of 4194304",
            ]
        );
    }

    #[test]
    fn listed_files_are_real_visible_and_not_ignored() {
        let (_directory, root) = workspace();
        let names = |glob| {
            let files = root.files(glob).expect("a valid glob");
            files.into_iter().map(|file| file.name).collect::<Vec<_>>()
        };
        assert_eq!(names(None), ["b.txt", "src/a.rs"]);
        assert_eq!(names(Some("**/*.rs")), ["src/a.rs"]);
        assert!(root.files(Some("[")).is_err());
    }
}
