//! Storage that fails: every error is reported, and nothing half-written is left or shown.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::{Arc, atomic::Ordering},
};

use codehatch_artifacts::{
    ArtifactError, ArtifactLimits, ArtifactStore as _, ObjectArtifactStore, StorageProblem,
    object_store::{ObjectStore as _, path::Path as ObjectPath},
};
use futures_util::TryStreamExt as _;

use crate::{
    failing::FullAfter,
    support::{
        load, name, names, role, save, succeed, system, unshared_child, unsynced, versions, writer,
    },
};

fn problem(error: &ArtifactError) -> StorageProblem {
    match error {
        ArtifactError::Storage { problem, .. } => *problem,
        other => panic!("{other}"),
    }
}

async fn store(objects: &Arc<FullAfter>) -> ObjectArtifactStore {
    let objects = Arc::clone(objects);
    let limits = ArtifactLimits::default().with_total_bytes(20_000_000);
    let store = ObjectArtifactStore::open(objects, ObjectPath::from("t"), limits).await;
    store.expect("the store opens")
}

async fn objects_left(objects: &FullAfter) -> Vec<String> {
    let found: Vec<_> = objects.list(None).try_collect().await.expect("a listing");
    found
        .into_iter()
        .map(|object| object.location.to_string())
        .collect()
}

#[tokio::test]
async fn a_save_that_fails_at_any_step_leaves_nothing() {
    for writes in 0..2 {
        let objects = FullAfter::new(writes);
        let store = store(&objects).await;
        let error = save(&store, "a", &vec![1; 15_000_000])
            .await
            .expect_err("full");
        assert_eq!(problem(&error), StorageProblem::Full, "{writes}");
        assert_eq!(
            objects_left(&objects).await,
            Vec::<String>::new(),
            "{writes}"
        );
        objects.left.store(2, Ordering::Relaxed);
        let saved = save(&store, "a", &vec![1; 15_000_000])
            .await
            .expect("its room was given back");
        assert_eq!(saved.version, 0);
    }
}

#[tokio::test]
async fn a_writer_that_fails_at_any_step_leaves_nothing() {
    // The upload, the claim, and the move to its place.
    for writes in 0..3 {
        let objects = FullAfter::new(writes);
        let store = store(&objects).await;
        let mut broken = writer(&store, "a").await;
        let error = match broken.write(&vec![1; 15_000_000]).await {
            Ok(()) => broken.finish().await.expect_err("full"),
            Err(error) => {
                let later = broken.write(b"x").await.expect_err("broken");
                assert!(matches!(later, ArtifactError::Incomplete { .. }), "{later}");
                let end = broken.finish().await.expect_err("broken");
                assert!(matches!(end, ArtifactError::Incomplete { .. }), "{end}");
                error
            }
        };
        assert_eq!(problem(&error), StorageProblem::Full, "{writes}");
        assert_eq!(
            objects_left(&objects).await,
            Vec::<String>::new(),
            "{writes}"
        );
        objects.left.store(2, Ordering::Relaxed);
        save(&store, "a", &vec![1; 15_000_000])
            .await
            .expect("its room was given back");
    }
}

#[tokio::test]
async fn a_version_without_its_bytes_is_never_shown() {
    let objects = FullAfter::new(usize::MAX);
    let store = store(&objects).await;
    save(&store, "a", b"old").await.expect("saved");
    save(&store, "a", b"new").await.expect("saved");
    let bytes = ObjectPath::from("t/a/v1/a");
    let gone = futures_util::stream::once(async move { Ok(bytes) });
    let _: Vec<_> = objects
        .delete_stream(Box::pin(gone))
        .try_collect()
        .await
        .expect("deleted");
    assert_eq!(versions(&store, "a").await, [0]);
    assert_eq!(load(&store, "a", None).await.as_deref(), Some(&b"old"[..]));
    assert_eq!(load(&store, "a", Some(1)).await, None);
    assert_eq!(names(&store).await, ["a"]);
    assert_eq!(save(&store, "a", b"newer").await.expect("saved").version, 2);
}

/// As root of a name space where mounts are its own.
const MAY_MOUNT: &[&str] = &["--user", "--map-root-user", "--mount"];
/// As the owner of what the tests made, but without what lets root pass over modes.
const MAY_NOTHING: &[&str] = &["--user"];

