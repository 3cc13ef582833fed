//! Time limits: what was done by then stays, what was started stops, and each limit is named.

use std::time::{Duration, Instant};

use codehatch::{
    BlockState, Ending, Event, LossCause, Started, StopReason, function::FunctionTool,
};

use crate::support::{
    Setup,
    alone::alone,
    host, message,
    session::python,
    tools::{self, Gauge},
    unique, until,
};

fn interrupted(milliseconds: u64) -> Ending {
    Ending::Interrupted {
        reason: StopReason::TimeLimit(Duration::from_millis(milliseconds)),
    }
}

#[tokio::test]
async fn c01_what_was_printed_before_the_time_limit_is_kept() {
    let mut session = Setup::new().block_time(1000).start().await;
    let programs = [
        "print('step 1 done')\nimport time; time.sleep(60)",
        "import sys, time\nsys.stdout.write('step 1 done')\ntime.sleep(60)",
        "import subprocess\nsubprocess.run(['sh', '-c', 'echo step 1 done; sleep 60'])",
        "import os, time\nos.write(1, b'step 1 done'); time.sleep(60)",
    ];
    for program in programs {
        let outcome = session.ends(program, interrupted(1000)).await;
        assert_eq!(outcome.stdout.text.trim_end(), "step 1 done", "{program}");
        assert_eq!(outcome.state, BlockState::Kept);
        assert!(
            outcome.took < Duration::from_millis(2900),
            "{:?}",
            outcome.took
        );
        insta::allow_duplicates! {
            insta::assert_snapshot!(message(&outcome), @"The code was stopped because it ran for longer than its time limit of 1 s. Its output so far is shown. Variables and files are kept. Do not simply run it again: check first which of its effects took place.");
        }
    }
    session.close().await;
}

#[test]
fn c02_nothing_that_a_stopped_block_started_goes_on() {
    alone(
        "time::c02_nothing_that_a_stopped_block_started_goes_on",
        async {
            let mut session = Setup::new().block_time(700).start().await;
            session.run("import subprocess, time").await;
            let before = host::Footprint::at_rest().await;
            for round in 0..20 {
                let (first, second) = (unique(), unique());
                let program = python(&format!(
                    r#"
                subprocess.Popen(['sleep', '{first}'])
                subprocess.Popen(['sh', '-c', 'trap "" TERM INT HUP; setsid sleep {second} & wait'])
                print('ready')
                while True: pass
                "#
                ));
                match round % 3 {
                    // Its time is up.
                    0 => {
                        let outcome = session.outcome(&program).await;
                        assert_eq!(outcome.ending, interrupted(700));
                    }
                    // The client cancels, and wants to go on with the turn.
                    1 => {
                        let stop = session.turn.stopper();
                        let mut execution = session.turn.execute(&*program);
                        wait_ready(&mut execution).await;
                        stop.stop();
                        let outcome = execution.await;
                        let reason = StopReason::Requested;
                        assert_eq!(outcome.ending, Ending::Interrupted { reason });
                    }
                    // The client is gone.
                    _ => {
                        let mut execution = session.turn.execute(&*program);
                        wait_ready(&mut execution).await;
                        drop(execution);
                    }
                }
                until("the child processes are gone", || {
                    host::processes_with(&first).is_empty()
                        && host::processes_with(&second).is_empty()
                })
                .await;
                session.run("import subprocess, time").await;
            }
            before.is_back().await;
            let used = || {
                host::processes_below()
                    .iter()
                    .map(|process| process.ticks)
                    .sum::<u64>()
            };
            let (began, ticks) = (Instant::now(), used());
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert!(used() - ticks <= 3, "busy after {:?}", began.elapsed());
            session.close().await;
        },
    );
}

/// Waits until the program has written `ready`.
async fn wait_ready(execution: &mut codehatch::Execution<'_>) {
    while let Some(event) = execution.next_event().await {
        if let Event::Output { bytes, .. } = event
            && bytes.starts_with(b"ready")
        {
            return;
        }
    }
    panic!("the block ended before it was ready");
}

#[tokio::test]
async fn c09_endless_loops_and_endless_waits_stop_at_the_limit() {
    let mut session = Setup::new().block_time(1000).start().await;
    session.run("import asyncio\nkept = 1").await;
    for program in [
        "while True: pass",
        "await asyncio.Event().wait()",
        "asyncio.run(asyncio.sleep(60))",
    ] {
        let began = Instant::now();
        session.ends(program, interrupted(1000)).await;
        let took = began.elapsed();
        assert!(
            took > Duration::from_millis(950) && took < Duration::from_millis(2900),
            "{program}: {took:?}"
        );
    }
    assert_eq!(session.prints("print(kept)").await, "1\n");
    session.close().await;
}

/// A tool that takes 20 s, and counts: longer than a limit of somebody else's may be.
fn slow(gauge: &Gauge) -> FunctionTool {
    let gauge = gauge.clone();
    FunctionTool::raw("slow", tools::any(), move |args| {
        let gauge = gauge.clone();
        async move {
            let running = gauge.enter();
            tokio::time::sleep(Duration::from_secs(20)).await;
            running.complete();
            Ok(args)
        }
    })
}

#[tokio::test]
async fn c09_a_tool_may_take_as_long_as_its_limits_say() {
    let gauge = Gauge::default();
    let limits = crate::support::quick()
        .with_block_time(Duration::from_mins(2))
        .with_call_time(Some(Duration::from_secs(90)));
    let mut session = Setup::new().tool(slow(&gauge)).limits(limits).start().await;
    let printed = session
        .prints("from tools import slow\nprint(slow(x=1))")
        .await;
    assert_eq!((printed.as_str(), gauge.completed()), ("{'x': 1}\n", 1));
    session.close().await;
}

