//! Rows 44 to 49: a program that speaks to the host itself, in the guest's place.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use codehatch_engine::{
    BlockOutcome, BlockState, Ending, LossCause, ResultValue, Started, StopReason, TurnLimits,
};
use codehatch_function::FunctionTool;
use serde_json::json;

use crate::support::{Session, Setup, alone::alone, block_on, host, session::quick};

/// How a program reaches the control channel: its number is the limit on open files.
const REACH: &str = "
    import array, json, os, pickle, resource, socket, sys, time
    from tools import echo
    hatch = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    def say(line):
        data = (line if isinstance(line, bytes) else line.encode()) + b'\\n'
        while data:
            data = data[os.write(hatch, data):]
    def frame(**fields):
        say(json.dumps(fields))
    ";

/// Gives its arguments back, and counts how often.
fn echo(count: &Arc<AtomicUsize>) -> FunctionTool {
    let count = Arc::clone(count);
    let schema = json!({"type": "object", "additionalProperties": true});
    FunctionTool::raw("echo", schema, move |args| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok(args) }
    })
}

async fn reaching(limits: TurnLimits) -> (Session, Arc<AtomicUsize>) {
    let count = Arc::default();
    let setup = Setup::own(|local| local).tool(echo(&count)).limits(limits);
    let mut session = setup.start().await;
    session.run(REACH).await;
    (session, count)
}

/// Stopped soon, since it does not end by itself.
fn brief() -> TurnLimits {
    quick()
        .with_block_time(Duration::from_millis(1200))
        .with_grace(Duration::from_millis(800))
}

fn json_of(outcome: &BlockOutcome) -> &str {
    match &outcome.result {
        Some(ResultValue::Json { value, .. }) => value.get(),
        other => panic!("no JSON result: {other:?} {:?}", outcome.ending),
    }
}

/// The turn goes on as if nothing had been: values are there, calls are answered.
async fn goes_on(session: &mut Session) {
    let outcome = session.run("[echo(x=i)['x'] for i in range(5)]").await;
    assert_eq!(json_of(&outcome), "[0,1,2,3,4]");
}

#[test]
fn t44_forged_truncated_and_replayed_frames_change_nothing() {
    block_on(async {
        let (mut session, count) = reaching(quick()).await;
        let program = "
            for line in ('', '{', '[]', 'null', '{}', '{\"kind\": 5}', '{\"kind\": \"unknown\"}', b'\\xff\\xfe', b'\\0',
                         '{\"kind\": \"tool_call\"', '{\"kind\": \"tool_call\"}', '{\"kind\":\"done\",\"exit_code\":\"a\"'):
                say(line)
            frame(kind='run', code='print(1)')
            frame(kind='shutdown')
            frame(kind='ready', protocol_version=99, python_version='9')
            frame(kind='interrupt', message='x')
            frame(kind='tool_result', id='zz', ok=True, value='forged')
            # The same call again and again: each is a call of its own, and none is answered for another.
            for _ in range(3):
                frame(kind='tool_call', id='replayed', name='echo', args={'forged': True})
            [echo(x=i)['x'] for i in range(50)]
            ";
        let outcome = session.run(program).await;
        let numbers: Vec<String> = (0..50).map(|number| number.to_string()).collect();
        assert_eq!(json_of(&outcome), format!("[{}]", numbers.join(",")));
        assert_eq!((&*outcome.stdout.text, &*outcome.stderr.text), ("", ""));
        assert_eq!(count.load(Ordering::SeqCst), 53);
        goes_on(&mut session).await;
        session.close().await;
    });
}

#[test]
fn t44_ids_of_another_session_reach_nothing_of_it() {
    block_on(async {
        let (mut attacker, _) = reaching(quick()).await;
        let mut victim = attacker.another();
        victim.run("from tools import echo").await;
        let forge = "
            for number in range(2000):
                for id in (number, str(number)):
                    frame(kind='tool_result', id=id, ok=True, value='forged')
                    frame(kind='done', id=id, exit_code=9)
            ";
        let use_tools = "[echo(x=i)['x'] for i in range(300)] == list(range(300))";
        let (_, outcome) = tokio::join!(attacker.outcome(forge), victim.outcome(use_tools));
        assert_eq!(json_of(&outcome), "true");
        victim.turn.close().await;
        attacker.close().await;
    });
}

/// By how many MiB the host's memory grows while it reads a line of 128 MiB.
async fn growth_by_a_long_line(frame_bytes: usize) -> u64 {
    let (mut session, _) = reaching(quick().with_frame_bytes(frame_bytes)).await;
    let before = host::peak_memory();
    let program = "
        part = b'x' * (1 << 20)
        for _ in range(128):
            sent = 0
            while sent < len(part):
                sent += os.write(hatch, part[sent:])
        say('')
        ";
    session.run(program).await;
    let growth = host::peak_memory() - before;
    goes_on(&mut session).await;
    session.close().await;
    growth
}

