//! What is special about a directory: its looks, its modes, and that others use it too.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use codehatch_artifacts::{
    ArtifactError, ArtifactName, ArtifactStore as _, DirectoryOptions, ObjectArtifactStore,
    StorageProblem,
};
use proptest::{prelude::*, test_runner::TestRunner};

use crate::support::{directory, load, name, names, save, stream, unsynced, versions, writer};

async fn open(path: &Path) -> ObjectArtifactStore {
    let store = ObjectArtifactStore::open_directory(path, unsynced()).await;
    store.expect("the directory opens")
}

/// All files below `root` with their modes, without the staging area.
fn files(root: &Path) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a readable directory") {
            let path = entry.expect("an entry").path();
            let relative = path.strip_prefix(root).expect("below the root");
            let relative = relative.to_str().expect("UTF-8").to_owned();
            let mode = fs::metadata(&path).expect("metadata").permissions().mode() & 0o7777;
            if path.is_dir() && relative != ".staging" {
                directories.push(path);
                found.insert(relative + "/", mode);
            } else if path.is_file() {
                found.insert(relative, mode);
            }
        }
    }
    found
}

#[tokio::test]
async fn a_person_finds_the_files_and_no_other_user_does() {
    let (store, guard) = directory(DirectoryOptions::default()).await;
    save(&store, "report.csv", b"a,b\r\n").await.expect("saved");
    let mut writer = writer(&store, "logs/out.txt").await;
    writer.write(&vec![b'x'; 3_000_000]).await.expect("written");
    writer.finish().await.expect("finished");
    let root = guard.path().join("kept");
    let expected = [
        ("logs/", 0o700),
        ("logs/out.txt/", 0o700),
        ("logs/out.txt/v0/", 0o700),
        ("logs/out.txt/v0/.artifact.json", 0o600),
        ("logs/out.txt/v0/out.txt", 0o600),
        ("report.csv/", 0o700),
        ("report.csv/v0/", 0o700),
        ("report.csv/v0/.artifact.json", 0o600),
        ("report.csv/v0/report.csv", 0o600),
    ];
    let expected: BTreeMap<String, u32> =
        expected.map(|(path, mode)| (path.to_owned(), mode)).into();
    assert_eq!(files(&root), expected);
    let mode = fs::metadata(&root).expect("metadata").permissions().mode() & 0o7777;
    assert_eq!(mode, 0o700);
    let on_disk = fs::read(root.join("report.csv/v0/report.csv")).expect("readable");
    assert_eq!(on_disk, b"a,b\r\n");
}

