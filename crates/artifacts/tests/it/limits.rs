//! Each limit is refused by name, and room that is not used is given back.

use std::sync::Arc;

use bytes::Bytes;
use codehatch_artifacts::{
    ArtifactError, ArtifactLimits, ArtifactStore, LimitFault, ObjectArtifactStore, SaveOptions,
    object_store::{ObjectStore, memory::InMemory, path::Path},
};
use codehatch_protocol::RawJson;

use crate::support::{directory, load, name, names, save, unsynced, versions, writer};

fn in_memory(limits: ArtifactLimits) -> ObjectArtifactStore {
    ObjectArtifactStore::in_memory(limits)
}

fn limit_of<T: std::fmt::Debug>(result: Result<T, ArtifactError>) -> LimitFault {
    match result.expect_err("refused") {
        ArtifactError::LimitExceeded { fault, .. } => fault,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_version_one_byte_over_the_limit_is_refused() {
    let store = in_memory(ArtifactLimits::in_memory().with_artifact_bytes(10));
    save(&store, "a", &[1; 10]).await.expect("saved");
    let error = save(&store, "a", &[1; 11]).await.expect_err("refused");
    insta::assert_snapshot!(
        error,
        @"cannot save artifact `a`: 11 bytes are over `artifact_bytes` = 10; save less, or raise the limit on the host"
    );
    assert_eq!(versions(&store, "a").await, [0]);
}

#[tokio::test]
async fn all_versions_together_stay_within_the_limit() {
    let store = in_memory(ArtifactLimits::in_memory().with_total_bytes(100_000));
    let mut saved = 0;
    let fault = loop {
        match save(&store, "a", &[1; 10_000]).await {
            Ok(_) => saved += 1,
            refused => break limit_of(refused),
        }
    };
    assert_eq!(saved, 8, "each takes 10,000 bytes, its record and 2 KiB");
    let LimitFault::TotalBytes { limit, needed } = fault else {
        panic!("{fault:?}");
    };
    assert_eq!(limit, 100_000);
    assert!((108_000..113_000).contains(&needed), "{needed}");
    assert!(store.delete(&name("a")).await.expect("deleted"));
    save(&store, "b", &vec![1; 90_000])
        .await
        .expect("there is room again");
}

#[tokio::test]
async fn small_versions_count_too() {
    let store = in_memory(ArtifactLimits::in_memory().with_total_bytes(100_000));
    let metadata = RawJson::parse(format!("{{\"x\":\"{}\"}}", "y".repeat(16_000))).expect("JSON");
    let options = SaveOptions::default().with_metadata(metadata);
    let mut saved = 0;
    while let Ok(_saved) = store.save(&name("a"), Bytes::new(), options.clone()).await {
        saved += 1;
    }
    assert_eq!(saved, 5, "16,000 bytes of metadata and 2 KiB each");
}

#[tokio::test]
async fn names_and_versions_are_counted() {
    let limits = ArtifactLimits::in_memory()
        .with_artifacts(2)
        .with_versions(2);
    let store = in_memory(limits);
    for artifact in ["a", "b", "a"] {
        save(&store, artifact, b"x").await.expect("saved");
    }
    let third_name = limit_of(save(&store, "c", b"x").await);
    assert_eq!(third_name, LimitFault::Artifacts { limit: 2 });
    let third_version = limit_of(save(&store, "a", b"x").await);
    assert_eq!(third_version, LimitFault::Versions { limit: 2 });
    assert!(store.delete(&name("b")).await.expect("deleted"));
    save(&store, "c", b"x").await.expect("there is room again");
}

#[tokio::test]
async fn parallel_saves_do_not_slip_past_a_limit() {
    let limits = ArtifactLimits::in_memory().with_artifacts(5);
    let store = in_memory(limits);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..50 {
        let store = store.clone();
        tasks.spawn(async move { save(&store, &format!("a{number}"), b"x").await.is_ok() });
    }
    let saved = tasks
        .join_all()
        .await
        .into_iter()
        .filter(|saved| *saved)
        .count();
    assert_eq!((saved, names(&store).await.len()), (5, 5));
}

#[tokio::test]
async fn a_refused_chunk_leaves_the_writer_as_it_was() {
    let store = in_memory(ArtifactLimits::in_memory().with_artifact_bytes(10));
    let mut writer = writer(&store, "a").await;
    writer.write(b"12345678").await.expect("written");
    let fault = limit_of(writer.write(b"9ab").await);
    assert_eq!(
        fault,
        LimitFault::ArtifactBytes {
            limit: 10,
            needed: 11
        }
    );
    writer.write(b"9a").await.expect("written");
    writer.finish().await.expect("finished");
    assert_eq!(
        load(&store, "a", None).await.as_deref(),
        Some(&b"123456789a"[..])
    );
}

#[tokio::test]
async fn a_writer_counts_while_it_writes_and_gives_back_when_dropped() {
    let store = in_memory(ArtifactLimits::in_memory().with_total_bytes(100_000));
    let mut open = writer(&store, "a").await;
    open.write(&vec![1; 60_000]).await.expect("written");
    let fault = limit_of(save(&store, "b", &vec![1; 60_000]).await);
    assert!(matches!(fault, LimitFault::TotalBytes { .. }), "{fault:?}");
    drop(open);
    save(&store, "b", &vec![1; 60_000])
        .await
        .expect("there is room again");
}

#[tokio::test]
async fn what_was_there_before_counts_when_a_store_is_opened() {
    let limits = ArtifactLimits::default()
        .with_total_bytes(100_000)
        .with_artifacts(2);
    let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let open = || ObjectArtifactStore::open(Arc::clone(&objects), Path::from("t"), limits);
    let first = open().await.expect("opened");
    save(&first, "a", &vec![1; 40_000]).await.expect("saved");
    save(&first, "b", &vec![1; 40_000]).await.expect("saved");
    let second = open().await.expect("opened");
    let fault = limit_of(save(&second, "c", b"x").await);
    assert_eq!(fault, LimitFault::Artifacts { limit: 2 });
    let fault = limit_of(save(&second, "a", &vec![1; 40_000]).await);
    assert!(matches!(fault, LimitFault::TotalBytes { .. }), "{fault:?}");
}

#[tokio::test]
async fn memory_does_not_keep_the_buffer_that_a_slice_is_part_of() {
    let store = in_memory(ArtifactLimits::in_memory());
    let buffer = Bytes::from(vec![1; 1_000_000]);
    let slice = buffer.slice(..10);
    store
        .save(&name("a"), slice, SaveOptions::default())
        .await
        .expect("saved");
    assert!(buffer.is_unique(), "nobody else holds the megabyte");
}

#[tokio::test]
async fn a_directory_has_the_same_limits() {
    let limits = ArtifactLimits::default()
        .with_artifact_bytes(10)
        .with_versions(1);
    let (store, _guard) = directory(unsynced().with_limits(limits)).await;
    save(&store, "a", &[1; 10]).await.expect("saved");
    assert_eq!(
        limit_of(save(&store, "a", &[1; 11]).await),
        LimitFault::ArtifactBytes {
            limit: 10,
            needed: 11
        }
    );
    assert_eq!(
        limit_of(save(&store, "a", b"x").await),
        LimitFault::Versions { limit: 1 }
    );
}
