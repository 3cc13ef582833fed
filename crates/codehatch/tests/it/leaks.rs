//! Whatever becomes of turns and of their host, nothing of them stays.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::Stdio,
    sync::Arc,
};

use codehatch::{Ending, Execution, Started, function::FunctionTool};
use tokio::sync::Notify;

use crate::support::{
    Session, Setup, alone,
    alone::{again, block_on},
    host, json,
    session::python,
    tools, unique, until,
};

/// Tasks of this process.
fn tasks() -> usize {
    let runtime = tokio::runtime::Handle::current();
    runtime.metrics().num_alive_tasks()
}

/// A tool that says that it was called, and never answers.
fn endless(called: &Arc<Notify>) -> FunctionTool {
    let called = Arc::clone(called);
    FunctionTool::raw("endless", tools::any(), move |_| {
        called.notify_one();
        std::future::pending()
    })
}

/// Runs on until the endless tool is called.
async fn until_called<'turn>(mut execution: Execution<'turn>, called: &Notify) -> Execution<'turn> {
    let has_ended = tokio::select! {
        () = called.notified() => false,
        () = async { while execution.next_event().await.is_some() {} } => true,
    };
    assert!(!has_ended, "it has ended: {:?}", execution.await);
    execution
}

#[test]
fn c06_descriptors_and_tasks_return_to_their_level() {
    const CALL: &str = "from tools import endless\nendless()";
    alone(
        "leaks::c06_descriptors_and_tasks_return_to_their_level",
        async {
            let called = Arc::new(Notify::new());
            let mut session = Setup::new().tool(endless(&called)).start().await;
            session.run("1").await;
            let (before, tasks_before) = (host::Footprint::at_rest().await, tasks());
            for number in 0..500 {
                let outcome = session.run(&format!("{number} + 1")).await;
                assert_eq!(json(&outcome), (number + 1).to_string());
            }
            for number in 0..200 {
                let mut another = session.another();
                let outcome = another.run(&format!("{number} + 2")).await;
                assert_eq!(json(&outcome), (number + 2).to_string());
                another.turn.close().await;
            }
            // Cancelled in flight, with a call under way.
            for _ in 0..100 {
                let mut another = session.another();
                drop(until_called(another.turn.execute(CALL), &called).await);
            }
            session.turn.close().await;
            // Killed in flight, from outside, with whatever waits ready.
            for _ in 0..50 {
                let mut turn = session.engine.turn();
                let execution = until_called(turn.execute(CALL), &called).await;
                host::kill_sandboxes().await;
                let outcome = execution.await;
                assert!(
                    matches!(
                        outcome.ending,
                        Ending::SandboxLost {
                            started: Started::MayHaveRun,
                            ..
                        }
                    ),
                    "{:?}",
                    outcome.ending
                );
                turn.close().await;
            }
            before.is_back().await;
            until("no task is left", || tasks() <= tasks_before).await;
            session.engine.close().await;
        },
    );
}

#[test]
fn a_thousand_turns_in_a_row_leave_nothing() {
    const TURNS: u32 = 1000;
    alone("leaks::a_thousand_turns_in_a_row_leave_nothing", async {
        let (marker, kept) = (unique(), tempfile::tempdir().expect("a directory"));
        let mut session = Setup::new()
            .tool(tools::echo())
            .artifacts_in(kept.path())
            .start()
            .await;
        session.run("1").await;
        let program = python(&format!(
            "
            import os
            from tools import echo
            assert 'x' not in globals() and os.listdir('/workspace') == os.listdir('/dev/shm') == []
            x = echo(v=NUMBER)['v']
            open('/tmp/file', 'w').write('x')
            if NUMBER % 10 == 0:
                import subprocess
                subprocess.Popen(['sleep', '{marker}'], start_new_session=True)
                if os.fork() == 0:
                    os.setsid()
                    os.execvp('sleep', ['sleep', '{marker}'])
            if NUMBER % 100 == 0:
                open('file', 'w').write('x')
            x * 2
            "
        ));
        let mut before = None;
        for number in 0..TURNS {
            // The first ones fill what the host keeps for all that follow.
            if number == 100 {
                before = Some((host::Footprint::at_rest().await, tasks(), host::memory()));
            }
            let mut another = session.another();
            let outcome = another
                .run(&program.replace("NUMBER", &number.to_string()))
                .await;
            assert_eq!(json(&outcome), (number * 2).to_string());
            assert_eq!(outcome.artifacts.len(), usize::from(number % 100 == 0));
            another.turn.close().await;
            if number % 10 == 0 {
                assert_eq!(host::processes_with(&marker), [], "after turn {number}");
            }
        }
        let (footprint, tasks_before, memory) = before.expect("turns");
        footprint.is_back().await;
        until("no task is left", || tasks() <= tasks_before).await;
        let grown = host::memory().saturating_sub(memory) >> 20;
        assert!(grown <= 8, "the host has {grown} MiB more");
        session.close().await;
    });
}