#[tokio::test]
async fn what_was_saved_is_there_after_a_restart_and_nothing_else() {
    let (store, guard) = directory(unsynced()).await;
    save(&store, "a", b"one").await.expect("saved");
    save(&store, "a", b"two").await.expect("saved");
    drop(store);
    let root = guard.path().join("kept");
    let leftovers: Vec<PathBuf> = fs::read_dir(root.join(".staging"))
        .expect("the staging area")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    assert_eq!(leftovers, Vec::<PathBuf>::new());
    let store = open(&root).await;
    assert_eq!(load(&store, "a", None).await.as_deref(), Some(&b"two"[..]));
    assert_eq!(save(&store, "a", b"three").await.expect("saved").version, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_on_one_directory_never_take_the_same_version() {
    let (first, guard) = directory(unsynced()).await;
    let second = open(&guard.path().join("kept")).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..100u32 {
        let store = if number % 2 == 0 { &first } else { &second }.clone();
        tasks.spawn(async move {
            let saved = save(&store, "a", &number.to_le_bytes())
                .await
                .expect("saved");
            (saved.version, number)
        });
    }
    let mut saved = tasks.join_all().await;
    saved.sort_unstable();
    let expected: Vec<u32> = (0..100).collect();
    assert_eq!(
        saved
            .iter()
            .map(|(version, _)| *version)
            .collect::<Vec<_>>(),
        expected
    );
    for (version, number) in saved {
        let store = if number % 2 == 0 { &second } else { &first };
        let bytes = load(store, "a", Some(version)).await;
        assert_eq!(bytes.as_deref(), Some(&number.to_le_bytes()[..]));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saving_and_deleting_at_once_loses_no_later_save() {
    let (first, guard) = directory(unsynced()).await;
    let second = open(&guard.path().join("kept")).await;
    for round in 0..20u8 {
        let (saved, deleted) = {
            let (first, second) = (first.clone(), second.clone());
            let saving = async move { save(&first, "deep/er/a", &[round]).await };
            let deleting = async move { second.delete(&name("deep/er/a")).await };
            let mut tasks = tokio::task::JoinSet::new();
            tasks.spawn(async move { saving.await.map(|saved| saved.version) });
            let deleted = deleting.await;
            (
                tasks
                    .join_next()
                    .await
                    .expect("one task")
                    .expect("no panic"),
                deleted,
            )
        };
        let version = saved.expect("a deletion never makes a save fail");
        deleted.expect("a save never makes a deletion fail");
        if let Some(bytes) = load(&first, "deep/er/a", Some(version)).await {
            assert_eq!(bytes, [round]);
        }
        let last = save(&first, "deep/er/a", b"last")
            .await
            .expect("saved")
            .version;
        let bytes = load(&second, "deep/er/a", Some(last)).await;
        assert_eq!(bytes.as_deref(), Some(&b"last"[..]));
    }
}

#[tokio::test]
async fn a_version_that_its_writer_never_completed_is_removed_once_the_writer_is_gone() {
    let (store, guard) = directory(unsynced()).await;
    let root = guard.path().join("kept");
    save(&store, "a", b"x").await.expect("saved");
    fs::remove_file(root.join("a/v0/a")).expect("now it is incomplete");
    let other = open(&root).await;
    assert!(
        root.join("a/v0/.artifact.json").exists(),
        "its writer may still complete it"
    );
    drop(store);
    assert_eq!(names(&other).await, Vec::<String>::new());
    let _third = open(&root).await;
    assert!(!root.join("a").exists());
    assert_eq!(save(&other, "a", b"y").await.expect("saved").version, 0);
}

#[tokio::test]
async fn files_of_other_programs_are_left_alone() {
    let (store, guard) = directory(unsynced()).await;
    let root = guard.path().join("kept");
    save(&store, "a", b"x").await.expect("saved");
    for foreign in [
        "notes.txt",
        "a/notes.txt",
        "a/v0/notes.txt",
        "a/v1",
        "a/v00",
    ] {
        fs::write(root.join(foreign), "mine").expect("written");
    }
    fs::create_dir_all(root.join("a/v7")).expect("made");
    let store = {
        drop(store);
        open(&root).await
    };
    assert_eq!(names(&store).await, ["a"]);
    assert_eq!(versions(&store, "a").await, [0]);
    assert_eq!(load(&store, "a", None).await.as_deref(), Some(&b"x"[..]));
    assert_eq!(save(&store, "a", b"y").await.expect("saved").version, 8);
    assert!(store.delete(&name("a")).await.expect("deleted"));
    assert_eq!(
        fs::read(root.join("a/v0/notes.txt")).expect("still there"),
        b"mine"
    );
}

#[tokio::test]
async fn a_writer_that_is_given_up_leaves_no_file_behind() {
    let (store, guard) = directory(unsynced()).await;
    let mut writer = writer(&store, "a").await;
    writer.write(&vec![1; 3_000_000]).await.expect("written");
    let files = || {
        let root = guard.path().join("kept");
        let staging = fs::read_dir(root.join(".staging")).expect("the staging area");
        let stores = staging.map(|entry| entry.expect("an entry").path());
        let of_store = |path: PathBuf| fs::read_dir(path).expect("a store's own").count();
        stores
            .filter(|path| path.is_dir())
            .map(of_store)
            .sum::<usize>()
    };
    assert_eq!(files(), 2, "the lock and the unfinished file");
    writer.abort().await.expect("given up");
    assert_eq!(files(), 1, "the lock");
    assert!(!guard.path().join("kept/a").exists());
}

#[tokio::test]
async fn a_file_that_was_changed_by_hand_is_reported_as_damaged() {
    let (store, guard) = directory(unsynced()).await;
    save(&store, "a.txt", b"whole").await.expect("saved");
    let version = guard.path().join("kept/a.txt/v0");
    fs::write(version.join("a.txt"), "wh").expect("cut");
    let error = store.load(&name("a.txt"), None).await.expect_err("noticed");
    let message = error
        .to_string()
        .replace(guard.path().to_str().expect("UTF-8"), "");
    insta::assert_snapshot!(message, @"artifact `a.txt` version 0 in `/kept` is damaged: it is 2 bytes long, but 5 were saved; restore it from a backup, or delete the artifact");
    fs::write(version.join("a.txt"), "whole").expect("mended");
    fs::write(version.join(".artifact.json"), "{}").expect("broken");
    let error = store.stat(&name("a.txt"), None).await.expect_err("noticed");
    assert!(matches!(error, ArtifactError::Damaged { .. }), "{error}");
}

#[tokio::test]
async fn a_file_that_is_cut_while_it_is_read_is_an_error_and_not_a_short_file() {
    use futures_util::TryStreamExt as _;
    let (store, guard) = directory(unsynced()).await;
    save(&store, "a.txt", &vec![b'x'; 100_000])
        .await
        .expect("saved");
    let mut reader = store
        .read(&name("a.txt"), None)
        .await
        .expect("read")
        .expect("there");
    reader.bytes.try_next().await.expect("a chunk");
    fs::write(guard.path().join("kept/a.txt/v0/a.txt"), "").expect("cut");
    let rest: Result<Vec<_>, _> = reader.bytes.try_collect().await;
    let error = rest.expect_err("noticed");
    assert!(matches!(error, ArtifactError::Damaged { .. }), "{error}");
}

#[tokio::test]
async fn a_directory_that_vanishes_is_an_error_and_not_an_empty_store() {
    let (store, guard) = directory(unsynced()).await;
    save(&store, "a", b"x").await.expect("saved");
    let root = guard.path().join("kept");
    fs::rename(&root, guard.path().join("elsewhere")).expect("moved");
    let mut writer = writer(&store, "b").await;
    let errors = [
        save(&store, "a", b"y").await.expect_err("save"),
        writer.write(&vec![1; 3_000_000]).await.expect_err("write"),
        store.load(&name("a"), None).await.expect_err("load"),
        store
            .load(&name("a"), Some(0))
            .await
            .expect_err("load of a version"),
        store.list().await.expect_err("list"),
        store.versions(&name("a")).await.expect_err("versions"),
        store.delete(&name("a")).await.expect_err("delete"),
    ];
    for error in errors {
        assert!(
            error.to_string().contains(root.to_str().expect("UTF-8")),
            "{error}"
        );
        let ArtifactError::Storage { problem, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(problem, StorageProblem::Vanished);
    }
    assert!(
        !root.exists(),
        "nothing was put where the directory had been"
    );
    fs::rename(guard.path().join("elsewhere"), &root).expect("moved back");
    assert_eq!(stream(&store, "a").await.as_deref(), Some(&b"x"[..]));
}

#[tokio::test]
async fn opening_says_why_a_directory_cannot_be_used() {
    let guard = tempfile::tempdir().expect("a temporary directory");
    let file = guard.path().join("file");
    fs::write(&file, "").expect("written");
    for path in [file.clone(), file.join("below")] {
        let error = ObjectArtifactStore::open_directory(&path, unsynced()).await;
        let error = error.expect_err("no directory");
        assert!(
            error.to_string().contains(path.to_str().expect("UTF-8")),
            "{error}"
        );
    }
}

#[test]
fn any_name_comes_back_from_a_real_file_system() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (store, _guard) = runtime.block_on(directory(unsynced()));
    let texts = prop::collection::btree_set("[\\PC/%~.:#vV0-9 ]{1,24}", 1..8);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(64));
    let result = runner.run(&texts, |texts| {
        let valid = |text: &String| ArtifactName::parse(text).is_ok();
        let texts: Vec<String> = texts.into_iter().filter(valid).collect();
        runtime.block_on(async {
            for text in &texts {
                save(&store, text, text.as_bytes()).await.expect("saved");
            }
            prop_assert_eq!(&names(&store).await, &texts);
            for text in &texts {
                let bytes = load(&store, text, None).await;
                prop_assert_eq!(bytes.as_deref(), Some(text.as_bytes()));
                prop_assert!(store.delete(&name(text)).await.expect("deleted"));
            }
            prop_assert_eq!(names(&store).await, Vec::<String>::new());
            Ok(())
        })
    });
    result.expect("names survive");
}
