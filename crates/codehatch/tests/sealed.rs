//! Programs in the local sandbox, from end to end. Need Python 3.9 or newer and user namespaces.
#![cfg(all(target_os = "linux", feature = "local", feature = "function"))]
#![expect(clippy::unwrap_used, reason = "a failed setup must fail its test")]

use std::time::{Duration, Instant};

use codehatch::{
    BlockOutcome, BlockState, Builder, Ending, Engine, LossCause, ResultValue, TurnLimits,
    function::FunctionTool, runtime::Exit,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// Gives its argument back.
#[derive(Deserialize, JsonSchema)]
struct Echo {
    v: serde_json::Value,
}

async fn engine(limits: TurnLimits) -> Engine {
    let echo = FunctionTool::plain("echo", |Echo { v }| Ok::<_, String>(v));
    let refuse = FunctionTool::plain("refuse", |Echo { v }| Err::<(), _>(format!("not {v}")));
    Builder::new()
        .tool(echo)
        .tool(refuse)
        .limits(limits)
        .build()
        .await
        .unwrap()
}

async fn run(blocks: &[&str], limits: TurnLimits) -> Vec<BlockOutcome> {
    let engine = engine(limits).await;
    let mut turn = engine.turn();
    let mut outcomes = Vec::new();
    for block in blocks {
        outcomes.push(turn.execute(*block).await);
    }
    turn.close().await;
    engine.close().await;
    outcomes
}

fn value(outcome: &BlockOutcome) -> String {
    match &outcome.result {
        Some(ResultValue::Json { value, .. }) => value.get().to_owned(),
        other => format!("{other:?}; {:?}: {}", outcome.ending, outcome.stderr.text),
    }
}

/// What each expression gives, in one turn.
async fn values(blocks: &[&str]) -> Vec<String> {
    let outcomes = run(blocks, TurnLimits::default()).await;
    outcomes.iter().map(value).collect()
}

#[tokio::test]
async fn loops_over_tools_and_keeps_globals() {
    let got = values(&[
        "from tools import echo\ntotal = 0\nfor i in range(100):\n    total += echo(v=i)",
        "total",
        "echo(v=2**62)",
        "from tools import refuse, ToolError\ntry:\n    refuse(v=1)\nexcept ToolError as e:\n    text = str(e)\n'not 1' in text",
    ])
    .await;
    assert_eq!(got[1..], ["4950", "4611686018427387904", "true"]);
}

#[tokio::test]
async fn threads_and_tasks_each_get_their_own_answer() {
    let got = values(&[
        "from concurrent.futures import ThreadPoolExecutor\nfrom tools import echo\nwith ThreadPoolExecutor(16) as pool:\n    got = list(pool.map(lambda i: echo(v=i), range(400)))\ngot == list(range(400))",
        "import asyncio\ngot = await asyncio.gather(*(echo.aio(v=i) for i in range(50)))\ngot == list(range(50))",
    ])
    .await;
    assert_eq!(got, ["true", "true"]);
}

#[tokio::test]
async fn reaches_nothing_of_the_host() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    let read = format!(
        "import os\nos.path.exists({:?}), os.path.exists('/etc/passwd'), os.path.exists('/root')",
        secret.path()
    );
    let got = values(&[
        &read,
        "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 22), 1)\n    out = 'connected'\nexcept OSError as e:\n    out = 'refused'\nout",
        "import os\n[p for p in os.listdir('/proc') if p.isdigit() and int(p) > 50]",
        "try:\n    open('/opt/codehatch/x', 'w')\n    out = 'written'\nexcept OSError:\n    out = 'refused'\nout",
        "[k for k in os.environ if 'TOKEN' in k or 'CARGO' in k]",
        "open('/proc/self/status').read().split('CapEff:')[1].split()[0]",
    ])
    .await;
    assert!(
        got[0].starts_with("[false") || got[0].contains("false"),
        "{}",
        got[0]
    );
    assert!(
        !got[0].contains("(True") && !got[0].starts_with("[true"),
        "{}",
        got[0]
    );
    assert_eq!(
        got[1..],
        [
            "\"refused\"",
            "[]",
            "\"refused\"",
            "[]",
            "\"0000000000000000\""
        ]
    );
}

