//! The history of the workspace, read with the `git` program. The repository's own settings are not trusted.

use std::{io, process::Stdio, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::{process::Command, time};

use crate::{error::ToolError, root::Root};

/// How long git may take.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Commits that one call gives at most.
const MAX_COMMITS: usize = 500;
/// Starts a commit and separates its fields in git's output.
const COMMIT: char = '\u{1e}';
const FIELD: char = '\u{1f}';
/// Settings of a repository that would run programs.
const SAFE: [&str; 9] = [
    "--no-pager",
    "--literal-pathspecs",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "core.quotePath=false",
    "--no-optional-locks",
];

/// Whose history to read.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FileHistory {
    /// The file's path, relative to the workspace.
    pub(crate) path: String,
    /// Commits to give at most, up to 500. Default 20.
    pub(crate) limit: Option<usize>,
}

/// Which commits to read.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct RecentCommits {
    /// Commits to give at most, up to 500. Default 20.
    pub(crate) limit: Option<usize>,
}

/// Commits, the newest first.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Commits {
    /// The commits.
    pub(crate) commits: Vec<Commit>,
}

/// One commit.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Commit {
    /// Its full hash.
    pub(crate) hash: String,
    /// Who wrote it.
    pub(crate) author: String,
    /// When it was written, in ISO 8601 with its time zone.
    pub(crate) date: String,
    /// The first line of its message.
    pub(crate) subject: String,
    /// Files that it touched (of the one asked for, where one was), relative to the workspace.
    pub(crate) files: Vec<String>,
}

/// Commits that touched one file, across renames.
pub(crate) async fn file_history(root: &Root, wanted: &FileHistory) -> Result<Commits, ToolError> {
    root.resolve(&wanted.path)?;
    log(root, wanted.limit, &["--follow", "--", &wanted.path]).await
}

/// The latest commits of the workspace.
pub(crate) async fn recent_commits(
    root: &Root,
    wanted: &RecentCommits,
) -> Result<Commits, ToolError> {
    log(root, wanted.limit, &["--", "."]).await
}

async fn log(root: &Root, limit: Option<usize>, rest: &[&str]) -> Result<Commits, ToolError> {
    let limit = limit.unwrap_or(20).min(MAX_COMMITS);
    let format = format!("--format={COMMIT}%H{FIELD}%an{FIELD}%aI{FIELD}%s");
    let mut git = Command::new("git");
    git.current_dir(root.path())
        .args(SAFE)
        .args([
            "log",
            "--no-ext-diff",
            "--no-textconv",
            "--name-only",
            "--relative",
            "-z",
        ])
        .arg(format!("--max-count={limit}"))
        .arg(format)
        .args(rest)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = match time::timeout(TIMEOUT, git.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => return Err(ToolError::NoGit),
        Ok(Err(source)) => {
            let path = "git".to_owned();
            return Err(ToolError::Io { path, source });
        }
        Err(_) => {
            let seconds = TIMEOUT.as_secs();
            return Err(ToolError::GitTimeout { seconds });
        }
    };
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(ToolError::Git { reason });
    }
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads commits off git's output: fields, then the names of files, each ended by NUL.
fn parse(output: &str) -> Commits {
    let commits = output.split(COMMIT).filter_map(|text| {
        let mut parts = text.split('\0');
        let mut fields = parts.next()?.splitn(4, FIELD);
        Some(Commit {
            hash: fields.next()?.to_owned(),
            author: fields.next()?.to_owned(),
            date: fields.next()?.to_owned(),
            subject: fields.next()?.to_owned(),
            files: parts
                .map(|name| name.trim_start_matches('\n'))
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
        })
    });
    Commits {
        commits: commits.collect(),
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn git(directory: &TempDir, args: &[&str]) {
        let output = std::process::Command::new("git")
            .current_dir(directory.path())
            .args(["-c", "user.name=Ann Ü", "-c", "user.email=ann@example.com"])
            .args(args)
            .env("GIT_AUTHOR_DATE", "2024-01-02T03:04:05+00:00")
            .output()
            .expect("git runs");
        assert!(output.status.success(), "{output:?}");
    }

    fn repository() -> (TempDir, Root) {
        let directory = TempDir::new().expect("a temporary directory");
        git(&directory, &["init", "--quiet"]);
        for (name, subject) in [("a b.txt", "Add a"), ("ü.txt", "Add ü: \"quoted\"")] {
            std::fs::write(directory.path().join(name), subject).expect("a file");
            git(&directory, &["add", "."]);
            git(&directory, &["commit", "--quiet", "-m", subject]);
        }
        let root = Root::open(directory.path()).expect("a directory");
        (directory, root)
    }

    fn shown(commits: &Commits) -> Vec<(&str, &str, &str, Vec<&str>)> {
        let commits = commits.commits.iter().map(|commit| {
            assert_eq!(commit.hash.len(), 40);
            let files = commit.files.iter().map(String::as_str).collect();
            (
                commit.author.as_str(),
                commit.date.as_str(),
                commit.subject.as_str(),
                files,
            )
        });
        commits.collect()
    }

    const DATE: &str = "2024-01-02T03:04:05Z";

    #[tokio::test]
    async fn recent_commits_come_newest_first_with_their_files() {
        let (_directory, root) = repository();
        let commits = recent_commits(&root, &RecentCommits::default())
            .await
            .expect("a history");
        let commits = shown(&commits)
            .into_iter()
            .map(|(author, date, subject, files)| {
                (author, date.replace("+00:00", "Z"), subject, files)
            });
        assert_eq!(
            commits.collect::<Vec<_>>(),
            [
                ("Ann Ü", DATE.to_owned(), "Add ü: \"quoted\"", vec!["ü.txt"]),
                ("Ann Ü", DATE.to_owned(), "Add a", vec!["a b.txt"]),
            ]
        );
    }

    #[tokio::test]
    async fn the_history_of_one_file_has_its_commits_only() {
        let (_directory, root) = repository();
        let wanted = FileHistory {
            path: "a b.txt".to_owned(),
            limit: None,
        };
        let commits = file_history(&root, &wanted).await.expect("a history");
        let subjects: Vec<_> = shown(&commits).into_iter().map(|commit| commit.2).collect();
        assert_eq!(subjects, ["Add a"]);
    }

    #[tokio::test]
    async fn paths_outside_and_directories_without_history_are_refused() {
        let (_directory, root) = repository();
        let wanted = FileHistory {
            path: "../x".to_owned(),
            limit: None,
        };
        let error = file_history(&root, &wanted).await.expect_err("outside");
        assert!(matches!(error, ToolError::Outside { .. }), "{error}");

        let plain = TempDir::new().expect("a temporary directory");
        let root = Root::open(plain.path()).expect("a directory");
        let error = recent_commits(&root, &RecentCommits::default())
            .await
            .expect_err("no repository");
        assert!(
            error.to_string().contains("not a git repository"),
            "{error}"
        );
    }
}
