//! Work that a block leaves behind: it costs the block nothing, and ends with the turn.

use std::time::Duration;

use crate::support::{Session, host, unique, until};

/// Lines that begin with `mark`, without it.
fn lines(text: &str, mark: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(mark));
    lines.map(str::to_owned).collect()
}

#[tokio::test]
async fn b11_output_of_threads_that_go_on_is_never_taken_for_another_blocks() {
    let mut session = Session::new().await;
    session.run("1").await;
    let start = "
        import threading, time
        def work():
            for i in range(1, 6):
                print(f'A{i}')
                time.sleep(0.2)
        threading.Thread(target=work).start()
        ";
    let first = session.run(start).await;
    assert!(first.took < Duration::from_millis(900), "{:?}", first.took);
    let second = session.run("print('B')\ntime.sleep(0.5)").await;
    tokio::time::sleep(Duration::from_millis(800)).await;
    let third = session.run("print('C')").await;
    // As it wrote them in its own block and between blocks; marked in later blocks.
    let mut written = lines(&first.stdout.text, "");
    written.extend(lines(&second.earlier_output, ""));
    written.extend(lines(&second.stdout.text, "[block 2] "));
    written.extend(lines(&third.earlier_output, "[block 2] "));
    assert_eq!(
        written,
        ["A1", "A2", "A3", "A4", "A5"],
        "{first:?}\n{second:?}\n{third:?}"
    );
    let own: Vec<&str> = second
        .stdout
        .text
        .lines()
        .filter(|line| !line.starts_with("[block 2] "))
        .collect();
    assert_eq!((own, third.stdout.text.as_str()), (vec!["B"], "C\n"));
    session.close().await;
}

#[tokio::test]
async fn b11_tasks_that_are_left_pending_go_on_with_the_next_await() {
    let mut session = Session::new().await;
    let start = "
        import asyncio
        async def later():
            await asyncio.sleep(0.05)
            print('task')
        task = asyncio.ensure_future(later())
        await asyncio.sleep(0)
        ";
    assert_eq!(session.prints(start).await, "");
    assert_eq!(session.prints("print('no await')").await, "no await\n");
    // In the output of another block than its own, so it is marked.
    assert_eq!(session.prints("await task").await, "[block 1] task\n");
    session.close().await;
}

#[tokio::test]
async fn b11_threads_and_exit_handlers_end_with_the_turn() {
    let mut session = Session::new().await;
    let marker = unique();
    let start = format!(
        "import atexit, threading, subprocess\natexit.register(print, 'never seen')\n\
         threading.Thread(target=subprocess.run, args=(['sleep', '{marker}'],)).start()"
    );
    assert_eq!(session.prints(&start).await, "");
    until("the thread has started its child", || {
        !host::processes_with(&marker).is_empty()
    })
    .await;
    session.turn.close().await;
    assert_eq!(host::processes_with(&marker), []);
    session.engine.close().await;
}

#[tokio::test]
async fn c04_a_child_that_holds_the_output_open_does_not_hold_the_block() {
    let mut session = Session::new().await;
    let (marker, daemon) = (unique(), unique());
    let program = format!(
        "import subprocess; subprocess.Popen(['sh','-c','sleep {marker} &'])\nprint('started')"
    );
    let outcome = session.run(&program).await;
    assert_eq!(outcome.stdout.text, "started\n");
    assert!(outcome.took < Duration::from_secs(2), "{:?}", outcome.took);
    let daemon_program = format!(
        "
        import os, sys, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execvp('sh', ['sh', '-c', 'while true; do echo tick; sleep 0.{}; done', '{daemon}'])
            os._exit(0)
        os.wait()
        print('started')
        ",
        3
    );
    let outcome = session.run(&daemon_program).await;
    assert!(outcome.took < Duration::from_secs(2), "{:?}", outcome.took);
    assert!(outcome.stdout.text.contains("started\n"));
    tokio::time::sleep(Duration::from_millis(700)).await;
    let next = session.run("print('next')").await;
    assert!(
        next.earlier_output.contains("tick\n"),
        "{}",
        next.earlier_output
    );
    assert!(next.stdout.text.contains("next\n"));
    assert!(
        !host::processes_with(&marker).is_empty(),
        "children of a completed block live on"
    );
    assert!(
        !host::processes_with(&daemon).is_empty(),
        "daemons of a completed block live on"
    );
    session.turn.close().await;
    assert_eq!(
        (host::processes_with(&marker), host::processes_with(&daemon)),
        (vec![], vec![])
    );
    session.engine.close().await;
}
