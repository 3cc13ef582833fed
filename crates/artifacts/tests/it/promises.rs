//! The promises of [`ArtifactStore`], kept by every store.

use std::{
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use codehatch_artifacts::{
    ArtifactLimits, ArtifactStore, DirectoryOptions, ObjectArtifactStore, SaveOptions, Saved,
    object_store::{memory::InMemory, path::Path},
};
use codehatch_protocol::RawJson;
use futures_util::FutureExt as _;

use crate::support::{directory, load, name, names, save, stream, unsynced, versions, writer};

/// Makes a test of each promise for each store.
macro_rules! promises {
    ($($promise:ident,)*) => {
        mod in_memory {
            $(#[tokio::test]
            async fn $promise() {
                let store = super::ObjectArtifactStore::in_memory(super::ArtifactLimits::in_memory());
                super::$promise(Arc::new(store)).await;
            })*
            use std::sync::Arc;
        }
        mod in_a_directory {
            $(#[tokio::test]
            async fn $promise() {
                let (store, _guard) = super::directory(super::DirectoryOptions::default()).await;
                super::$promise(Arc::new(store)).await;
            })*
            use std::sync::Arc;
        }
        mod in_a_directory_without_sync {
            $(#[tokio::test]
            async fn $promise() {
                let (store, _guard) = super::directory(super::unsynced()).await;
                super::$promise(Arc::new(store)).await;
            })*
            use std::sync::Arc;
        }
        mod below_a_path_of_an_object_store {
            $(#[tokio::test]
            async fn $promise() {
                super::$promise(Arc::new(super::object_store().await)).await;
            })*
            use std::sync::Arc;
        }
    };
}

promises! {
    versions_count_up_from_zero_and_stay,
    bytes_come_back_unaltered,
    every_way_of_saving_guesses_the_same_media_type,
    metadata_and_media_type_come_back,
    odd_names_come_back_to_the_letter,
    what_is_not_there_is_none,
    parallel_saves_get_versions_of_their_own,
    parallel_writers_get_versions_of_their_own,
    a_writer_that_is_given_up_leaves_nothing,
    a_save_that_is_dropped_leaves_a_whole_version_or_none,
    a_deleted_artifact_is_gone_and_its_neighbours_stay,
}

async fn object_store() -> ObjectArtifactStore {
    let objects = Arc::new(InMemory::new());
    let store =
        ObjectArtifactStore::open(objects, Path::from("turns/7"), ArtifactLimits::default());
    store.await.expect("the store opens")
}

type Store = Arc<dyn ArtifactStore>;

async fn versions_count_up_from_zero_and_stay(store: Store) {
    for (version, text) in [(0, "one"), (1, "two"), (2, "three")] {
        let saved = save(&*store, "a.txt", text.as_bytes())
            .await
            .expect("saved");
        let bytes = text.len() as u64;
        let expected = Saved {
            name: name("a.txt"),
            version,
            bytes,
            mime_type: "text/plain".to_owned(),
        };
        assert_eq!(saved, expected);
    }
    assert_eq!(versions(&*store, "a.txt").await, [0, 1, 2]);
    assert_eq!(
        load(&*store, "a.txt", Some(0)).await.as_deref(),
        Some(&b"one"[..])
    );
    assert_eq!(
        load(&*store, "a.txt", Some(1)).await.as_deref(),
        Some(&b"two"[..])
    );
    assert_eq!(
        load(&*store, "a.txt", None).await.as_deref(),
        Some(&b"three"[..])
    );
}

/// Contents that have been damaged on the way before: by decoding, by newline translation, by size.
fn contents() -> Vec<Vec<u8>> {
    let all: Vec<u8> = (0..=255).collect();
    let mut almost_utf8 = "é".repeat(1000).into_bytes();
    almost_utf8.push(0xc3);
    vec![
        Vec::new(),
        vec![0],
        all.repeat(3),
        almost_utf8,
        "\u{feff}a\r\nb\r\n\u{85}".as_bytes().to_vec(),
        b"no newline at the end".to_vec(),
        all.repeat(5_000_000 / 256),
    ]
}

async fn bytes_come_back_unaltered(store: Store) {
    for bytes in contents() {
        save(&*store, "saved.txt", &bytes).await.expect("saved");
        assert!(
            load(&*store, "saved.txt", None).await.as_ref() == Some(&bytes),
            "load"
        );
        assert!(
            stream(&*store, "saved.txt").await.as_ref() == Some(&bytes),
            "stream"
        );
        let mut writer = writer(&*store, "written.txt").await;
        for chunk in bytes.chunks(700_001) {
            writer.write(chunk).await.expect("written");
        }
        assert_eq!(writer.bytes(), bytes.len() as u64);
        let saved = writer.finish().await.expect("finished");
        assert_eq!(saved.bytes, bytes.len() as u64);
        assert!(
            load(&*store, "written.txt", None).await.as_ref() == Some(&bytes),
            "written"
        );
    }
    let expected: Vec<u32> = (0..7).collect();
    assert_eq!(versions(&*store, "written.txt").await, expected);
}

async fn every_way_of_saving_guesses_the_same_media_type(store: Store) {
    for bytes in contents() {
        for artifact in ["noname", "x.csv", "x.png"] {
            let saved = save(&*store, artifact, &bytes).await.expect("saved");
            let mut writer = writer(&*store, artifact).await;
            for chunk in bytes.chunks(65_537) {
                writer.write(chunk).await.expect("written");
            }
            let written = writer.finish().await.expect("finished");
            assert_eq!(written.mime_type, saved.mime_type);
        }
    }
}

async fn metadata_and_media_type_come_back(store: Store) {
    let metadata = RawJson::parse("{\"n\": 12345678901234567890123, \"ü\": [1.0]}").expect("JSON");
    let options = SaveOptions::default()
        .with_mime_type("application/x-own; v=1")
        .with_metadata(metadata.clone());
    let before = SystemTime::now();
    let saved = store
        .save(&name("a.csv"), Bytes::from("x"), options)
        .await
        .expect("saved");
    let info = store
        .stat(&name("a.csv"), None)
        .await
        .expect("stat")
        .expect("there");
    assert_eq!((info.name, info.version, info.bytes), (saved.name, 0, 1));
    assert_eq!(
        (&*info.mime_type, info.metadata),
        ("application/x-own; v=1", Some(metadata))
    );
    let slack = Duration::from_secs(1);
    assert!(info.saved_at > before - slack && info.saved_at < SystemTime::now() + slack);
}

/// Names that stores and file systems take for something else.
const ODD_NAMES: &[&str] = &[
    "a",
    "a/b",
    "a/v0/a",
    "a/v0/.artifact.json",
    "A",
    "a.",
    "a ",
    "a%2Fb",
    "a%252Fb",
    "%2e%2e/x",
    "README.md",
    "Readme.md",
    "readme.md",
    ".env",
    ".staging/x",
    "...",
    "-rf",
    "nul",
    "COM1.txt",
    "a:b",
    "C:/x",
    "user:notes",
    "a#1",
    "a~1",
    "x?y*z\"<>|",
    "v0",
    "v0/v1/v2",
    "Größe.csv",
    "Gro\u{308}ße.csv",
    "日本語/報告書.txt",
    "😀",
    "a\u{202e}gpj.exe",
    "it's $(x) `y` & z;",
    "[b]{c}^",
    "  ",
    "=+,@()",
    "İ",
    "i",
    "ſ",
    "s",
];

async fn odd_names_come_back_to_the_letter(store: Store) {
    for artifact in ODD_NAMES {
        save(&*store, artifact, artifact.as_bytes())
            .await
            .expect("saved");
    }
    let mut expected = ODD_NAMES.to_vec();
    expected.sort_unstable();
    assert_eq!(names(&*store).await, expected);
    for artifact in ODD_NAMES {
        assert_eq!(versions(&*store, artifact).await, [0], "{artifact}");
        let loaded = load(&*store, artifact, None).await;
        assert_eq!(loaded.as_deref(), Some(artifact.as_bytes()));
    }
}

async fn what_is_not_there_is_none(store: Store) {
    assert_eq!(names(&*store).await, Vec::<String>::new());
    assert_eq!(load(&*store, "a", None).await, None);
    assert_eq!(versions(&*store, "a").await, Vec::<u32>::new());
    save(&*store, "a/b", b"x").await.expect("saved");
    assert_eq!(load(&*store, "a", None).await, None);
    assert_eq!(load(&*store, "a/b", Some(1)).await, None);
    assert_eq!(stream(&*store, "a/b/c").await, None);
    let missing = store.stat(&name("a/b"), Some(7)).await.expect("stat");
    assert_eq!(missing, None);
    assert!(!store.delete(&name("a")).await.expect("deleted"));
    assert_eq!(names(&*store).await, ["a/b"]);
}

async fn parallel_saves_get_versions_of_their_own(store: Store) {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..100u32 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let saved = save(&*store, "a", &number.to_le_bytes())
                .await
                .expect("saved");
            (saved.version, number)
        });
    }
    let mut saved = tasks.join_all().await;
    saved.sort_unstable();
    let expected: Vec<u32> = (0..100).collect();
    assert_eq!(versions(&*store, "a").await, expected);
    for (version, number) in saved {
        let bytes = load(&*store, "a", Some(version)).await;
        assert_eq!(bytes.as_deref(), Some(&number.to_le_bytes()[..]));
    }
}