#[test]
fn t44_a_line_over_the_limit_costs_the_host_no_memory() {
    alone(
        "channel::t44_a_line_over_the_limit_costs_the_host_no_memory",
        async {
            let growth = growth_by_a_long_line(1 << 20).await;
            assert!(growth <= 16, "{growth} MiB");
            // It is the limit that makes it so.
            let growth = growth_by_a_long_line(256 << 20).await;
            assert!(growth >= 100, "{growth} MiB");
        },
    );
}

#[test]
fn t45_descriptors_that_are_sent_along_never_arrive() {
    alone(
        "channel::t45_descriptors_that_are_sent_along_never_arrive",
        async {
            let (mut session, _) = reaching(brief()).await;
            let open = || fs::read_dir("/proc/self/fd").expect("descriptors").count();
            let before = open();
            let program = "
                to_host = socket.socket(fileno=os.dup(hatch))
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0] * 200))]
                for _ in range(500):
                    try:
                        to_host.sendmsg([b'\\n'], rights)
                    except OSError:
                        time.sleep(0.001)
                to_host.detach()
                ";
            // However that ends for the block: a read ends at each message with descriptors, so its own end may be late.
            let outcome = session.outcome(program).await;
            let now = open();
            assert!(now <= before + 4, "{before} descriptors, then {now}");
            assert!(outcome.took < Duration::from_secs(5), "{:?}", outcome.took);
            let mut next = session.another();
            session.turn.close().await;
            assert_eq!(next.attack("print('next')").await, ["next"]);
            next.turn.close().await;
            next.engine.close().await;
        },
    );
}

#[test]
fn t46_a_guest_that_never_reads_is_stopped_and_costs_no_memory() {
    alone(
        "channel::t46_a_guest_that_never_reads_is_stopped_and_costs_no_memory",
        async {
            let (mut session, _) = reaching(brief()).await;
            session.run("echo(x=1)").await;
            let before = host::peak_memory();
            let program = "
                part = json.dumps({'kind': 'tool_call', 'id': '1', 'name': 'echo', 'args': {'x': 'y' * 10_000}}).encode() + b'\\n'
                while True:
                    os.write(hatch, part)
                ";
            let outcome = session.outcome(program).await;
            let growth = host::peak_memory() - before;
            assert!(
                matches!(
                    outcome.ending,
                    Ending::Interrupted { .. } | Ending::SandboxLost { .. }
                ),
                "{:?}",
                outcome.ending
            );
            assert!(growth <= 32, "{growth} MiB");
            assert_eq!(session.attack("print('next')").await, ["next"]);
            session.close().await;
        },
    );
}

