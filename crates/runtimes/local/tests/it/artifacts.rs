//! Rows 50 to 54: files that the host takes out of the workspace.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, sync::Arc};

use codehatch_artifacts::{
    ArtifactLimits, ArtifactName, ArtifactStore, DirectoryOptions, ObjectArtifactStore,
};
use codehatch_engine::{BlockOutcome, TurnLimits};
use codehatch_runtime::CollectLimits;

use crate::support::{Session, Setup, block_on, session::quick};

fn memory() -> Arc<ObjectArtifactStore> {
    Arc::new(ObjectArtifactStore::in_memory(ArtifactLimits::in_memory()))
}

async fn keeping(store: &Arc<ObjectArtifactStore>, limits: TurnLimits) -> Session {
    let store = Arc::<ObjectArtifactStore>::clone(store);
    let setup = Setup::own(|local| local).store(store).limits(limits);
    setup.start().await
}

/// The names of what a block has left, and the reasons for what it has not.
fn kept(outcome: &BlockOutcome) -> (Vec<String>, Vec<(&str, &str)>) {
    let saved = outcome.artifacts.iter();
    let skipped = outcome.skipped.iter();
    (
        saved.map(|saved| saved.name.to_string()).collect(),
        skipped
            .map(|skipped| (&*skipped.path, &*skipped.reason))
            .collect(),
    )
}

async fn bytes(store: &dyn ArtifactStore, name: &str) -> Vec<u8> {
    let name = ArtifactName::parse(name).expect("a name");
    let found = store.load(&name, None).await.expect("a store that works");
    found.expect("an artifact of this name").bytes.to_vec()
}

/// A file of the host that anybody may read.
fn canary() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir_in("/var/tmp").expect("a directory of the host");
    let path = directory.path().join("canary");
    fs::write(&path, "the host's own").expect("written");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("for all");
    (directory, path)
}

/// Links to a file of the host, in all ways.
fn links(to: &PathBuf) -> String {
    format!(
        "
        import os
        os.symlink({to:?}, 'absolute')
        os.symlink('../..' + {to:?}, 'relative')
        os.symlink('/proc/self/root' + {to:?}, 'magic')
        os.symlink('/', 'root')
        os.symlink('loop', 'loop')
        os.symlink('missing', 'dangling')
        open('plain', 'w').write('plain')
        os.symlink('plain', 'inner')
        "
    )
}

const AWAY: &str = "it is a link that leads out of the workspace";

#[test]
fn t50_links_lead_to_no_file_of_the_host() {
    let (_directory, canary) = canary();
    block_on(async {
        let store = memory();
        let mut session = keeping(&store, quick()).await;
        let outcome = session.run(&links(&canary)).await;
        let expected = [
            ("absolute", AWAY),
            ("dangling", "it is a link that leads nowhere"),
            ("loop", "it is a link that cannot be followed"),
            ("magic", AWAY),
            ("relative", AWAY),
            ("root", AWAY),
        ];
        let saved = vec!["inner".to_owned(), "plain".to_owned()];
        assert_eq!(kept(&outcome), (saved, expected.to_vec()));
        // Nor does what the host puts there go through one.
        let error = session.turn.put_file("absolute", b"x".to_vec()).await;
        assert!(error.is_err(), "{error:?}");
        assert_eq!(fs::read(&canary).expect("there"), b"the host's own");
        session.close().await;
    });
}

#[cfg(feature = "weaken")]
#[test]
fn t50_links_lead_to_files_of_the_host_where_they_are_followed() {
    use codehatch_local::{Protection, Weaken};
    let (_directory, canary) = canary();
    block_on(async {
        let store = memory();
        let weaken = Weaken {
            protections: vec![Protection::Beneath],
            ..Weaken::default()
        };
        let mut session = Setup::weakened(weaken)
            .store(Arc::<ObjectArtifactStore>::clone(&store))
            .start()
            .await;
        let outcome = session.run(&links(&canary)).await;
        let (saved, _) = kept(&outcome);
        assert_eq!(saved, ["absolute", "inner", "magic", "plain"]);
        assert_eq!(bytes(&*store, "absolute").await, b"the host's own");
        session.close().await;
    });
}