#[tokio::test]
async fn an_endless_loop_is_interrupted_and_its_state_kept() {
    let limits = TurnLimits::default().with_block_time(Duration::from_millis(600));
    let begin = Instant::now();
    let got = run(&["x = 5\nwhile True: pass", "x"], limits).await;
    assert!(
        matches!(got[0].ending, Ending::Interrupted { .. }),
        "{:?}",
        got[0].ending
    );
    assert_eq!(got[0].state, BlockState::Kept);
    assert_eq!(value(&got[1]), "5");
    assert!(begin.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_killed_interpreter_is_said_and_the_turn_goes_on_afresh() {
    let got = run(
        &[
            "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
            "'x' in globals()",
        ],
        TurnLimits::default(),
    )
    .await;
    let Ending::SandboxLost { cause, .. } = &got[0].ending else {
        panic_with(&got[0]);
    };
    assert!(
        matches!(cause, LossCause::Exit(Exit::Signaled { signal: 9 })),
        "{cause:?}"
    );
    assert_eq!(got[0].state, BlockState::Lost);
    assert_eq!(value(&got[1]), "false");
}

#[expect(clippy::panic, reason = "a test's failure")]
fn panic_with(outcome: &BlockOutcome) -> ! {
    panic!("{:?}: {}", outcome.ending, outcome.stderr.text)
}

#[tokio::test]
async fn output_is_captured_at_the_descriptors_and_capped() {
    let got = run(
        &[
            "import os, subprocess, sys\nos.write(1, b'raw\\n')\nprint('py')\nsubprocess.run([sys.executable, '-c', 'print(\"child\")'])\nsys.stdout.close()\nos.write(2, b'err')",
            "print('y' * 5_000_000)",
            "print('\\ud800')",
            "import sys; sys.exit(3)",
        ],
        TurnLimits::default(),
    )
    .await;
    for word in ["raw", "py", "child"] {
        assert!(
            got[0].stdout.text.contains(word),
            "{:?}",
            got[0].stdout.text
        );
    }
    assert!(got[0].stderr.text.contains("err"));
    assert!(got[1].is_success());
    assert!(got[1].stdout.text.len() < 60_000);
    assert!(got[2].is_success(), "{:?}", got[2].ending);
    assert!(
        matches!(got[3].ending, Ending::Completed { exit_code: 3 }),
        "{:?}",
        got[3].ending
    );
}

#[tokio::test]
async fn nothing_is_left_after_turns() {
    let engine = engine(TurnLimits::default()).await;
    let children = || {
        let tasks = format!(
            "/proc/{}/task/{}/children",
            std::process::id(),
            std::process::id()
        );
        std::fs::read_to_string(tasks)
            .unwrap()
            .split_whitespace()
            .count()
    };
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mounts = || std::fs::read_to_string("/proc/self/mounts").unwrap();
    let mut before = None;
    for round in 0..60 {
        let mut turn = engine.turn();
        let outcome = turn.execute("import os\nif os.fork() == 0:\n    os.setsid()\n    import time\n    time.sleep(100)\nopen('f', 'w').write('x')\n1").await;
        assert!(
            outcome.is_success(),
            "{:?}: {}",
            outcome.ending,
            outcome.stderr.text
        );
        turn.close().await;
        if round == 20 {
            tokio::time::sleep(Duration::from_millis(300)).await;
            before = Some((children(), descriptors(), mounts()));
        }
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (children_before, descriptors_before, mounts_before) = before.unwrap();
    assert!(children() <= children_before);
    assert!(
        descriptors() <= descriptors_before + 2,
        "{} then {}",
        descriptors_before,
        descriptors()
    );
    assert_eq!(mounts(), mounts_before);
    engine.close().await;
}
