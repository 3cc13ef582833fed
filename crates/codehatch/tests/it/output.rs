//! What programs write: streamed, in order, cut where it is too much, and then kept to the byte.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use codehatch::{
    Event, Observer, Stream, TurnId,
    artifacts::{
        ArtifactLimits, ArtifactName, ArtifactStore, DirectoryOptions, ObjectArtifactStore,
    },
    function::FunctionTool,
};
use sha2::{Digest, Sha256};
use tokio::sync::Notify;

use crate::support::{
    Session, Setup, alone::alone, artifact, host, quick, slow_store::SlowStore, tools,
};

/// Notes every event in a word.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn event(&self, _turn: TurnId, event: &Event) {
        let note = match event {
            Event::SandboxStarted { .. } => "sandbox".to_owned(),
            Event::BlockStarted { block } => format!("block {block}"),
            Event::Output { stream, bytes } => {
                format!("{} {:?}", stream.as_str(), String::from_utf8_lossy(bytes))
            }
            Event::CallStarted { call, tool } => format!("call {call} {tool}"),
            Event::CallEnded { call, tool, ok, .. } => format!("end {call} {tool} {ok}"),
            Event::Stopping { .. } => "stopping".to_owned(),
            Event::ArtifactSaved(saved) => format!("saved {} {}", saved.name, saved.version),
            Event::BlockEnded { block, .. } => format!("ended {block}"),
            other => format!("{other:?}"),
        };
        self.0.lock().expect("notes").push(note);
    }
}

#[tokio::test]
async fn events_come_in_the_order_in_which_things_happened() {
    let notes = Arc::new(Notes::default());
    let mut session = Setup::new()
        .tool(tools::echo())
        .observer(&notes)
        .start()
        .await;
    let program = "
        import sys
        import tools
        print('a')
        tools.echo(x=1)
        print('b')
        tools.echo(x=2)
        try:
            tools._stub.send('missing', {}, {})
        except Exception as error:
            pass
        print('c', file=sys.stderr)
        tools.echo(x=3)
        open('file', 'w').write('x')
        ";
    session.run(program).await;
    session.run("1").await;
    let noted = std::mem::take(&mut *notes.0.lock().expect("notes"));
    assert_eq!(
        noted,
        [
            "block 1",
            "sandbox",
            "stdout \"a\\n\"",
            "call 1 echo",
            "end 1 echo true",
            "stdout \"b\\n\"",
            "call 2 echo",
            "end 2 echo true",
            "call 3 missing",
            "end 3 missing false",
            "stderr \"c\\n\"",
            "call 4 echo",
            "end 4 echo true",
            "saved file 0",
            "ended 1",
            "block 2",
            "ended 2",
        ]
    );
    session.close().await;
}

#[tokio::test]
async fn output_is_there_while_the_block_still_runs() {
    let gate = Arc::new(Notify::new());
    let opened = Arc::clone(&gate);
    let wait = FunctionTool::raw("wait", tools::any(), move |args| {
        let opened = Arc::clone(&opened);
        async move {
            opened.notified().await;
            Ok(args)
        }
    });
    let mut session = Setup::new().tool(wait).start().await;
    let mut execution = session
        .turn
        .execute("from tools import wait\nprint('first')\nwait()\nprint('second')");
    let mut seen = String::new();
    while let Some(event) = execution.next_event().await {
        if let Event::Output {
            stream: Stream::Stdout,
            bytes,
        } = event
        {
            seen += &String::from_utf8_lossy(&bytes);
            if seen == "first\n" {
                gate.notify_one();
            }
        }
    }
    assert_eq!(
        (seen.as_str(), execution.await.stdout.text.as_str()),
        ("first\nsecond\n", "first\nsecond\n")
    );
    session.close().await;
}