#[tokio::test]
async fn c09_a_block_that_waits_for_a_tool_stops_at_its_own_limit_and_the_call_with_it() {
    let gauge = Gauge::default();
    let mut session = Setup::new()
        .tool(slow(&gauge))
        .block_time(1000)
        .start()
        .await;
    let outcome = session
        .ends(
            "print('on')\nfrom tools import slow\nslow(x=1)\nprint('off')",
            interrupted(1000),
        )
        .await;
    assert_eq!(outcome.stdout.text, "on\n");
    assert!(
        outcome.took < Duration::from_millis(2900),
        "{:?}",
        outcome.took
    );
    let calls: Vec<_> = outcome
        .calls
        .iter()
        .map(|call| (call.tool.as_str(), call.ok))
        .collect();
    assert_eq!(calls, [("slow", false)]);
    assert_eq!((gauge.total(), gauge.now(), gauge.completed()), (1, 0, 0));
    session.close().await;
}

#[tokio::test]
async fn c09_a_calls_own_limit_is_named_and_the_block_goes_on() {
    let gauge = Gauge::default();
    let limits = crate::support::quick().with_call_time(Some(Duration::from_millis(500)));
    let mut session = Setup::new().tool(slow(&gauge)).limits(limits).start().await;
    let program = "
        from tools import slow, ToolError
        try:
            slow(x=1)
        except ToolError as error:
            print(error.error_type, '|', error)
        ";
    assert_eq!(
        session.prints(program).await,
        "TimeoutError | TimeoutError: tool `slow` ran for longer than its limit of 0.5 s\n"
    );
    assert_eq!((gauge.now(), gauge.completed()), (0, 0));
    session.close().await;
}

#[tokio::test]
async fn processor_time_of_all_processes_counts_and_waiting_does_not() {
    let limits = crate::support::quick().with_cpu_time(Some(Duration::from_millis(600)));
    let mut session = Setup::new().limits(limits).start().await;
    session.run("kept = 1\nimport time; time.sleep(1.5)").await;
    let cpu = Ending::Interrupted {
        reason: StopReason::CpuLimit(Duration::from_millis(600)),
    };
    for program in [
        "while True: pass",
        "import subprocess\nsubprocess.run(['python3', '-c', 'while True: pass'])",
    ] {
        let outcome = session.ends(program, cpu.clone()).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(message(&outcome), @"The code was stopped because it used more processor time than its limit of 0.6 s. Its output so far is shown. Variables and files are kept. Do not simply run it again: check first which of its effects took place.");
        }
    }
    assert_eq!(session.prints("print(kept)").await, "1\n");
    session.close().await;
}

#[tokio::test]
async fn what_does_not_stop_is_killed_after_the_grace_and_told_as_lost() {
    let limits = crate::support::quick()
        .with_block_time(Duration::from_millis(500))
        .with_grace(Duration::from_millis(1500));
    let mut session = Setup::new().limits(limits).start().await;
    let reason = StopReason::TimeLimit(Duration::from_millis(500));
    let lost = |cause| Ending::SandboxLost {
        cause,
        started: Started::MayHaveRun,
    };
    let programs = [
        (
            "a loop in C",
            "import itertools\nprint('on', flush=True)\nsum(itertools.repeat(0))",
        ),
        (
            "a blocked signal",
            "import signal\nprint('on')\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\nwhile True: pass",
        ),
        (
            "a loop that swallows everything",
            "import time\nprint('on')\nwhile True:\n    try:\n        while True: time.sleep(1)\n    except BaseException: pass",
        ),
        (
            "a stopped interpreter",
            "import os, signal, subprocess\nprint('on', flush=True)\nsubprocess.Popen(['sh', '-c', f'kill -STOP {os.getpid()}']).wait()\nwhile True: pass",
        ),
    ];
    for (what, program) in programs {
        let outcome = session
            .ends(program, lost(LossCause::NotStopped(reason)))
            .await;
        assert_eq!(
            (outcome.stdout.text.as_str(), outcome.state),
            ("on\n", BlockState::Lost),
            "{what}"
        );
        assert!(
            outcome.took < Duration::from_millis(3500),
            "{what}: {:?}",
            outcome.took
        );
        insta::allow_duplicates! {
            insta::assert_snapshot!(message(&outcome), @"The sandbox was lost: the code was to be stopped because it ran for longer than its time limit of 0.5 s, and did not stop. Variables and files are lost; the next block starts afresh. Do not simply run it again: check first which of its effects took place.");
        }
    }
    let threads = "
        import threading, time
        def work():
            while True:
                try:
                    time.sleep(0.1)
                except BaseException:
                    pass
        threading.Thread(target=work).start()
        print('on')
        time.sleep(60)
        ";
    let outcome = session
        .ends(threads, lost(LossCause::WorkLeft(reason)))
        .await;
    assert_eq!(outcome.stdout.text, "on\n");
    insta::assert_snapshot!(message(&outcome), @"The sandbox was lost: the code was stopped because it ran for longer than its time limit of 0.5 s, and threads that it had started went on. Variables and files are lost; the next block starts afresh. Do not simply run it again: check first which of its effects took place.");
    assert_eq!(session.prints("print('fresh')").await, "fresh\n");
    session.close().await;
}
