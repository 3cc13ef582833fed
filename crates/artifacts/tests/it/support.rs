//! Stores, names and child processes for the tests.

use std::process::{Command, Stdio};

use bytes::Bytes;
use codehatch_artifacts::{
    ArtifactError, ArtifactName, ArtifactStore, ArtifactWriter, DirectoryOptions,
    ObjectArtifactStore, SaveOptions, Saved,
};
use futures_util::TryStreamExt as _;

/// Tells a test that it is the child process which another run of it started.
const ROLE: &str = "CODEHATCH_TEST_ROLE";

pub(crate) fn name(text: &str) -> ArtifactName {
    ArtifactName::parse(text).expect("a valid name")
}

/// A store in a directory that goes with the guard.
pub(crate) async fn directory(
    options: DirectoryOptions,
) -> (ObjectArtifactStore, tempfile::TempDir) {
    let guard = tempfile::tempdir().expect("a temporary directory");
    let path = guard.path().join("kept");
    let store = ObjectArtifactStore::open_directory(path, options).await;
    (store.expect("the directory opens"), guard)
}

/// Without flushing, which only slows tests down.
pub(crate) fn unsynced() -> DirectoryOptions {
    DirectoryOptions::default().with_sync(false)
}

pub(crate) async fn save(
    store: &dyn ArtifactStore,
    artifact: &str,
    bytes: &[u8],
) -> Result<Saved, ArtifactError> {
    let bytes = Bytes::copy_from_slice(bytes);
    store
        .save(&name(artifact), bytes, SaveOptions::default())
        .await
}

pub(crate) async fn load(
    store: &dyn ArtifactStore,
    artifact: &str,
    version: Option<u32>,
) -> Option<Vec<u8>> {
    let loaded = store.load(&name(artifact), version).await.expect("a load");
    loaded.map(|artifact| artifact.bytes.to_vec())
}

/// Reads a version piece by piece.
pub(crate) async fn stream(store: &dyn ArtifactStore, artifact: &str) -> Option<Vec<u8>> {
    let reader = store.read(&name(artifact), None).await.expect("a read")?;
    let chunks: Vec<Bytes> = reader.bytes.try_collect().await.expect("all chunks");
    Some(chunks.concat())
}

pub(crate) async fn writer(store: &dyn ArtifactStore, artifact: &str) -> Box<dyn ArtifactWriter> {
    store
        .writer(&name(artifact), SaveOptions::default())
        .await
        .expect("a writer")
}

pub(crate) async fn names(store: &dyn ArtifactStore) -> Vec<String> {
    let names = store.list().await.expect("a listing");
    names.iter().map(ToString::to_string).collect()
}

pub(crate) async fn versions(store: &dyn ArtifactStore, artifact: &str) -> Vec<u32> {
    store.versions(&name(artifact)).await.expect("the versions")
}

/// What this process was started for, if it is a child.
pub(crate) fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// The command that runs the calling test once more, as a child in `role`.
pub(crate) fn child(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the test binary"));
    with_test_arguments(&mut command, role);
    command
}

/// As [`child`], in namespaces of its own that `unshare` makes, whoever runs the tests.
pub(crate) fn unshared_child(unshare: &[&str], role: &str) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(unshare)
        .arg(std::env::current_exe().expect("the test binary"));
    with_test_arguments(&mut command, role);
    command
}

fn with_test_arguments(command: &mut Command, role: &str) {
    let thread = std::thread::current();
    let test = thread.name().expect("the name of the test");
    command
        .args(["--exact", test, "--nocapture"])
        .env(ROLE, role)
        .stdin(Stdio::null());
}

/// Runs a child and fails with all it said unless it succeeds.
pub(crate) fn succeed(mut command: Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        said.concat()
    );
}

/// Runs a system command in a child.
pub(crate) fn system(program: &str, arguments: &[&str]) {
    let mut command = Command::new(program);
    command.args(arguments);
    succeed(command);
}