#[test]
fn t50_a_link_that_takes_a_files_place_meanwhile_leads_nowhere() {
    let (_directory, canary) = canary();
    block_on(async {
        let store = memory();
        let mut session = keeping(&store, quick()).await;
        let swap = format!(
            "
            import os, threading
            os.mkdir('d')
            def swap():
                while True:
                    open('new', 'w').write('plain')
                    os.rename('new', 'swapped')
                    os.symlink({canary:?}, 'new')
                    os.rename('new', 'swapped')
                    os.rename('d', 'e')
                    os.symlink('/', 'd')
                    os.unlink('d')
                    os.rename('e', 'd')
            if os.fork() == 0:
                swap()
            "
        );
        session.run(&swap).await;
        let mut versions = 0;
        for round in 0..100 {
            let touch = format!("open('mark', 'w').write('{round}')");
            versions += session.run(&touch).await.artifacts.len();
        }
        assert!(versions >= 100, "{versions}");
        for name in store.list().await.expect("names") {
            for version in store.versions(&name).await.expect("versions") {
                let found = store.load(&name, Some(version)).await.expect("works");
                let bytes = found.expect("there").bytes;
                assert!(!bytes.starts_with(b"the host"), "{name} {version}");
            }
        }
        session.close().await;
    });
}

#[test]
fn t51_pipes_sockets_and_devices_do_not_hold_the_host_up() {
    block_on(async {
        let store = memory();
        let mut session = keeping(&store, quick()).await;
        let program = "
            import os, socket, threading
            os.mkfifo('pipe')
            os.symlink('pipe', 'to-pipe')
            os.symlink('/dev/random', 'to-device')
            os.symlink('/dev/stdin', 'to-stream')
            server = socket.socket(socket.AF_UNIX); server.bind('socket')
            # A pipe in a file's place, and a file in a pipe's.
            open('file', 'w').write('x')
            if os.fork() == 0:
                while True:
                    os.mkfifo('new'); os.rename('new', 'file')
                    open('new', 'w').write('x'); os.rename('new', 'file')
            ";
        let outcome = session.run(program).await;
        let irregular = "it is no regular file";
        let (_, mut skipped) = kept(&outcome);
        skipped.retain(|(path, _)| !matches!(*path, "file" | "new"));
        let expected = [
            ("pipe", irregular),
            ("socket", irregular),
            ("to-device", AWAY),
            ("to-pipe", irregular),
            ("to-stream", AWAY),
        ];
        assert_eq!(skipped, expected);
        for _ in 0..50 {
            let outcome = session.run("1").await;
            assert!(outcome.took.as_secs() < 5, "{:?}", outcome.took);
        }
        session.close().await;
    });
}

/// Small bounds, so that the test need not write much.
fn small(file_bytes: u64, total_bytes: u64) -> TurnLimits {
    quick().with_collect(CollectLimits {
        file_bytes,
        total_bytes,
        ..CollectLimits::default()
    })
}

const SIZES: &str = "
    import os
    with open('sparse', 'wb') as file:
        file.truncate(3_000_000)
    open('first', 'wb').write(b'x' * 900_000)
    for number in range(4):
        os.link('first', f'link{number}')
    ";

#[test]
fn t52_sparse_and_linked_files_count_with_all_their_bytes() {
    block_on(async {
        let store = memory();
        let mut session = keeping(&store, small(1_000_000, 2_000_000)).await;
        let (saved, skipped) = kept_owned(&session.run(SIZES).await);
        assert_eq!(saved, ["first", "link0"]);
        let paths: Vec<&str> = skipped.iter().map(|(path, _)| &**path).collect();
        assert_eq!(paths, ["link1", "link2", "link3", "sparse"]);
        session.close().await;
        // The limits it is that keep them out.
        let mut session = keeping(&memory(), small(10_000_000, 20_000_000)).await;
        let (saved, skipped) = kept_owned(&session.run(SIZES).await);
        assert_eq!((saved.len(), skipped), (6, vec![]));
        session.close().await;
    });
}

