//! Memory and processes beyond what a sandbox may have.

use codehatch::{BlockState, Ending, LossCause, Started, runtime::Exit};

use crate::support::{Session, Setup, host, message};

async fn session() -> Session {
    let mut session = Setup::new().memory(256).start().await;
    session.run("kept = 1").await;
    session
}

#[tokio::test]
async fn c08_one_process_meets_a_memory_error_and_goes_on() {
    let mut session = session().await;
    for program in [
        "print('on')\nb = bytearray(8<<30)",
        "print('on')\nl=[]\nwhile True: l.append(' '*10**6)",
        "print('on')\nl=[]\nwhile True: l.append([None] * 1000)",
    ] {
        let outcome = session.raises(program).await;
        assert_eq!(outcome.stdout.text, "on\n", "{program}");
        assert!(
            outcome.stderr.text.ends_with("MemoryError\n"),
            "{program}: {}",
            outcome.stderr.text
        );
        assert_eq!(outcome.state, BlockState::Kept, "{program}");
        assert_eq!(session.prints("print(kept)").await, "1\n", "{program}");
    }
    // However full it is, a block can make room.
    session.run("del l").await;
    session.run("b = bytearray(100 << 20)").await;
    session.close().await;
}

#[tokio::test]
async fn c08_a_child_that_wants_too_much_fails_and_the_interpreter_survives() {
    let mut session = session().await;
    let program = "
        import subprocess
        child = subprocess.run(['python3', '-c', 'b = bytearray(8 << 30)'], capture_output=True, text=True)
        print(child.returncode, child.stderr.splitlines()[-1])
        ";
    assert_eq!(session.prints(program).await, "1 MemoryError\n");
    assert_eq!(session.prints("print(kept)").await, "1\n");
    session.close().await;
}

#[tokio::test]
async fn c08_processes_that_together_have_too_much_end_the_sandbox_which_is_told() {
    let mut session = session().await;
    let program = "
        import os, time
        print('on', flush=True)
        for _ in range(8):
            if os.fork() == 0:
                b = bytearray(100 << 20)
                for at in range(0, len(b), 4096):
                    b[at] = 1
                time.sleep(60)
                os._exit(0)
        time.sleep(60)
        ";
    let limit_bytes = 256 * 1024 * 1024;
    let ending = Ending::SandboxLost {
        cause: LossCause::Exit(Exit::OutOfMemory { limit_bytes }),
        started: Started::MayHaveRun,
    };
    let outcome = session.ends(program, ending).await;
    assert_eq!(
        (outcome.stdout.text.as_str(), outcome.state),
        ("on\n", BlockState::Lost)
    );
    insta::assert_snapshot!(message(&outcome), @"The sandbox was lost: out of memory: the limit is 256 MiB. Variables and files are lost; the next block starts afresh. Do not simply run it again: check first which of its effects took place.");
    assert_eq!(
        session.prints("print('kept' in globals())").await,
        "False\n"
    );
    session.close().await;
}

#[tokio::test]
async fn c08_a_fork_bomb_ends_at_the_limit_on_processes() {
    let mut session = Setup::new().block_time(3000).start().await;
    session.run("kept = 1").await;
    let before = host::processes().len();
    let outcome = session
        .outcome("print('on', flush=True)\nimport os\nwhile True: os.fork()")
        .await;
    // The block's own process fails to fork, or the time is up while its children do.
    assert!(outcome.stdout.text.starts_with("on\n"), "{outcome:?}");
    match &outcome.ending {
        Ending::Completed { exit_code: 1 } => {
            assert!(
                outcome.stderr.text.contains("BlockingIOError: [Errno 11]"),
                "{}",
                outcome.stderr.text
            );
        }
        Ending::Interrupted { .. } => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(session.run("print(kept)").await.stdout.text, "1\n");
    session.turn.close().await;
    host::until("the bomb's processes are gone", || {
        host::processes().len() < before + 20
    })
    .await;
    session.engine.close().await;
}

#[tokio::test]
async fn threads_and_open_files_end_at_their_limits() {
    let mut session = session().await;
    let threads = "
        import threading
        stop = threading.Event()
        started = []
        try:
            for _ in range(1000):
                started.append(threading.Thread(target=stop.wait))
                started[-1].start()
        except RuntimeError as error:
            print(error, 50 < len(started) < 130)
        stop.set()
        ";
    assert_eq!(
        session.prints(threads).await,
        "can't start new thread True\n"
    );
    let files = "
        opened = []
        try:
            for _ in range(10000):
                opened.append(open('/dev/null'))
        except OSError as error:
            print(error.errno == 24, 400 < len(opened) < 512)
        for file in opened:
            file.close()
        ";
    assert_eq!(session.prints(files).await, "True True\n");
    session.close().await;
}

#[tokio::test]
async fn a_full_workspace_is_an_error_of_the_program() {
    let mut session = Setup::new().start().await;
    let program = "
        import errno
        for path in ('/workspace/big', '/tmp/big', '/dev/shm/big'):
            try:
                with open(path, 'wb') as file:
                    for _ in range(1000):
                        file.write(bytes(1 << 20))
                print(path, 'has room for ever')
            except OSError as error:
                print(path, error.errno in (errno.ENOSPC, errno.EFBIG))
        import os
        os.remove('/workspace/big')
        ";
    assert_eq!(
        session.prints(program).await,
        "/workspace/big True\n/tmp/big True\n/dev/shm/big True\n"
    );
    session.close().await;
}
