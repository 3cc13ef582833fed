//! Processes that are killed while they write, and what the next one finds.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use codehatch_artifacts::{ArtifactStore as _, ObjectArtifactStore};

use crate::support::{child, load, name, names, role, save, unsynced, versions, writer};

/// Starts the calling test as a child on `path` and waits until it says `ready`.
fn start(path: &Path) -> Child {
    let mut command = child(path.to_str().expect("UTF-8"));
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(
        lines.any(|line| line.expect("a line").ends_with("ready")),
        "the child ended before it was ready"
    );
    child
}

fn say_ready() {
    println!("ready");
    std::io::stdout().flush().expect("flushed");
}

fn kill(mut child: Child) {
    child.kill().expect("killed");
    child.wait().expect("gone");
}

async fn open(path: &Path) -> ObjectArtifactStore {
    let store = ObjectArtifactStore::open_directory(path, unsynced()).await;
    store.expect("the directory opens")
}

fn staged(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path.join(".staging")).expect("the staging area") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found
}

#[tokio::test]
async fn a_killed_writer_leaves_only_what_the_next_store_clears_up() {
    if let Some(path) = role() {
        let store = open(Path::new(&path)).await;
        let mut writer = writer(&store, "a").await;
        writer.write(&vec![1; 3_500_000]).await.expect("written");
        say_ready();
        std::future::pending::<()>().await;
    }
    let guard = tempfile::tempdir().expect("a temporary directory");
    let writing = start(guard.path());
    let left = staged(guard.path());
    let unfinished = left[0].join("upload-0#1");
    assert!(
        fs::metadata(&unfinished)
            .expect("the unfinished write")
            .len()
            >= 3_000_000
    );
    // Alive, it is left alone.
    let other = open(guard.path()).await;
    assert!(unfinished.exists());
    assert_eq!(names(&other).await, Vec::<String>::new());
    kill(writing);
    let next = open(guard.path()).await;
    assert!(!left[0].exists());
    assert_eq!(
        staged(guard.path()).len(),
        2,
        "the two stores that are open"
    );
    assert_eq!(names(&next).await, Vec::<String>::new());
    assert_eq!(save(&next, "a", b"x").await.expect("saved").version, 0);
}

#[tokio::test]
async fn whenever_a_saver_is_killed_each_version_is_whole_or_absent() {
    if let Some(path) = role() {
        let store = open(Path::new(&path)).await;
        say_ready();
        for round in 0u32.. {
            let bytes = vec![u8::try_from(round % 251).expect("small"); 20_000];
            if round % 2 == 0 {
                save(&store, "a", &bytes).await.expect("saved");
            } else {
                let mut writer = writer(&store, "a").await;
                writer.write(&bytes.repeat(60)).await.expect("written");
                writer.finish().await.expect("finished");
            }
        }
    }
    let guard = tempfile::tempdir().expect("a temporary directory");
    let mut total = 0;
    for _ in 0..10 {
        let saving = start(guard.path());
        // Until it has saved something more; it is killed wherever it is then.
        let watching = open(guard.path()).await;
        while versions(&watching, "a").await.len() <= total {
            tokio::task::yield_now().await;
        }
        kill(saving);
        let next = open(guard.path()).await;
        let found = versions(&next, "a").await;
        for &version in &found {
            let bytes = load(&next, "a", Some(version))
                .await
                .expect("listed, so there");
            assert!(bytes.iter().all(|byte| *byte == bytes[0]));
            assert!(matches!(bytes.len(), 20_000 | 1_200_000));
        }
        total = found.len();
        assert_eq!(
            staged(guard.path()).len(),
            2,
            "the two stores that are open"
        );
        assert_eq!(incomplete(guard.path()), Vec::<PathBuf>::new());
        assert!(next.delete(&name("nothing")).await.is_ok());
    }
}

#[tokio::test]
async fn processes_that_share_a_directory_never_take_the_same_version() {
    if let Some(path) = role() {
        let store = open(Path::new(&path)).await;
        let mut versions = Vec::new();
        for _ in 0..50 {
            let process = std::process::id().to_le_bytes();
            versions.push(save(&store, "a", &process).await.expect("saved").version);
        }
        println!("versions {versions:?}");
        return;
    }
    let guard = tempfile::tempdir().expect("a temporary directory");
    let processes: Vec<Child> = (0..3)
        .map(|_| {
            let mut command = child(guard.path().to_str().expect("UTF-8"));
            command
                .stdout(Stdio::piped())
                .spawn()
                .expect("the child starts")
        })
        .collect();
    let store = open(guard.path()).await;
    for process in processes {
        let id = process.id().to_le_bytes();
        let output = process.wait_with_output().expect("the child ends");
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        let (_, versions) = said
            .split_once("versions [")
            .expect("it says what it saved");
        let (versions, _) = versions.split_once(']').expect("all of it");
        for version in versions.split(", ") {
            let bytes = load(&store, "a", version.parse().ok()).await;
            assert_eq!(bytes.as_deref(), Some(&id[..]), "version {version}");
        }
    }
    let expected: Vec<u32> = (0..150).collect();
    assert_eq!(versions(&store, "a").await, expected);
}

/// Versions that have a record and no bytes, or the other way round.
fn incomplete(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join("a")).expect("the versions") {
        let version = entry.expect("an entry").path();
        let files = fs::read_dir(&version).expect("a version").count();
        if files != 2 {
            found.push(version);
        }
    }
    found
}

/// The most memory that this process ever held, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the status");
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("its peak");
    let kilobytes = peak
        .trim()
        .trim_end_matches(" kB")
        .parse::<u64>()
        .expect("a number");
    kilobytes * 1024
}

#[tokio::test]
async fn fifty_megabytes_pass_through_a_few_of_memory() {
    let Some(path) = role() else {
        // In a process of its own, where no other test uses memory.
        let guard = tempfile::tempdir().expect("a temporary directory");
        crate::support::succeed(child(guard.path().to_str().expect("UTF-8")));
        return;
    };
    let store = open(Path::new(&path)).await;
    save(&store, "warm-up", b"x").await.expect("saved");
    let chunk = vec![b'x'; 65_536];
    let before = peak_memory();
    let mut writer = writer(&store, "stdout.txt").await;
    for _ in 0..800 {
        writer.write(&chunk).await.expect("written");
    }
    assert_eq!(writer.finish().await.expect("finished").bytes, 52_428_800);
    let written = peak_memory() - before;
    assert!(written < 5_000_000, "writing took {written} bytes");
    let reader = store
        .read(&name("stdout.txt"), None)
        .await
        .expect("read")
        .expect("there");
    let read = futures_util::TryStreamExt::try_fold(reader.bytes, 0, async |sum, chunk| {
        Ok(sum + chunk.len())
    });
    assert_eq!(read.await.expect("all of it"), 52_428_800);
    let grown = peak_memory() - before;
    assert!(grown < 5_000_000, "reading took {grown} bytes");
}
