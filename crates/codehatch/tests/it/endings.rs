//! The four endings, each brought about for real, and never taken for one another.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use codehatch::{
    BlockOutcome, BlockState, Ending, Event, FileError, Started, function::FunctionTool,
};

use crate::support::{Session, Setup, alone, host, message, quick, tools, until};

/// Ending, state and message of a block, for snapshots.
fn report(outcome: &BlockOutcome) -> String {
    format!(
        "{:?}, state {:?}\n{}\n",
        outcome.ending,
        outcome.state,
        message(outcome)
    )
}

/// Whether the variables of earlier blocks are there must be what the block before has said.
async fn check_state(session: &mut Session, said: BlockState) {
    let kept = session.prints("print('x' in globals())").await;
    assert_eq!(
        kept,
        if said == BlockState::Kept {
            "True\n"
        } else {
            "False\n"
        }
    );
    session.run("x = 1").await;
}

#[tokio::test]
async fn a_block_that_ends_by_itself_has_completed() {
    let mut session = Session::new().await;
    session.run("x = 1").await;
    let mut text = String::new();
    for code in ["pass", "1 / 0", "import sys; sys.exit(3)", "("] {
        let outcome = session.outcome(code).await;
        text += &report(&outcome);
        check_state(&mut session, outcome.state).await;
    }
    insta::assert_snapshot!(text, @r#"
    Completed { exit_code: 0 }, state Kept

    Completed { exit_code: 1 }, state Kept

    Completed { exit_code: 3 }, state Kept
    The code exited with code 3.
    Completed { exit_code: 1 }, state Kept
    "#);
    session.close().await;
}

#[tokio::test]
async fn a_block_that_is_stopped_and_stops_was_interrupted() {
    let mut text = String::new();
    let time = quick().with_block_time(Duration::from_millis(700));
    let cpu = quick().with_cpu_time(Some(Duration::from_millis(300)));
    for (limits, code) in [
        (time, "import time; time.sleep(60)"),
        (cpu, "while True: pass"),
    ] {
        let mut session = Setup::new().limits(limits).start().await;
        session.run("x = 1").await;
        let outcome = session.outcome(code).await;
        text += &report(&outcome);
        check_state(&mut session, outcome.state).await;
        session.close().await;
    }
    let mut session = Session::new().await;
    session.run("x = 1\nimport time").await;
    let stop = session.turn.stopper();
    let mut execution = session.turn.execute("print('on')\ntime.sleep(60)");
    while let Some(event) = execution.next_event().await {
        if matches!(event, Event::Output { .. }) {
            stop.stop();
        }
    }
    let outcome = execution.await;
    text += &report(&outcome);
    check_state(&mut session, outcome.state).await;
    // Between blocks there is nothing to stop.
    stop.stop();
    check_state(&mut session, BlockState::Kept).await;
    insta::assert_snapshot!(text, @r#"
    Interrupted { reason: TimeLimit(700ms) }, state Kept
    The code was stopped because it ran for longer than its time limit of 0.7 s. Its output so far is shown. Variables and files are kept. Do not simply run it again: check first which of its effects took place.
    Interrupted { reason: CpuLimit(300ms) }, state Kept
    The code was stopped because it used more processor time than its limit of 0.3 s. Its output so far is shown. Variables and files are kept. Do not simply run it again: check first which of its effects took place.
    Interrupted { reason: Requested }, state Kept
    The code was stopped because it was cancelled. Its output so far is shown. Variables and files are kept. Do not simply run it again: check first which of its effects took place.
    "#);
    session.close().await;
}

#[tokio::test]
async fn a_block_whose_sandbox_ends_under_it_was_lost() {
    let mut session = Setup::new().memory(256).start().await;
    session.run("x = 1").await;
    let mut text = String::new();
    for code in [
        "import os; os._exit(0)",
        "import os; os._exit(7)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import ctypes; ctypes.string_at(1)",
        "import os; os.abort()",
        "import os, threading; threading.Thread(target=os._exit, args=(9,)).start(); threading.Event().wait()",
    ] {
        let outcome = session.outcome(code).await;
        text += &report(&outcome);
        check_state(&mut session, outcome.state).await;
    }
    insta::assert_snapshot!(text, @r#"
    SandboxLost { cause: Exit(Exited { code: 0 }), started: MayHaveRun }, state Lost
    The sandbox was lost: the interpreter exited with code 0. Variables and files are lost; the next block starts afresh. Do not simply run it again: check first which of its effects took place.
    SandboxLost { cause: Exit(Exited { code: 7 }), started: MayHaveRun }, state Lost
    The sandbox was lost: the interpreter exited with code 7. Variables and files are lost; the next block starts afresh. Do not simply run it again: check first which of its effects took place.
    SandboxLost { cause: Exit(Signaled { signal: 9 }), started: MayHaveRun }, state Lost
    The sandbox was lost: the interpreter was killed by signal 9 (SIGKILL). Variables and files are lost; the next block starts afresh. Do not simply run it again: check first which of its effects took place.
    SandboxLost { cause: Exit(Signaled { signal: 15 }), started: MayHaveRun }, state Lost
    The sandbox was lost: the interpreter was killed by signal 15 (SIGTERM). Variables and files are lost; the next block starts afresh. Do not simply run it again: check first which of its effects took place.
    SandboxLost { cause: Exit(Signaled { signal: 11 }), started: MayHaveRun }, state Lost
    The sandbox was lost: the interpreter was killed by signal 11 (SIGSEGV). Variables and files are lost; the next block starts afresh. Do not simply run it again: check first which of its effects took place.
    SandboxLost { cause: Exit(Signaled { signal: 6 }), started: MayHaveRun }, state Lost
    The sandbox was lost: the interpreter was killed by signal 6 (SIGABRT). Variables and files are lost; the next block starts afresh. Do not simply run it again: check first which of its effects took place.
    SandboxLost { cause: Exit(Exited { code: 9 }), started: MayHaveRun }, state Lost
    The sandbox was lost: the interpreter exited with code 9. Variables and files are lost; the next block starts afresh. Do not simply run it again: check first which of its effects took place.
    "#);
    session.close().await;
}

#[tokio::test]
async fn a_block_that_the_host_cannot_run_is_the_hosts_error() {
    let mut session = Setup::new()
        .python("/nonexistent/bin/python3")
        .start()
        .await;
    let outcome = session.outcome("x = 1").await;
    let mut text = report(&outcome);
    session.close().await;
    let directory = tempfile::tempdir().expect("a directory");
    let not_python = directory.path().join("python3");
    std::fs::write(&not_python, "#!/bin/sh\necho no Python\n").expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&not_python, mode).expect("executable");
    let mut session = Setup::new().python(&not_python).start().await;
    text += &report(&session.outcome("x = 1").await);
    let error = session
        .turn
        .put_file("a", b"1".to_vec())
        .await
        .expect_err("no sandbox");
    assert!(matches!(error, FileError::Start { .. }), "{error}");
    session.close().await;
    let mut session = Session::new().await;
    session.run("x = 1").await;
    let outcome = session.outcome(&"#".repeat(1_000_001)).await;
    text += &report(&outcome);
    check_state(&mut session, outcome.state).await;
    session.close().await;
    let text = text.replace(&directory.path().display().to_string(), "DIRECTORY");
    insta::assert_snapshot!(text, @r#"
    HostError { message: "cannot start a sandbox with the local runtime: `/nonexistent/bin/python3` is neither a Python interpreter nor a virtual environment: name one with `python` in `[runtime]` or `--python`" }, state Lost
    The code could not be run: cannot start a sandbox with the local runtime: `/nonexistent/bin/python3` is neither a Python interpreter nor a virtual environment: name one with `python` in `[runtime]` or `--python`. Variables and files are lost; the next block starts afresh.
    HostError { message: "cannot start a sandbox with the local runtime: cannot ask the Python at `DIRECTORY/python3` what it is: it printed \"no Python\"; check that it can be run, or name another one with `python` in `[runtime]` or `--python`" }, state Lost
    The code could not be run: cannot start a sandbox with the local runtime: cannot ask the Python at `DIRECTORY/python3` what it is: it printed "no Python"; check that it can be run, or name another one with `python` in `[runtime]` or `--python`. Variables and files are lost; the next block starts afresh.
    HostError { message: "its source has 1000001 bytes, more than the limit of 1000000" }, state Kept
    The code could not be run: its source has 1000001 bytes, more than the limit of 1000000. Variables and files are kept.
    "#);
}

/// A tool that counts its calls.
fn effect(count: &Arc<AtomicUsize>) -> FunctionTool {
    let count = Arc::clone(count);
    FunctionTool::raw("effect", tools::any(), move |args| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok(args) }
    })
}

#[test]
fn code_that_did_not_run_runs_once_in_a_new_sandbox_and_the_loss_is_told() {
    alone(
        "endings::code_that_did_not_run_runs_once_in_a_new_sandbox_and_the_loss_is_told",
        async {
            let count = Arc::new(AtomicUsize::new(0));
            let mut session = Setup::new().tool(effect(&count)).start().await;
            // Before anything has run there is nothing to lose.
            session.run("x = 1").await;
            host::kill_sandboxes().await;
            let outcome = session
                .run("from tools import effect\neffect()\nprint('x' in globals())")
                .await;
            assert_eq!(
                (count.load(Ordering::SeqCst), outcome.stdout.text.as_str()),
                (1, "False\n")
            );
            insta::assert_snapshot!(report(&outcome), @r#"
            Completed { exit_code: 0 }, state Kept
            Before this code ran, the sandbox of the earlier blocks was lost: its processes were killed from outside. It ran in a new sandbox, without their variables and files.
            "#);
            // It is told once.
            let outcome = session.run("effect()").await;
            assert_eq!((count.load(Ordering::SeqCst), outcome.message()), (2, None));
            session.close().await;
        },
    );
}

#[test]
fn code_whose_input_files_are_lost_does_not_run_without_them() {
    alone(
        "endings::code_whose_input_files_are_lost_does_not_run_without_them",
        async {
            let count = Arc::new(AtomicUsize::new(0));
            let mut session = Setup::new().tool(effect(&count)).start().await;
            session.run("from tools import effect").await;
            session
                .turn
                .put_file("input.csv", b"1".to_vec())
                .await
                .expect("written");
            host::kill_sandboxes().await;
            let outcome = session.outcome("effect(x=open('input.csv').read())").await;
            assert_eq!(count.load(Ordering::SeqCst), 0);
            insta::assert_snapshot!(report(&outcome), @r#"
            SandboxLost { cause: Exit(Lost { detail: "its processes were killed from outside" }), started: NotRun }, state Lost
            The sandbox was lost: its processes were killed from outside. Variables and files are lost; the next block starts afresh. The code did not run. It can be run again.
            "#);
            session
                .turn
                .put_file("input.csv", b"2".to_vec())
                .await
                .expect("written");
            let outcome = session
                .run("from tools import effect\neffect(x=open('input.csv').read())")
                .await;
            assert_eq!(
                (count.load(Ordering::SeqCst), outcome.state),
                (1, BlockState::Kept)
            );
            session.close().await;
        },
    );
}

#[test]
fn code_that_may_have_run_is_never_run_again() {
    alone(
        "endings::code_that_may_have_run_is_never_run_again",
        async {
            let count = Arc::new(AtomicUsize::new(0));
            let mut session = Setup::new().tool(effect(&count)).start().await;
            let mut execution = session.turn.execute(
        "from tools import effect\neffect()\nprint('on', flush=True)\nimport time; time.sleep(60)",
    );
            while let Some(event) = execution.next_event().await {
                if matches!(event, Event::Output { .. }) {
                    host::kill_sandboxes().await;
                }
            }
            let outcome = execution.await;
            assert_eq!(
                (count.load(Ordering::SeqCst), outcome.stdout.text.as_str()),
                (1, "on\n")
            );
            insta::assert_snapshot!(report(&outcome), @r#"
            SandboxLost { cause: Exit(Lost { detail: "its processes were killed from outside" }), started: MayHaveRun }, state Lost
            The sandbox was lost: its processes were killed from outside. Variables and files are lost; the next block starts afresh. Do not simply run it again: check first which of its effects took place.
            "#);
            assert!(matches!(
                outcome.ending,
                Ending::SandboxLost {
                    started: Started::MayHaveRun,
                    ..
                }
            ));
            session.run("x = 1").await;
            session.close().await;
        },
    );
}

#[test]
fn a_turn_outlives_the_zygote_that_its_sandbox_came_from() {
    alone(
        "endings::a_turn_outlives_the_zygote_that_its_sandbox_came_from",
        async {
            let mut session = Session::new().await;
            session.run("x = 1").await;
            let mut another = session.another();
            another.run("y = 1").await;
            let all = host::processes_below();
            let own = i32::try_from(std::process::id()).expect("a pid");
            let zygotes: Vec<_> = all
                .iter()
                .filter(|process| process.parent == own && process.name.starts_with("python"))
                .collect();
            for zygote in &zygotes {
                host::kill(zygote.pid);
            }
            until("all sandboxes went with it", || {
                host::sandboxes()
                    .iter()
                    .all(|process| !all.contains(process))
            })
            .await;
            for session in [&mut session, &mut another] {
                let outcome = session.run("print('fresh')").await;
                assert_eq!(outcome.stdout.text, "fresh\n");
                assert!(
                    message(&outcome).contains("without their variables and files"),
                    "{}",
                    message(&outcome)
                );
            }
            another.turn.close().await;
            session.close().await;
        },
    );
}
