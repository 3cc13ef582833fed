//! A program that speaks to the host itself, in the guest's place.

use std::time::{Duration, Instant};

use codehatch::{BlockState, Ending, LossCause, Started, StopReason};

use crate::support::{
    Session, Setup,
    alone::alone,
    host, json, quick,
    tools::{self, Gauge},
};

/// How a program reaches the control channel.
const REACH: &str = "
    import json, os, resource, time
    hatch = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    def say(line):
        data = line if isinstance(line, bytes) else line.encode()
        data += b'\\n'
        while data:
            data = data[os.write(hatch, data):]
    def frame(**fields):
        say(json.dumps(fields))
    from tools import echo
    ";

async fn session() -> Session {
    reaching(Setup::new()).await
}

async fn reaching(setup: Setup) -> Session {
    let mut session = setup.tool(tools::echo()).start().await;
    session.run(REACH).await;
    session
}

#[tokio::test]
async fn lines_that_are_no_frames_of_a_guest_change_nothing() {
    let mut session = session().await;
    let program = "
        for line in (
            '', ' ', '{', '[]', 'null', '5', '\"x\"', '{}', '{\"kind\": 5}', '{\"kind\": \"unknown\"}',
            b'\\xff\\xfe', b'{\"kind\": \"log\", \"msg\": \"\\xff\"}', b'\\0\\0', '[' * 100_000, '{\"a\":' * 50_000,
            '{\"kind\": \"log\", \"kind\": \"done\"', '{\"kind\":\"log\",\"level\":7,\"msg\":{}}',
            '1' * 100_000, '{\"kind\": \"tool_call\"}', '{\"kind\":\"done\",\"exit_code\":\"a\"',
        ):
            say(line)
        frame(kind='tool_result', id='zz', ok=True, value='forged')
        frame(kind='run', code='print(1)')
        frame(kind='interrupt', message='x')
        frame(kind='shutdown')
        frame(kind='log', level='error', msg='x' * 100_000)
        frame(kind='log', level='\\x1b[31m', msg='\\x1b]0;title\\x07')
        echo(x=1)
        ";
    let outcome = session.run(program).await;
    let answered = outcome.calls.iter().filter(|call| call.ok).count();
    assert_eq!((json(&outcome), answered), (r#"{"x":1}"#, 1));
    assert_eq!(
        (outcome.stdout.text.as_str(), outcome.stderr.text.as_str()),
        ("", "")
    );
    assert_eq!(json(&session.run("echo(x=2)").await), r#"{"x":2}"#);
    session.close().await;
}

#[tokio::test]
async fn calls_with_odd_ids_harm_nobody_elses_calls() {
    let mut session = session().await;
    let program = "
        for id in (None, 5, True, [], {}, '', 'x' * 5000, '\\ud800', '\\n', '999999999999999999999'):
            frame(kind='tool_call', id=id, name='echo', args={'forged': 1})
        frame(kind='tool_call', name='echo', args={})
        for args in (None, [], 'x', 5):
            frame(kind='tool_call', id='a', name='echo', args=args)
        for limit in (-1, 0, 1e308, 'x', [], True):
            frame(kind='tool_call', id='b', name='echo', args={}, timeout=limit)
        for name in (None, 5, '', 'x' * 5000, 'echo ', 'ECHO', '\\uff45cho', '__init__', '../echo'):
            frame(kind='tool_call', id='c', name=name, args={})
        [echo(x=i)['x'] for i in range(100)]
        ";
    let outcome = session.run(program).await;
    let expected: Vec<String> = (0..100).map(|i| i.to_string()).collect();
    assert_eq!(json(&outcome), format!("[{}]", expected.join(",")));
    let names: Vec<&str> = outcome
        .calls
        .iter()
        .filter(|call| call.ok)
        .map(|call| &*call.tool)
        .collect();
    assert!(names.iter().all(|name| *name == "echo"), "{names:?}");
    session.close().await;
}

#[tokio::test]
async fn a_forged_end_is_the_end_of_its_own_block_at_most() {
    let mut session = session().await;
    session.run("x = 1").await;
    for exit_code in ["0", "3", "true", "-1", "1000000000000000000000000000000"] {
        // The guest itself goes on to its own end.
        let forged = format!(
            "say('{{\"kind\":\"done\",\"exit_code\":{exit_code},\"background_work\":false}}')\ntime.sleep(0.2)\nprint('late')"
        );
        let outcome = session.outcome(&forged).await;
        assert!(
            matches!(outcome.ending, Ending::Completed { .. }),
            "{:?}",
            outcome.ending
        );
        // What comes next is told truly: it ran and gave its own result, or is said not to have.
        for round in 0..3 {
            let outcome = session
                .outcome(&format!(
                    "result = {round} + 100\nprint('own', result)\nresult"
                ))
                .await;
            assert_eq!(outcome.ending, Ending::Completed { exit_code: 0 });
            assert!(
                outcome
                    .stdout
                    .text
                    .ends_with(&format!("own {}\n", round + 100)),
                "{exit_code}: {outcome:?}"
            );
            assert_eq!(json(&outcome), (round + 100).to_string(), "{exit_code}");
        }
        session.run(REACH).await;
    }
    session.close().await;
}

#[tokio::test]
async fn a_forged_greeting_changes_nothing() {
    let mut session = session().await;
    session.run("x = 1").await;
    for version in ["99", "1", "-1", "true", "\"4\"", "1e9"] {
        let program = format!(
            "say('{{\"kind\":\"ready\",\"protocol_version\":{version},\"python_version\":\"9\"}}')\necho(x)\nprint('on')"
        );
        let outcome = session.run(&program.replace("echo(x)", "echo(x=x)")).await;
        assert_eq!(
            (outcome.stdout.text.as_str(), outcome.state),
            ("on\n", BlockState::Kept),
            "{version}"
        );
    }
    assert_eq!(session.prints("print(x)").await, "1\n");
    session.close().await;
}

#[tokio::test]
async fn forged_output_is_output_and_forged_images_are_counted() {
    let mut session = session().await;
    let program = "
        frame(kind='output', stdout='forged', stderr='forged', exit_code=0)
        frame(kind='chunk', stream='stdout', data='chunk')
        frame(kind='chunk', stream='other', data='chunk')
        for _ in range(100_000):
            say('{\"kind\":\"image\",\"mime_type\":\"image/png\",\"data\":\"!!\"}')
        for _ in range(100):
            frame(kind='image', mime_type='image/png', data='AAAA')
        frame(kind='image', mime_type='text/html', data='AAAA')
        print('on')
        ";
    let outcome = session.run(program).await;
    assert_eq!(outcome.stdout.text, "forgedchunkon\n");
    assert_eq!(outcome.images.len(), 16);
    assert!(
        outcome.stderr.text.len() < 1000,
        "{} bytes",
        outcome.stderr.text.len()
    );
    session.close().await;
}

/// Runs a program that floods the host, and checks what that costs.
fn floods(
    test: &str,
    setup: impl FnOnce() -> Setup,
    program: &str,
    megabytes: u64,
    ends: impl Fn(&Ending) -> bool,
) {
    alone(test, async {
        let mut session = reaching(setup()).await;
        session.run("echo(x=1)").await;
        let before = host::peak_memory();
        let began = Instant::now();
        let outcome = session.outcome(program).await;
        let used = host::peak_memory().saturating_sub(before) >> 20;
        assert!(
            ends(&outcome.ending),
            "{:?} {}",
            outcome.ending,
            outcome.stderr.text
        );
        assert!(used <= megabytes, "{used} MiB after {:?}", began.elapsed());
        assert!(
            outcome.calls.len() <= 10_000,
            "{} records",
            outcome.calls.len()
        );
        assert_eq!(session.run("print('next')").await.stdout.text, "next\n");
        session.close().await;
    });
}

fn completed(ending: &Ending) -> bool {
    *ending == Ending::Completed { exit_code: 0 }
}

/// Stopped at the time limit, in whichever way.
fn stopped(ending: &Ending) -> bool {
    matches!(
        ending,
        Ending::Interrupted {
            reason: StopReason::TimeLimit(_)
        } | Ending::SandboxLost {
            cause: LossCause::NotStopped(_),
            started: Started::MayHaveRun
        }
    )
}

fn brief() -> Setup {
    let limits = quick()
        .with_block_time(Duration::from_secs(2))
        .with_grace(Duration::from_millis(1500));
    Setup::new().limits(limits)
}

#[test]
fn a_line_over_the_limit_is_passed_over_and_costs_no_memory() {
    let setup = || Setup::new().limits(quick().with_frame_bytes(1 << 20));
    let program = "part = b'x' * (1 << 20)\nfor _ in range(200):\n    os.write(hatch, part)\nsay('')\necho(x=1)";
    floods(
        "hostile::a_line_over_the_limit_is_passed_over_and_costs_no_memory",
        setup,
        program,
        16,
        completed,
    );
}

#[test]
fn a_line_that_never_ends_is_stopped_at_the_time_limit() {
    let setup = || {
        brief().limits(
            quick()
                .with_frame_bytes(1 << 20)
                .with_block_time(Duration::from_secs(2))
                .with_grace(Duration::from_millis(1500)),
        )
    };
    floods(
        "hostile::a_line_that_never_ends_is_stopped_at_the_time_limit",
        setup,
        "part = b'x' * (1 << 16)\nwhile True:\n    os.write(hatch, part)",
        16,
        stopped,
    );
}

#[test]
fn a_flood_of_calls_whose_answers_nobody_reads_stops_the_guest_and_not_the_host() {
    floods(
        "hostile::a_flood_of_calls_whose_answers_nobody_reads_stops_the_guest_and_not_the_host",
        brief,
        "part = json.dumps({'kind': 'tool_call', 'id': '1', 'name': 'echo', 'args': {'x': 'y' * 10_000}}).encode() + b'\\n'\nwhile True:\n    os.write(hatch, part)",
        32,
        stopped,
    );
}

#[test]
fn a_flood_of_calls_leaves_no_more_records_than_are_of_use() {
    // The answers are read, so that nothing holds the flood up.
    let program = "
        import threading
        def read():
            while True:
                os.read(hatch, 1 << 20)
        threading.Thread(target=read, daemon=True).start()
        part = (json.dumps({'kind': 'tool_call', 'id': '1', 'name': 'n' * 180, 'args': {}}) + '\\n').encode() * 100
        end = time.monotonic() + 60
        while time.monotonic() < end:
            os.write(hatch, part)
        ";
    floods(
        "hostile::a_flood_of_calls_leaves_no_more_records_than_are_of_use",
        brief,
        &crate::support::session::python(program),
        32,
        stopped,
    );
}

#[test]
fn a_flood_of_log_lines_and_malformed_frames_costs_nothing() {
    let program = "
        for _ in range(20_000):
            os.write(hatch, b'{\"kind\":\"log\",\"level\":\"info\",\"msg\":\"x\"}\\n{\"kind\":5}\\nnonsense\\n\\n{\"kind\":\"done\"\\n')
        echo(x=1)
        ";
    floods(
        "hostile::a_flood_of_log_lines_and_malformed_frames_costs_nothing",
        Setup::new,
        &crate::support::session::python(program),
        16,
        completed,
    );
}

#[tokio::test]
async fn a_guest_that_hangs_up_is_lost_and_not_waited_for() {
    let mut session = session().await;
    let program = "
        import socket
        s = socket.socket(fileno=os.dup(hatch))
        s.shutdown(socket.SHUT_RDWR)
        time.sleep(60)
        ";
    let outcome = session.outcome(program).await;
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
    assert_eq!(outcome.state, BlockState::Lost);
    assert!(outcome.took < Duration::from_secs(5), "{:?}", outcome.took);
    insta::assert_snapshot!(crate::support::message(&outcome), @"The sandbox was lost: its connection was closed. Variables and files are lost; the next block starts afresh. Do not simply run it again: check first which of its effects took place.");
    assert_eq!(session.prints("print('x' in globals())").await, "False\n");
    session.close().await;
}

#[tokio::test]
async fn a_guest_that_reads_slowly_holds_up_nobody_else() {
    let gauge = Gauge::default();
    let mut slow = Setup::new()
        .tool(tools::echo())
        .tool(tools::echo_after(&gauge))
        .start()
        .await;
    slow.run(REACH).await;
    let mut other = slow.another();
    other.run("from tools import echo").await;
    let flood = "
        for i in range(200):
            os.write(hatch, json.dumps({'kind': 'tool_call', 'id': 'x', 'name': 'echo', 'args': {'x': 'y' * 100_000}}).encode() + b'\\n')
        ";
    let mut execution = slow.turn.execute(crate::support::session::python(flood));
    let began = Instant::now();
    tokio::select! {
        () = async { while execution.next_event().await.is_some() {} } => {}
        () = async {
            for _ in 0..50 {
                other.run("echo(x=1)").await;
            }
        } => {}
    }
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    drop(execution);
    other.turn.close().await;
    slow.close().await;
}