async fn parallel_writers_get_versions_of_their_own(store: Store) {
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..4u8 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let mut writer = writer(&*store, "a").await;
            for _ in 0..3 {
                writer
                    .write(&vec![number; 2_000_000])
                    .await
                    .expect("written");
            }
            (writer.finish().await.expect("finished").version, number)
        });
    }
    for (version, number) in tasks.join_all().await {
        let bytes = load(&*store, "a", Some(version)).await.expect("there");
        assert!(bytes == vec![number; 6_000_000], "version {version}");
    }
    assert_eq!(versions(&*store, "a").await, [0, 1, 2, 3]);
}

async fn a_writer_that_is_given_up_leaves_nothing(store: Store) {
    for size in [10, 6_000_000] {
        let mut aborted = writer(&*store, "a").await;
        aborted.write(&vec![1; size]).await.expect("written");
        assert_eq!(names(&*store).await, Vec::<String>::new());
        aborted.abort().await.expect("given up");
        let mut dropped = writer(&*store, "a").await;
        dropped.write(&vec![1; size]).await.expect("written");
    }
    assert_eq!(names(&*store).await, Vec::<String>::new());
    let saved = save(&*store, "a", b"x").await.expect("saved");
    assert_eq!(saved.version, 0);
}

async fn a_save_that_is_dropped_leaves_a_whole_version_or_none(store: Store) {
    let bytes = vec![7; 1_500_000];
    let artifact = name("a");
    for polls in 0..20 {
        let mut writer = writer(&*store, "a").await;
        writer.write(&bytes).await.expect("written");
        let copy = Bytes::from(bytes.clone());
        let mut saving = store.save(&artifact, copy, SaveOptions::default()).fuse();
        let mut finishing = writer.finish().fuse();
        for _ in 0..polls {
            poll_once(&mut saving).await;
            poll_once(&mut finishing).await;
            // Any request of the store's own lets those of the two go on, too.
            versions(&*store, "a").await;
        }
        drop((saving, finishing));
        for version in versions(&*store, "a").await {
            let loaded = load(&*store, "a", Some(version)).await;
            assert!(
                loaded.as_ref() == Some(&bytes),
                "version {version} after {polls} polls"
            );
        }
    }
    let last = save(&*store, "a", b"last").await.expect("saved").version;
    assert_eq!(
        load(&*store, "a", Some(last)).await.as_deref(),
        Some(&b"last"[..])
    );
}

async fn poll_once(future: &mut (impl Future + Unpin)) {
    std::future::poll_fn(|context| {
        let _ = Pin::new(&mut *future).poll(context);
        Poll::Ready(())
    })
    .await;
}

async fn a_deleted_artifact_is_gone_and_its_neighbours_stay(store: Store) {
    for artifact in ["a", "a", "a/b", "ab"] {
        save(&*store, artifact, b"x").await.expect("saved");
    }
    assert!(store.delete(&name("a")).await.expect("deleted"));
    assert_eq!(names(&*store).await, ["a/b", "ab"]);
    assert!(!store.delete(&name("a")).await.expect("nothing to delete"));
    let saved = save(&*store, "a", b"new").await.expect("saved");
    assert_eq!(saved.version, 0);
}
