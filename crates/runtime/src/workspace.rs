//! The files of a turn, and which of them a block has made or changed.

use std::{collections::BTreeMap, fmt, fs::File, io::Read};

use sha2::{Digest, Sha256};

use crate::{BoxFuture, WorkspaceError};

/// The directory in which a turn's blocks run.
pub trait Workspace: fmt::Debug + Send {
    /// Writes a file before a block runs. A name that leaves the workspace is refused.
    fn put(&mut self, path: &str, contents: Vec<u8>) -> BoxFuture<'_, Result<(), WorkspaceError>>;

    /// The files that have changed since the last call, or since [`put`](Self::put) wrote them.
    fn collect(
        &mut self,
        limits: CollectLimits,
    ) -> BoxFuture<'_, Result<Collected, WorkspaceError>>;
}

/// Bounds on what is collected from a workspace after one block. The host keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectLimits {
    /// Files that are looked at. Default 10,000.
    pub entries: usize,
    /// Files that are collected after one block. Default 1,000.
    pub files: usize,
    /// Bytes of one file. Default 100 MiB.
    pub file_bytes: u64,
    /// Bytes of all files of one block. Default 256 MiB.
    pub total_bytes: u64,
}

impl Default for CollectLimits {
    fn default() -> Self {
        Self {
            entries: 10_000,
            files: 1_000,
            file_bytes: 100 * 1024 * 1024,
            total_bytes: 256 * 1024 * 1024,
        }
    }
}

/// What a block did to the workspace.
#[derive(Debug, Default)]
pub struct Collected {
    /// Files that are new or have other bytes than before, by path.
    pub files: Vec<CollectedFile>,
    /// Files that were there and are not any more, by path.
    pub deleted: Vec<String>,
    /// Files that were not collected, and why.
    pub skipped: Vec<Skipped>,
}

/// One file of a workspace.
#[derive(Debug)]
pub struct CollectedFile {
    /// Its path in the workspace.
    pub path: String,
    /// Whether it is new.
    pub change: Change,
    /// Bytes that it had when it was looked at.
    pub bytes: u64,
    /// Its contents. A reader takes [`bytes`](Self::bytes) and no more, since the sandbox may go on writing.
    pub file: File,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not there before.
    Created,
    /// It had other bytes before.
    Changed,
}

/// A file that was not collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its path, made readable.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A regular file in a workspace, opened without following any link.
#[derive(Debug)]
pub struct Entry {
    /// Its path in the workspace.
    pub path: String,
    /// Open for reading.
    pub file: File,
    /// Changes whenever its contents may have.
    pub stamp: Stamp,
}

/// What a file system says of a file's last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its inode.
    pub inode: u64,
    /// Last change of contents, in nanoseconds.
    pub modified_ns: i128,
    /// Last change of contents or attributes, in nanoseconds.
    pub changed_ns: i128,
}

/// What a workspace held when it was last looked at.
#[derive(Debug, Default)]
pub struct Baseline {
    files: BTreeMap<String, Known>,
    /// When it was last looked at, on the file system's clock, in nanoseconds.
    looked_ns: i128,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    stamp: Stamp,
    hash: [u8; 32],
}

/// Two changes within this time may have one stamp, in nanoseconds: the tick of a slow kernel's clock.
const TICK_NS: i128 = 20_000_000;

impl Baseline {
    /// Notes a file that the host has written itself, so that it does not count as the block's.
    pub fn note(&mut self, path: &str, stamp: Stamp, contents: &[u8]) {
        let hash = Sha256::digest(contents).into();
        self.files.insert(path.to_owned(), Known { stamp, hash });
    }

    /// Whether nothing is known to be there.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Compares the workspace with what it was, and remembers what it is now (`now_ns` on its clock).
    pub fn compare(
        &mut self,
        entries: Vec<Entry>,
        mut skipped: Vec<Skipped>,
        limits: CollectLimits,
        now_ns: i128,
    ) -> Collected {
        let mut collected = Collected::default();
        let mut seen = BTreeMap::new();
        let mut total = 0u64;
        for mut entry in entries {
            let known = self.files.get(&entry.path).copied();
            if let Some(known) = known.filter(|known| self.is_unchanged(known, entry.stamp)) {
                seen.insert(entry.path, known);
                continue;
            }
            let bytes = entry.stamp.bytes;
            let refused = if bytes > limits.file_bytes {
                Some(format!(
                    "{bytes} bytes are more than the limit of {}",
                    limits.file_bytes
                ))
            } else if total.saturating_add(bytes) > limits.total_bytes {
                Some(format!(
                    "the files of this block are more than {} bytes",
                    limits.total_bytes
                ))
            } else if collected.files.len() >= limits.files {
                Some(format!("this block made more than {} files", limits.files))
            } else {
                None
            };
            if let Some(reason) = refused {
                skipped.push(Skipped {
                    path: entry.path,
                    reason,
                });
                continue;
            }
            let hash = match hash_file(&mut entry.file, bytes) {
                Ok(hash) => hash,
                Err(error) => {
                    skipped.push(Skipped {
                        path: entry.path,
                        reason: error.to_string(),
                    });
                    continue;
                }
            };
            seen.insert(
                entry.path.clone(),
                Known {
                    stamp: entry.stamp,
                    hash,
                },
            );
            let change = match known {
                Some(known) if known.hash == hash => continue,
                Some(_) => Change::Changed,
                None => Change::Created,
            };
            total = total.saturating_add(bytes);
            collected.files.push(CollectedFile {
                path: entry.path,
                change,
                bytes,
                file: entry.file,
            });
        }
        let gone = |path: &&String| {
            !seen.contains_key(*path) && !skipped.iter().any(|skipped| skipped.path == **path)
        };
        collected.deleted = self.files.keys().filter(gone).cloned().collect();
        collected.skipped = skipped;
        self.files = seen;
        self.looked_ns = now_ns;
        collected
    }

    /// The same stamp means the same bytes, unless the change was so recent that the clock stood still.
    fn is_unchanged(&self, known: &Known, stamp: Stamp) -> bool {
        known.stamp == stamp && stamp.changed_ns + TICK_NS < self.looked_ns
    }
}

fn hash_file(file: &mut File, bytes: u64) -> std::io::Result<[u8; 32]> {
    use std::io::{Seek, SeekFrom};
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut reader = file.take(bytes);
    loop {
        match reader.read(&mut buffer)? {
            0 => break,
            length => hash.update(buffer.get(..length).unwrap_or_default()),
        }
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(hash.finalize().into())
}

/// Longest path of a file in a workspace, in bytes.
const MAX_PATH_BYTES: usize = 1024;
/// Most directories above a file in a workspace.
const MAX_DEPTH: usize = 32;

/// Refuses a path that is no plain relative one.
pub fn check_path(path: &str) -> Result<(), WorkspaceError> {
    let fault = if path.is_empty() {
        "it is empty"
    } else if path.len() > MAX_PATH_BYTES {
        "it is too long"
    } else if path.starts_with('/') {
        "it is absolute"
    } else if path.chars().any(char::is_control) {
        "it has a control character"
    } else if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        "it has an empty, `.` or `..` part"
    } else if path.split('/').count() > MAX_DEPTH {
        "it has too many directories"
    } else {
        return Ok(());
    };
    let shown = path
        .chars()
        .take(200)
        .collect::<String>()
        .escape_debug()
        .to_string();
    Err(WorkspaceError::Path { path: shown, fault })
}

#[cfg(test)]
mod tests;