/// Says to its parent that it has come so far, outside of what a test runner captures.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .expect("a reader");
}

/// A host in the middle of a block, for ever.
async fn host_in_mid_block(marker: &str) {
    let wait = FunctionTool::raw("wait", tools::any(), |_| {
        say("\nin mid block\n");
        std::future::pending()
    });
    let mut session = Setup::new().tool(wait).start().await;
    let mut other = session.another();
    other.run("x = 1").await;
    let program = format!(
        "
        import os, subprocess, threading, time
        from tools import wait
        for path in ('/workspace/big', '/tmp/big', '/dev/shm/big'):
            open(path, 'wb').write(bytes(1 << 20))
        subprocess.Popen(['sleep', '{marker}'], start_new_session=True)
        subprocess.Popen(['sh', '-c', 'trap \"\" TERM HUP INT; sleep {marker} & wait'])
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execvp('sleep', ['sleep', '{marker}'])
            os._exit(0)
        threading.Thread(target=time.sleep, args=(600,)).start()
        wait()
        "
    );
    session.outcome(&program).await;
}

#[tokio::test]
async fn a_host_that_is_killed_in_mid_block_leaves_no_process_mount_or_file() {
    const TEST: &str = "leaks::a_host_that_is_killed_in_mid_block_leaves_no_process_mount_or_file";
    const ROLE: &str = "CODEHATCH_HOST_TO_KILL";
    if let Ok(marker) = env::var(ROLE) {
        // A runtime of its own, as a host has: not the one of this test.
        let run = move || block_on(host_in_mid_block(&marker));
        return std::thread::spawn(run).join().expect("killed before");
    }
    let (marker, directory) = (unique(), tempfile::tempdir().expect("a directory"));
    let mounts = host::mounts();
    let mut child = again(TEST)
        .env(ROLE, &marker)
        .env("TMPDIR", directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program, once more");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let said = lines.find(|line| line.as_ref().is_ok_and(|line| line == "in mid block"));
    assert!(said.is_some(), "the host did not come so far");
    let all = host::processes_below_of(i32::try_from(child.id()).expect("a pid"));
    let of_block = host::processes_with(&marker);
    assert!(
        of_block.len() >= 3 && all.len() >= of_block.len() + 4,
        "{all:?}"
    );
    child.kill().expect("killed");
    child.wait().expect("its status");
    until("every process is gone", || {
        let left = host::processes();
        !left
            .iter()
            .any(|process| all.contains(process) && process.state != 'Z')
    })
    .await;
    assert_eq!(host::processes_with(&marker), []);
    assert_eq!(host::mounts(), mounts);
    assert!(is_empty(directory.path()));
}

fn is_empty(directory: &Path) -> bool {
    directory.read_dir().expect("readable").next().is_none()
}

#[tokio::test]
async fn a_turn_that_is_dropped_takes_its_processes_with_it() {
    let mut session = Session::new().await;
    let marker = unique();
    let mut another = session.another();
    another
        .run(&format!(
            "import subprocess; subprocess.Popen(['sleep', '{marker}'])"
        ))
        .await;
    until("it has started", || {
        !host::processes_with(&marker).is_empty()
    })
    .await;
    drop(another.turn);
    until("they are gone", || host::processes_with(&marker).is_empty()).await;
    assert_eq!(session.prints("print('on')").await, "on\n");
    session.close().await;
}