#[tokio::test]
async fn everything_that_writes_to_a_descriptor_is_heard_in_its_order() {
    let mut session = Session::new().await;
    let program = "
        import ctypes, os, subprocess, sys
        libc = ctypes.CDLL(None)
        print('print')
        os.write(1, b'os.write\\n')
        subprocess.run(['sh', '-c', 'echo child; echo of child >&2'])
        libc.puts(b'puts'); libc.fflush(None)
        print('partly ', end='', flush=True)
        os.system('echo system')
        sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            print('forked')
            os._exit(0) if sys.stdout.flush() else os._exit(0)
        os.waitpid(pid, 0)
        sys.__stdout__.write('dunder\\n')
        with open('/dev/stdout', 'w') as file: file.write('device\\n')
        print('end')
        ";
    let outcome = session.run(program).await;
    assert_eq!(
        outcome.stdout.text,
        "print\nos.write\nchild\nputs\npartly system\n\u{FFFD}\nforked\ndunder\ndevice\nend\n"
    );
    assert_eq!(outcome.stderr.text, "of child\n");
    session.close().await;
}

#[tokio::test]
async fn streams_work_again_whatever_the_block_before_did_to_them() {
    let mut session = Session::new().await;
    for program in [
        "import sys; sys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
        "import sys; sys.stdout = None; sys.stderr = None",
        "import io, sys; sys.stdout = io.StringIO(); print('lost')",
        "import os; os.close(1); os.close(2)",
        "import os; os.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
        "import os; os.closerange(0, 3)",
        "import os, sys; sys.stdout.detach()",
    ] {
        session.outcome(program).await;
        let outcome = session
            .run("import sys\nprint('out é')\nprint('err', file=sys.stderr)")
            .await;
        assert_eq!(
            (outcome.stdout.text.as_str(), outcome.stderr.text.as_str()),
            ("out é\n", "err\n"),
            "{program}"
        );
    }
    session.close().await;
}

/// 50 MB of numbered lines, as the program of the test prints them.
fn numbered() -> Vec<u8> {
    let mut text = Vec::with_capacity(50_000_000);
    for number in 0..5_000_000u32 {
        text.extend_from_slice(format!("{number:09}\n").as_bytes());
    }
    text
}

const PRINT_NUMBERED: &str = "
    import sys
    for start in range(0, 5_000_000, 10_000):
        sys.stdout.write(''.join(f'{n:09}\\n' for n in range(start, start + 10_000)))
    ";

#[tokio::test]
async fn output_over_the_limit_is_shown_in_part_and_kept_to_the_byte() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = DirectoryOptions::default().with_sync(false);
    let store = ObjectArtifactStore::open_directory(directory.path(), options)
        .await
        .expect("opens");
    let store = Arc::new(store);
    let mut session = Setup::new().store(&store).start().await;
    let outcome = session.run(PRINT_NUMBERED).await;
    let whole = numbered();
    let saved = outcome.stdout.artifact.clone().expect("kept");
    assert_eq!(
        (outcome.stdout.bytes, saved.bytes, &*saved.mime_type),
        (50_000_000, 50_000_000, "text/plain")
    );
    let name = format!("code_mode/stdout/{}-1.txt", session.turn.id());
    assert_eq!(
        (saved.name.to_string(), outcome.artifacts.as_slice()),
        (name.clone(), &[saved][..])
    );
    let kept = artifact(&*store, &name).await;
    assert_eq!(Sha256::digest(&kept), Sha256::digest(&whole));
    let head = String::from_utf8_lossy(&whole[..35_000]);
    let tail = String::from_utf8_lossy(&whole[whole.len() - 15_000..]);
    assert_eq!(
        outcome.stdout.text,
        format!(
            "{head}[... 49950000 bytes left out; all 50000000 bytes are in an artifact: \
             load_artifact(filename='{name}') ...]\n{tail}"
        )
    );
    // As the note says.
    let load =
        format!("from tools import load_artifact\nlen(load_artifact(filename='{name}')['data'])");
    assert_eq!(crate::support::json(&session.run(&load).await), "50000000");
    session.close().await;
}

