//! Files into the workspace and out of it.

use std::{fs, sync::Arc};

use codehatch::{
    BlockOutcome, FileError,
    artifacts::{ArtifactLimits, ArtifactStore, ObjectArtifactStore},
};
use sha2::{Digest, Sha256};

use crate::support::{Session, Setup, artifact, json};

fn store() -> Arc<ObjectArtifactStore> {
    Arc::new(ObjectArtifactStore::in_memory(ArtifactLimits::in_memory()))
}

fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// Name and version of each artifact of a block.
fn saved(outcome: &BlockOutcome) -> Vec<(String, u32)> {
    let artifacts = outcome.artifacts.iter();
    artifacts
        .map(|saved| (saved.name.to_string(), saved.version))
        .collect()
}

/// The files that a block could not keep, with the reasons.
fn skipped(outcome: &BlockOutcome) -> Vec<(&str, &str)> {
    let skipped = outcome.skipped.iter();
    skipped
        .map(|skipped| (&*skipped.path, &*skipped.reason))
        .collect()
}

#[tokio::test]
async fn d01_input_files_arrive_to_the_byte() {
    let mut session = Session::new().await;
    let five_megabytes: Vec<u8> = (0..=255).cycle().take(5_000_000).collect();
    let files = [
        ("empty", Vec::new()),
        ("one", vec![0xFF]),
        ("data/five.bin", five_megabytes),
        ("bom.txt", b"\xEF\xBB\xBFa\r\nb\r\n".to_vec()),
    ];
    for (name, bytes) in &files {
        session
            .turn
            .put_file(name, bytes.clone())
            .await
            .expect("written");
        let program = format!(
            "import hashlib\ndata = open({name:?}, 'rb').read()\n(len(data), hashlib.sha256(data).hexdigest())"
        );
        let outcome = session.run(&program).await;
        assert_eq!(
            json(&outcome),
            format!(r#"[{},"{}"]"#, bytes.len(), hash(bytes)),
            "{name}"
        );
        // What the host has put there is no result of the block.
        assert_eq!(
            (saved(&outcome), outcome.deleted),
            (vec![], vec![]),
            "{name}"
        );
    }
    session.close().await;
}

#[tokio::test]
async fn d01_a_file_that_cannot_be_delivered_is_an_error_and_leaves_nothing_half() {
    let mut session = Session::new().await;
    let error = session
        .turn
        .put_file("big", vec![1; 300 << 20])
        .await
        .expect_err("no room");
    assert_eq!(
        error.to_string(),
        "the workspace has no room for `big` (314572800 bytes): raise `workspace` in `[limits]`"
    );
    assert_eq!(
        session.prints("import os; print(os.listdir())").await,
        "[]\n"
    );
    session
        .turn
        .put_file("small", vec![1; 200 << 20])
        .await
        .expect("there is room");
    session.close().await;
}

#[tokio::test]
async fn d02_bytes_are_the_same_on_every_path() {
    let store = store();
    let mut session = Setup::new().store(&store).start().await;
    let all: Vec<u8> = (0..=255u8).cycle().take(768).collect();
    let nearly = b"caf\xC3\xA9 \xFF".to_vec();
    let program = "
        open('all.bin', 'wb').write(bytes(range(256)) * 3)
        open('nearly.txt', 'wb').write('caf\\u00e9 '.encode() + b'\\xff')
        open('table.csv', 'w').write('a,b\\n')
        ";
    let outcome = session.run(program).await;
    let kept: Vec<(String, u32, u64, String)> = outcome
        .artifacts
        .iter()
        .map(|saved| {
            (
                saved.name.to_string(),
                saved.version,
                saved.bytes,
                saved.mime_type.clone(),
            )
        })
        .collect();
    let expected = [
        ("all.bin", 768, "application/octet-stream"),
        ("nearly.txt", 7, "text/plain"),
        ("table.csv", 4, "text/csv"),
    ];
    let expected = expected.map(|(name, bytes, mime)| (name.to_owned(), 0, bytes, mime.to_owned()));
    assert_eq!(kept, expected);
    assert_eq!(artifact(&*store, "all.bin").await, all);
    assert_eq!(artifact(&*store, "nearly.txt").await, nearly);
    // In the next block, from the workspace and as an artifact.
    let program = "
        import base64
        from tools import load_artifact
        def loaded(name):
            file = load_artifact(filename=name)
            return base64.b64decode(file['data']) if file['kind'] == 'bytes' else file['data'].encode()
        [open(name, 'rb').read() == loaded(name) for name in ('all.bin', 'nearly.txt', 'table.csv')] + [loaded('all.bin') == bytes(range(256)) * 3]
        ";
    assert_eq!(json(&session.run(program).await), "[true,true,true,true]");
    // In another turn, where there is no such file any more.
    let mut another = session.another();
    let program = "
        import base64
        from tools import load_artifact, list_artifacts
        print(base64.b64decode(load_artifact(filename='all.bin')['data']) == bytes(range(256)) * 3, list_artifacts())
        ";
    assert_eq!(
        another.prints(program).await,
        "True ['all.bin', 'nearly.txt', 'table.csv']\n"
    );
    another.turn.close().await;
    session.close().await;
}

#[tokio::test]
async fn d05_no_link_leads_to_a_file_of_the_host() {
    let secret = tempfile::tempdir().expect("a directory of the host");
    let canary = secret.path().join("canary");
    fs::write(&canary, "the host's own").expect("written");
    let store = store();
    let mut session = Setup::new().store(&store).start().await;
    let program = format!(
        "
        import os
        os.mkdir('out')
        open('out/r1.txt', 'w').write('first')
        os.symlink('/etc/hostname', 'out/a')
        os.symlink('../../../../etc/passwd', 'out/b')
        os.symlink('/', 'out/d')
        os.symlink({canary:?}, 'out/c')
        os.symlink('../../../..' + {canary:?}, 'out/e')
        os.symlink('/proc/self/root' + {canary:?}, 'out/f')
        os.symlink('r1.txt', 'out/latest')
        os.symlink('../out', 'out/again')
        os.symlink('loop', 'out/loop')
        os.symlink('missing', 'out/dangling')
        os.mkfifo('out/pipe')
        "
    );
    let outcome = session.run(&program).await;
    assert_eq!(
        saved(&outcome),
        [("out/latest".to_owned(), 0), ("out/r1.txt".to_owned(), 0)]
    );
    assert_eq!(artifact(&*store, "out/latest").await, b"first");
    let away = "it is a link that leads out of the workspace";
    assert_eq!(
        skipped(&outcome),
        [
            ("out/a", away),
            ("out/b", away),
            ("out/c", away),
            ("out/d", away),
            ("out/dangling", "it is a link that leads nowhere"),
            ("out/e", away),
            ("out/f", away),
            ("out/loop", "it is a link that cannot be followed"),
            ("out/pipe", "it is no regular file"),
        ]
    );
    session.close().await;
}

#[tokio::test]
async fn d05_a_link_that_takes_a_files_place_while_files_are_collected_leads_nowhere() {
    let secret = tempfile::tempdir().expect("a directory of the host");
    let canary = secret.path().join("canary");
    fs::write(&canary, "the host's own").expect("written");
    let store = store();
    let mut session = Setup::new().store(&store).start().await;
    let swap = format!(
        r#"
import os
os.mkdir("d")
while True:
    open("new", "w").write("plain")
    os.rename("new", "swap")
    os.symlink({canary:?}, "new")
    os.rename("new", "swap")
    os.rename("d", "e")
    os.symlink("/", "d")
    os.unlink("d")
    os.rename("e", "d")
"#
    );
    session
        .turn
        .put_file("swap.py", swap.into_bytes())
        .await
        .expect("written");
    session
        .run("import os, subprocess; subprocess.Popen(['python3', 'swap.py'])")
        .await;
    let mut versions = 0;
    for round in 0..300 {
        // At times `d` is the link, and there is no writing below that.
        let write =
            format!("try:\n    open('d/f', 'w').write('{round}')\nexcept OSError:\n    pass");
        let outcome = session.run(&write).await;
        versions += outcome.artifacts.len();
    }
    assert!(versions > 0, "files were collected");
    for name in store.list().await.expect("names") {
        for version in store.versions(&name).await.expect("versions") {
            let found = store
                .load(&name, Some(version))
                .await
                .expect("works")
                .expect("there");
            assert!(
                !found.bytes.starts_with(b"the host"),
                "{name} version {version}"
            );
        }
    }
    session.close().await;
}

#[tokio::test]
async fn d05_names_of_input_files_cannot_leave_the_workspace() {
    let mut session = Session::new().await;
    session.run("import os; os.symlink('/tmp', 'link')").await;
    for name in [
        "../../x",
        "/etc/x",
        "a/../../x",
        "",
        ".",
        "a//b",
        "a\nb",
        "link/x",
        "link",
    ] {
        let error = session.turn.put_file(name, b"x".to_vec()).await;
        assert!(
            matches!(error, Err(FileError::Workspace(_))),
            "{name}: {error:?}"
        );
    }
    assert_eq!(
        session
            .prints("print(os.listdir(), os.listdir('/tmp'))")
            .await,
        "['link'] ['home']\n"
    );
    session.close().await;
}

#[tokio::test]
async fn d06_locked_files_are_kept_and_the_hosts_user_can_remove_everything() {
    let directory = tempfile::tempdir().expect("a directory");
    let kept = directory.path().join("kept");
    let mut session = Setup::new().artifacts_in(&kept).start().await;
    let program = "
        import os
        open('plain', 'w').write('1')
        os.mkdir('locked')
        open('locked/inner', 'w').write('2')
        os.chmod('locked/inner', 0o000)
        os.chmod('locked', 0o500)
        open('none', 'w').write('3')
        os.chmod('none', 0)
        os.mkdir('sealed')
        open('sealed/inner', 'w').write('4')
        os.chmod('sealed', 0)
        ";
    let outcome = session.run(program).await;
    let names = ["locked/inner", "none", "plain", "sealed/inner"];
    assert_eq!(
        saved(&outcome),
        names.map(|name| (name.to_owned(), 0)),
        "{:?}",
        outcome.skipped
    );
    // The modes are as the program set them.
    assert_eq!(
        session
            .prints(
                "print([oct(os.stat(n).st_mode & 0o777) for n in ('locked', 'none', 'sealed')])"
            )
            .await,
        "['0o500', '0o0', '0o0']\n"
    );
    let again = session
        .run("os.chmod('none', 0o600); open('none', 'w').write('5')")
        .await;
    assert_eq!(saved(&again), [("none".to_owned(), 1)]);
    session.close().await;
    for name in names {
        let file = name.rsplit('/').next().unwrap_or_default();
        let path = kept.join(name).join("v0").join(file);
        assert_eq!(
            fs::read(&path).expect("readable").len(),
            1,
            "{}",
            path.display()
        );
    }
    fs::remove_dir_all(&kept).expect("the host's user can remove all of it");
}

#[tokio::test]
async fn d07_each_block_reports_its_own_files_and_each_change_once() {
    let mut session = Session::new().await;
    let new = |version| vec![("p.png".to_owned(), version)];
    let first = session
        .run("import os\ndef save(text): open('p.png', 'w').write(text)\nsave('aaaa')")
        .await;
    assert_eq!((saved(&first), first.deleted), (new(0), vec![]));
    let second = session.run("print('only')").await;
    assert_eq!((saved(&second), second.deleted), (vec![], vec![]));
    let third = session.run("save('bbbb')").await;
    assert_eq!((saved(&third), third.deleted), (new(1), vec![]));
    let same = session.run("save('bbbb')").await;
    assert_eq!((saved(&same), same.deleted), (vec![], vec![]));
    let fourth = session.run("os.remove('p.png')").await;
    assert_eq!(
        (saved(&fourth), fourth.deleted),
        (vec![], vec!["p.png".to_owned()])
    );
    let fifth = session
        .run("open('q', 'w').write('cccc'); os.rename('q', 'p.png')")
        .await;
    assert_eq!((saved(&fifth), fifth.deleted), (new(2), vec![]));
    let quiet = session.run("1").await;
    assert_eq!(
        (saved(&quiet), quiet.deleted, quiet.skipped),
        (vec![], vec![], vec![])
    );
    session.close().await;
}