/// Runs `test` in an empty directory, in a child process with those rights.
fn in_namespace(rights: &[&str], test: impl AsyncFnOnce(&Path)) {
    let guard = tempfile::tempdir().expect("a temporary directory");
    let Some(path) = role() else {
        succeed(unshared_child(
            rights,
            guard.path().to_str().expect("UTF-8"),
        ));
        return;
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(test(Path::new(&path)));
}

#[test]
fn a_full_disk_is_named_and_what_was_there_stays() {
    in_namespace(MAY_MOUNT, async |path: &Path| {
        let mount = path.to_str().expect("UTF-8");
        system(
            "mount",
            &["-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", mount],
        );
        let store = ObjectArtifactStore::open_directory(path, unsynced())
            .await
            .expect("opens");
        save(&store, "a", b"small").await.expect("saved");
        let error = save(&store, "b", &vec![1; 6_000_000])
            .await
            .expect_err("full");
        assert_eq!(
            error.to_string(),
            format!(
                "cannot save artifact `b` in `{mount}`: its disk or quota is full; free space there, \
                 or choose another place"
            )
        );
        let mut broken = writer(&store, "c").await;
        let error = broken.write(&vec![1; 6_000_000]).await.expect_err("full");
        assert_eq!(problem(&error), StorageProblem::Full);
        broken.abort().await.expect("given up");
        assert_eq!(names(&store).await, ["a"]);
        save(&store, "b", &vec![1; 2_000_000])
            .await
            .expect("the failures left no bytes behind");
        assert_eq!(
            load(&store, "a", None).await.as_deref(),
            Some(&b"small"[..])
        );
    });
}

#[test]
fn a_disk_without_inodes_is_named_when_the_store_is_opened() {
    in_namespace(MAY_MOUNT, async |path: &Path| {
        let mount = path.to_str().expect("UTF-8");
        system(
            "mount",
            &["-t", "tmpfs", "-o", "nr_inodes=4", "tmpfs", mount],
        );
        let error = ObjectArtifactStore::open_directory(path, unsynced())
            .await
            .expect_err("full");
        assert_eq!(problem(&error), StorageProblem::Full);
    });
}

#[test]
fn a_read_only_directory_is_named_at_the_opening_and_later() {
    in_namespace(MAY_MOUNT, async |path: &Path| {
        let mount = path.to_str().expect("UTF-8");
        system("mount", &["-t", "tmpfs", "tmpfs", mount]);
        let store = ObjectArtifactStore::open_directory(path, unsynced())
            .await
            .expect("opens");
        save(&store, "a", b"x").await.expect("saved");
        // Over itself, so that the store's own open lock does not keep it writable.
        system("mount", &["--bind", mount, mount]);
        system("mount", &["-o", "remount,bind,ro", mount]);
        let error = save(&store, "a", b"y").await.expect_err("read-only");
        assert_eq!(problem(&error), StorageProblem::ReadOnly);
        assert_eq!(load(&store, "a", None).await.as_deref(), Some(&b"x"[..]));
        let error = ObjectArtifactStore::open_directory(path, unsynced()).await;
        let error = error.expect_err("read-only");
        assert!(error.to_string().contains(&format!("`{mount}`")), "{error}");
        assert_eq!(problem(&error), StorageProblem::ReadOnly);
    });
}

#[test]
fn a_directory_that_this_user_may_not_write_to_is_named() {
    in_namespace(MAY_NOTHING, async |path: &Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o500)).expect("locked");
        let error = ObjectArtifactStore::open_directory(path, unsynced()).await;
        let message = error.expect_err("denied").to_string();
        assert_eq!(
            message,
            format!(
                "cannot open the artifact directory in `{}`: permission denied; make it writable for \
                 this user, or choose another place",
                path.display()
            )
        );
    });
}

#[tokio::test]
async fn closing_a_directory_that_is_gone_is_quiet() {
    let (store, guard) = crate::support::directory(unsynced()).await;
    guard.close().expect("removed");
    assert_eq!(
        problem(&store.delete(&name("a")).await.expect_err("gone")),
        StorageProblem::Vanished
    );
}
