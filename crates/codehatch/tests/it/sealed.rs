//! The sandbox as a program meets it: tools in loops, nothing of the host, streams that hold whatever is done to them.

use codehatch::{BlockState, Ending, function::FunctionTool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::support::{Session, Setup, json};

/// Gives its argument back.
#[derive(Deserialize, JsonSchema)]
struct Echo {
    v: serde_json::Value,
}

/// A session with tools that are plain Rust functions.
async fn session() -> Session {
    let echo = FunctionTool::plain("echo", |Echo { v }| Ok::<_, String>(v));
    let refuse = FunctionTool::plain("refuse", |Echo { v }| Err::<(), _>(format!("not {v}")));
    Setup::new().tool(echo).tool(refuse).start().await
}

/// What each expression gives, in one turn.
async fn values(session: &mut Session, blocks: &[&str]) -> Vec<String> {
    let mut values = Vec::new();
    for block in blocks {
        values.push(json(&session.run(block).await).to_owned());
    }
    values
}

#[tokio::test]
async fn loops_over_tools_and_keeps_globals() {
    let mut session = session().await;
    session
        .run("from tools import echo\ntotal = 0\nfor i in range(100):\n    total += echo(v=i)")
        .await;
    let got = values(
        &mut session,
        &[
            "total",
            "echo(v=2**62)",
            "from tools import refuse, ToolError\ntry:\n    refuse(v=1)\nexcept ToolError as e:\n    text = str(e)\n'not 1' in text",
        ],
    )
    .await;
    assert_eq!(got, ["4950", "4611686018427387904", "true"]);
    session.close().await;
}

#[tokio::test]
async fn threads_and_tasks_each_get_their_own_answer() {
    let mut session = session().await;
    let got = values(
        &mut session,
        &[
            "from concurrent.futures import ThreadPoolExecutor\nfrom tools import echo\nwith ThreadPoolExecutor(16) as pool:\n    got = list(pool.map(lambda i: echo(v=i), range(400)))\ngot == list(range(400))",
            "import asyncio\ngot = await asyncio.gather(*(echo.aio(v=i) for i in range(50)))\ngot == list(range(50))",
        ],
    )
    .await;
    assert_eq!(got, ["true", "true"]);
    session.close().await;
}

#[tokio::test]
async fn reaches_nothing_of_the_host() {
    let secret = tempfile::NamedTempFile::new().expect("a file of the host");
    let read = format!(
        "import os\n[os.path.exists(path) for path in ({:?}, '/root', '/home', '/etc/shadow')]",
        secret.path()
    );
    let mut session = session().await;
    let got = values(
        &mut session,
        &[
            &read,
            "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 22), 1)\n    out = 'connected'\nexcept OSError as e:\n    out = 'refused'\nout",
            "[p for p in os.listdir('/proc') if p.isdigit() and int(p) > 50]",
            "try:\n    open('/opt/codehatch/x', 'w')\n    out = 'written'\nexcept OSError:\n    out = 'refused'\nout",
            "[k for k in os.environ if 'TOKEN' in k or 'CARGO' in k]",
            "open('/proc/self/status').read().split('CapEff:')[1].split()[0]",
            // The only users that there are.
            "open('/etc/passwd').read()",
        ],
    )
    .await;
    assert_eq!(
        got,
        [
            "[false,false,false,false]",
            "\"refused\"",
            "[]",
            "\"refused\"",
            "[]",
            "\"0000000000000000\"",
            "\"user:x:1000:1000:user:/tmp/home:/bin/sh\\n\""
        ]
    );
    session.close().await;
}

#[tokio::test]
async fn what_an_interrupted_block_has_set_is_kept() {
    let mut session = Setup::new().block_time(600).start().await;
    let outcome = session.outcome("x = 5\nwhile True: pass").await;
    assert!(
        matches!(outcome.ending, Ending::Interrupted { .. }),
        "{:?}",
        outcome.ending
    );
    assert_eq!(outcome.state, BlockState::Kept);
    assert_eq!(json(&session.run("x").await), "5");
    session.close().await;
}

#[tokio::test]
async fn output_is_captured_at_the_descriptors_and_capped() {
    let mut session = Session::new().await;
    let raw = "import os, subprocess, sys\nos.write(1, b'raw\\n')\nprint('py')\nsubprocess.run([sys.executable, '-c', 'print(\"child\")'])\nsys.stdout.close()\nos.write(2, b'err')";
    let outcome = session.run(raw).await;
    assert_eq!(
        (outcome.stdout.text.as_str(), outcome.stderr.text.as_str()),
        ("raw\npy\nchild\n", "err")
    );
    let outcome = session.run("print('y' * 5_000_000)").await;
    assert!(outcome.stdout.text.len() < 60_000);
    assert_eq!(outcome.stdout.bytes, 5_000_001);
    assert_eq!(session.prints("print('\\ud800')").await, "\\ud800\n");
    session
        .ends(
            "import sys; sys.exit(3)",
            Ending::Completed { exit_code: 3 },
        )
        .await;
    session.close().await;
}