fn kept_owned(outcome: &BlockOutcome) -> (Vec<String>, Vec<(String, String)>) {
    let (saved, skipped) = kept(outcome);
    let skipped = skipped.into_iter();
    let owned = skipped.map(|(path, reason)| (path.to_owned(), reason.to_owned()));
    (saved, owned.collect())
}

#[test]
fn t52_a_file_that_grows_meanwhile_is_read_to_where_it_was() {
    block_on(async {
        let store = memory();
        let mut session = keeping(&store, small(1_000_000, 2_000_000)).await;
        let program = "
            import os
            open('grows', 'wb').write(b'x' * 500_000)
            if os.fork() == 0:
                with open('grows', 'ab', buffering=0) as file:
                    while True:
                        file.write(b'y' * 100)
            ";
        let outcome = session.run(program).await;
        for saved in &outcome.artifacts {
            assert!(saved.bytes <= 1_000_000, "{saved:?}");
        }
        for _ in 0..20 {
            for saved in session.run("1").await.artifacts {
                assert!(saved.bytes <= 1_000_000, "{saved:?}");
            }
        }
        session.close().await;
    });
}

#[test]
fn t53_archives_stay_archives() {
    block_on(async {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().join("kept");
        let options = DirectoryOptions::default().with_sync(false);
        let store = ObjectArtifactStore::open_directory(&root, options).await;
        let store = Arc::new(store.expect("a store"));
        let mut session = keeping(&store, quick()).await;
        let program = "
            import io, tarfile, zipfile
            with zipfile.ZipFile('evil.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
                archive.writestr('../../evil', 'x')
                archive.writestr('bomb', bytes(50_000_000))
            with tarfile.open('evil.tar.gz', 'w:gz') as archive:
                archive.addfile(tarfile.TarInfo('/evil'), io.BytesIO())
            import hashlib
            [hashlib.sha256(open(name, 'rb').read()).hexdigest() for name in ('evil.tar.gz', 'evil.zip')]
            ";
        let outcome = session.run(program).await;
        let names = vec!["evil.tar.gz".to_owned(), "evil.zip".to_owned()];
        assert_eq!(kept(&outcome), (names, vec![]));
        let zip = bytes(&*store, "evil.zip").await;
        assert!(
            zip.starts_with(b"PK") && zip.len() < 100_000,
            "{}",
            zip.len()
        );
        assert!(bytes(&*store, "evil.tar.gz").await.starts_with(b"\x1f\x8b"));
        session.close().await;
        let mut names: Vec<_> = fs::read_dir(directory.path())
            .expect("readable")
            .map(|entry| entry.expect("readable").file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["kept"]);
    });
}

#[test]
fn t54_deep_directories_and_odd_names_are_left_out_and_told() {
    block_on(async {
        let store = memory();
        let mut session = keeping(&store, quick()).await;
        let program = "
            import os
            os.makedirs('/'.join(['d'] * 100))
            open('/'.join(['d'] * 100) + '/file', 'w').close()
            for name in (b'\\xff\\xfe', b'line\\nbreak', b'\\x1b[31mred', b'tab\\there', b'bell\\x07', b'back\\\\slash', b'-rf', b'plain'):
                open(name, 'w').write('x')
            ";
        let outcome = session.run(program).await;
        let (saved, skipped) = kept(&outcome);
        let control = |text: &str| text.chars().any(char::is_control);
        assert!(!saved.iter().any(|name| control(name)), "{saved:?}");
        assert!(
            !skipped.iter().any(|(path, _)| control(path)),
            "{skipped:?}"
        );
        assert_eq!(saved, ["-rf", "plain"]);
        let deep = ["d"; 33].join("/");
        let control = "it has a control character";
        let backslash = "invalid artifact name \"back\\\\slash\": it has a backslash; separate segments with `/`";
        let expected = [
            ("\\u{1b}[31mred", control),
            ("bell\\u{7}", control),
            (&*deep, "it has too many directories"),
            ("line\\nbreak", control),
            ("tab\\there", control),
            ("\u{fffd}\u{fffd}", "its name is no UTF-8 text"),
            ("back\\slash", backslash),
        ];
        assert_eq!(skipped, expected);
        session.close().await;
    });
}