#[test]
fn t46_a_guest_that_dribbles_bytes_gains_no_time() {
    block_on(async {
        let (mut session, _) = reaching(brief()).await;
        let mut other = session.another();
        let program = "
            os.write(hatch, b'{\"kind\":')
            while True:
                os.write(hatch, b' ')
                time.sleep(0.1)
            ";
        let (outcome, beside) = tokio::join!(
            session.outcome(program),
            other.outcome("from tools import echo\necho(x=1)")
        );
        // What it has begun spoils the guest's own last line: nobody can tell how the block ended, and nobody does.
        let reason = StopReason::TimeLimit(Duration::from_millis(1200));
        let ending = Ending::SandboxLost {
            cause: LossCause::NotStopped(reason),
            started: Started::MayHaveRun,
        };
        assert_eq!((outcome.ending, outcome.state), (ending, BlockState::Lost));
        assert_eq!(json_of(&beside), r#"{"x":1}"#);
        assert!(beside.took < Duration::from_secs(1), "{:?}", beside.took);
        assert_eq!(session.attack("print('next')").await, ["next"]);
        other.turn.close().await;
        session.close().await;
    });
}

#[test]
fn t47_pickles_and_hostile_json_are_data_at_most() {
    block_on(async {
        let (mut session, _) = reaching(quick()).await;
        let program = "
            class Evil:
                def __reduce__(self):
                    return (os.system, ('touch /tmp/unpickled',))
            say(pickle.dumps(Evil()))
            deep = '{\"a\":' * 10_000 + '1' + '}' * 10_000
            for value in (deep, '[' * 10_000 + ']' * 10_000, '[' * 100_000, '9' * 100_000, '1e999999', '-1e999999',
                          '\"\\\\ud800\"', '\"\\\\udfff\\\\ud800\"', 'NaN', 'Infinity', '-0', '1' + '0' * 400):
                say('{\"kind\":\"tool_call\",\"id\":\"h\",\"name\":\"echo\",\"args\":{\"v\":' + value + '}}')
                say('{\"kind\":\"log\",\"level\":\"info\",\"msg\":' + value + '}')
            ";
        session.run(program).await;
        goes_on(&mut session).await;
        for value in [
            "x = []\nfor _ in range(10_000): x = [x]\nx",
            "10 ** 5000",
            "float('inf')",
            "[float('nan'), -0.0]",
            "'\\ud800'",
            "{'\\udfff': '\\ud800'}",
            "type('Evil', (), {'__reduce__': lambda self: (os.system, ('true',))})()",
        ] {
            let outcome = session.run(value).await;
            assert!(outcome.result.is_some(), "{value}: {outcome:?}");
        }
        goes_on(&mut session).await;
        session.close().await;
    });
}

#[test]
fn t48_faked_success_is_no_success_of_anything_else() {
    block_on(async {
        let (mut session, count) = reaching(quick()).await;
        // A call that was never made is none, whatever its result.
        let program = "
            for id in ('0', '1', 1):
                frame(kind='tool_result', id=id, ok=True, value='paid')
            ";
        let outcome = session.run(program).await;
        assert_eq!((outcome.calls.len(), count.load(Ordering::SeqCst)), (0, 0));
        // An end that is forged is that of its own block at most: its true one is not taken for the next one's.
        let program = "
            frame(kind='done', exit_code=0, background_work=False)
            time.sleep(0.2)
            raise ValueError('the truth')
            ";
        let outcome = session.outcome(program).await;
        assert!(
            matches!(outcome.ending, Ending::Completed { .. }),
            "{:?}",
            outcome.ending
        );
        let outcome = session.outcome("raise ValueError('told')").await;
        let told = outcome.stderr.text.contains("told");
        assert_eq!(
            (outcome.ending, told),
            (Ending::Completed { exit_code: 1 }, true)
        );
        assert_eq!(json_of(&session.run("40 + 2").await), "42");
        session.close().await;
    });
}

#[test]
fn t48_a_guest_that_hangs_up_has_not_succeeded() {
    block_on(async {
        let (mut session, _) = reaching(quick()).await;
        let program = "
            end = socket.socket(fileno=os.dup(hatch))
            end.shutdown(socket.SHUT_RDWR)
            time.sleep(60)
            ";
        let outcome = session.outcome(program).await;
        let Ending::SandboxLost { started, cause } = outcome.ending else {
            panic!("{:?}", outcome.ending);
        };
        assert_eq!(started, Started::MayHaveRun);
        assert!(!matches!(cause, LossCause::NotStopped(_)), "{cause:?}");
        assert!(outcome.took < Duration::from_secs(5), "{:?}", outcome.took);
        session.close().await;
    });
}

/// A flood of 96 MiB: what is shown of it, and by how many MiB the host's memory grows.
async fn flood_of_output(output_bytes: usize) -> (usize, u64) {
    let (mut session, _) = reaching(quick().with_output_bytes(output_bytes)).await;
    session.run("echo(x=1)").await;
    let before = host::peak_memory();
    let program = "
        part = 'x' * (1 << 20)
        for _ in range(96):
            sys.stdout.write(part)
            os.write(2, part.encode()[:4096])
        ";
    let outcome = session.run(program).await;
    let growth = host::peak_memory() - before;
    assert_eq!(
        (outcome.stdout.bytes, outcome.stderr.bytes),
        (96 << 20, 96 << 12)
    );
    session.close().await;
    (
        outcome.stdout.text.len().max(outcome.stderr.text.len()),
        growth,
    )
}

#[test]
fn t49_a_flood_of_output_is_cut_and_costs_no_memory() {
    alone(
        "channel::t49_a_flood_of_output_is_cut_and_costs_no_memory",
        async {
            let (shown, growth) = flood_of_output(50_000).await;
            assert!(
                shown < 60_000 && growth <= 16,
                "{shown} bytes, {growth} MiB"
            );
            // It is the limit that makes it so.
            let (shown, growth) = flood_of_output(128 << 20).await;
            assert!(
                shown == 96 << 20 && growth >= 90,
                "{shown} bytes, {growth} MiB"
            );
        },
    );
}

#[test]
fn t49_what_frames_say_does_not_become_the_hosts_own_words() {
    block_on(async {
        let (mut session, _) = reaching(quick()).await;
        let program = "
            frame(kind='log', level='\\x1b[31m', msg='\\x1b]0;title\\x07')
            frame(kind='output', stdout='\\x1b[2Jin its output\\n', stderr='')
            frame(kind='chunk', stream='elsewhere', data='nowhere')
            ";
        let outcome = session.run(program).await;
        assert_eq!(outcome.stdout.text, "\u{1b}[2Jin its output\n");
        assert_eq!((&*outcome.stderr.text, outcome.message()), ("", None));
        session.close().await;
    });
}