#[tokio::test]
async fn a_store_that_is_slow_makes_the_program_wait_and_loses_nothing() {
    let store = Arc::new(SlowStore::new(Duration::from_millis(3)));
    let limits = quick().with_output_bytes(1000);
    let mut session = Setup::new().store(&store).limits(limits).start().await;
    let program = "
        import os, threading
        def write(fd):
            for n in range(200_000):
                pass
            for start in range(0, 100_000, 1000):
                os.write(fd, b''.join(b'%09d\\n' % n for n in range(start, start + 1000)))
        threads = [threading.Thread(target=write, args=(fd,)) for fd in (1, 2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        ";
    let whole = &numbered()[..1_000_000];
    for _ in 0..3 {
        let outcome = session.run(program).await;
        for text in [&outcome.stdout, &outcome.stderr] {
            let saved = text.artifact.as_ref().expect("kept");
            assert_eq!((text.bytes, saved.bytes), (1_000_000, 1_000_000));
            assert!(
                artifact(&*store, &saved.name.to_string()).await == whole,
                "{} is not what was written",
                saved.name
            );
        }
    }
    session.close().await;
}

#[test]
fn a_gigabyte_of_output_takes_little_of_the_host() {
    alone(
        "output::a_gigabyte_of_output_takes_little_of_the_host",
        async {
            let directory = tempfile::tempdir().expect("a directory");
            let mut session = Setup::new()
                .artifacts_in(directory.path())
                .limits(quick().with_block_time(Duration::from_mins(1)))
                .start()
                .await;
            session.run("import os").await;
            let before = host::peak_memory();
            let outcome = session.run("part = b'0123456789abcdef' * 65536\nfor _ in range(1024):\n    os.write(1, part)").await;
            let used = host::peak_memory().saturating_sub(before) >> 20;
            assert!(used < 48, "{used} MiB");
            assert_eq!(outcome.stdout.bytes, 1 << 30);
            assert!(outcome.stdout.text.len() < 51_000);
            // The store takes 100 MiB of it, and no more is promised.
            let saved = outcome.stdout.artifact.as_ref().expect("kept");
            assert!(
                saved.bytes <= 100 << 20 && saved.bytes > 99 << 20,
                "{}",
                saved.bytes
            );
            let note = format!(
                "the first {} of 1073741824 bytes are in an artifact",
                saved.bytes
            );
            assert!(
                outcome.stdout.text.contains(&note),
                "{}",
                &outcome.stdout.text[34_900..35_300]
            );
            session.close().await;
        },
    );
}

#[tokio::test]
async fn without_a_place_for_it_the_rest_is_said_to_be_gone() {
    let limits = ArtifactLimits::in_memory().with_artifact_bytes(100);
    let store = Arc::new(ObjectArtifactStore::in_memory(limits));
    let mut session = Setup::new()
        .store(&store)
        .limits(quick().with_output_bytes(40))
        .start()
        .await;
    let outcome = session.run("print('x' * 200)").await;
    let saved = outcome.stdout.artifact.as_ref().expect("what fits is kept");
    assert_eq!(saved.bytes, 100);
    let text = outcome
        .stdout
        .text
        .replace(&session.turn.id().to_string(), "TURN");
    insta::assert_snapshot!(text, @r#"
    xxxxxxxxxxxxxxxxxxxxxxxxxxxx
    [... 161 bytes left out; the first 100 of 201 bytes are in an artifact: load_artifact(filename='code_mode/stdout/TURN-1.txt') ...]
    xxxxxxxxxxx
    "#);
    let none = ArtifactLimits::in_memory().with_total_bytes(0);
    let store = Arc::new(ObjectArtifactStore::in_memory(none));
    let mut session = Setup::new()
        .store(&store)
        .limits(quick().with_output_bytes(40))
        .start()
        .await;
    let outcome = session.run("print('x' * 200)").await;
    assert_eq!(
        store.list().await.expect("names"),
        Vec::<ArtifactName>::new()
    );
    let text = outcome
        .stdout
        .text
        .replace(&session.turn.id().to_string(), "TURN");
    insta::assert_snapshot!(text, @r#"
    xxxxxxxxxxxxxxxxxxxxxxxxxxxx
    [... 161 bytes left out; they could not be kept: cannot save artifact `code_mode/stdout/TURN-1.txt`: all artifacts together would take 2249 bytes, over `total_bytes` = 0; save less, or raise the limit on the host ...]
    xxxxxxxxxxx
    "#);
    session.close().await;
}
