//! A server's processes: their environment, and that none is left, however the end comes.

use std::{collections::BTreeMap, path::PathBuf, process::Stdio};

use codehatch_mcp::{HOST_VARIABLES, McpTransport};
use codehatch_tools::ToolProvider;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::support::{Fake, is_alive, provider, until, value};

/// Numbers of the server's process and of a child that it started, which ignores polite signals.
async fn family(provider: &codehatch_mcp::McpProvider) -> [u64; 2] {
    let pids = value(provider, "family", &json!({})).await;
    [&pids["server"], &pids["child"]].map(|pid| pid.as_u64().expect("a number"))
}

fn gone(pids: [u64; 2]) -> bool {
    !pids.into_iter().any(is_alive)
}

/// Open descriptors of this process.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux").count()
}

#[tokio::test]
async fn closing_leaves_no_process_and_no_descriptor() {
    // The runtime opens some of its own with the first child.
    for warm_up in [true, false] {
        let before = descriptors();
        let fake = Fake::new(json!({"start": {"ignores_term": true, "stays": false}}));
        let provider = fake.provider();
        let pids = family(&provider).await;
        provider.close().await;
        assert!(gone(pids), "{pids:?}");
        assert!(warm_up || descriptors() == before);
    }
}

#[tokio::test]
async fn a_server_that_will_not_leave_is_killed() {
    let fake = Fake::new(json!({"start": {"ignores_term": true, "stays": true}}));
    let provider = fake.provider();
    let pids = family(&provider).await;
    provider.close().await;
    assert!(gone(pids), "{pids:?}");
}

#[tokio::test]
async fn dropping_the_provider_kills_without_waiting() {
    let fake = Fake::new(json!({"start": {"ignores_term": true, "stays": true}}));
    let provider = fake.provider();
    let pids = family(&provider).await;
    drop(provider);
    until("the end of the processes", || gone(pids)).await;
}

#[tokio::test]
async fn giving_up_while_connecting_leaves_no_process() {
    let fake = Fake::new(json!({"start": {"hang": true}}));
    let provider = fake.provider();
    tokio::select! {
        listing = provider.list() => panic!("it hangs: {listing:?}"),
        () = fake.wait_for("START", 1) => {}
    }
    let pid = fake.noted("START")[0]
        .replace("START ", "")
        .parse()
        .expect("a number");
    until("the end of the process", || !is_alive(pid)).await;
    provider.close().await;
}

#[tokio::test]
async fn closing_ends_a_connection_that_is_being_made() {
    let fake = Fake::new(json!({"start": {"hang": true}}));
    let provider = fake.provider();
    let closing = async {
        fake.wait_for("START", 1).await;
        provider.close().await;
    };
    let (listing, ()) = tokio::join!(provider.list(), closing);
    assert_eq!(
        listing.expect_err("closed").to_string(),
        "tool provider `fake`: was closed"
    );
}

#[tokio::test]
async fn a_server_sees_listed_variables_and_its_own_only() {
    let fake = Fake::new(json!({}));
    let mut server = fake.server();
    let McpTransport::Stdio { env, .. } = &mut server.transport else {
        panic!("a program");
    };
    *env = BTreeMap::from([("OWN_TOKEN".to_owned(), "t0ken-value".into())]);
    let provider = provider(server);
    let seen = value(&provider, "environment", &json!({})).await;
    let seen: Vec<_> = seen
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect();
    // Python adds LC_CTYPE in the C locale; it is listed as well.
    let unexpected: Vec<_> = seen
        .iter()
        .filter(|name| !HOST_VARIABLES.contains(&name.as_str()) && *name != "OWN_TOKEN")
        .collect();
    assert_eq!(unexpected, Vec::<&String>::new());
    assert!(seen.contains(&"OWN_TOKEN".to_owned()) && seen.contains(&"PATH".to_owned()));
    assert!(
        std::env::vars().any(|(name, _)| name.starts_with("CARGO")),
        "nothing to keep out"
    );
    provider.close().await;
}

#[tokio::test]
async fn secrets_do_not_show_in_what_a_dead_server_wrote() {
    let fake = Fake::new(json!({"start": {"die": 1, "words": "bad token t0ken-value\n"}}));
    let mut server = fake.server();
    if let McpTransport::Stdio { env, .. } = &mut server.transport {
        env.insert("OWN_TOKEN".to_owned(), "t0ken-value".into());
    }
    let message = crate::support::list_error(&provider(server)).await;
    assert!(message.contains("bad token [redacted]"), "{message}");
    assert!(
        !message.contains("It last wrote:\nbad token t0ken"),
        "{message}"
    );
}

#[tokio::test]
async fn a_host_that_is_killed_takes_its_servers_with_it() {
    let fake = Fake::new(json!({"start": {"ignores_term": true, "stays": true}}));
    let mut host = tokio::process::Command::new(example("call"))
        .args(["family", "{}"])
        .args(fake.command())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the example starts");
    let mut line = String::new();
    let mut output = BufReader::new(host.stdout.take().expect("a pipe"));
    output.read_line(&mut line).await.expect("text");
    let pids: Value = serde_json::from_str(&line).expect("JSON");
    let pids = [&pids["server"], &pids["child"]].map(|pid| pid.as_u64().expect("a number"));
    assert!(pids.into_iter().all(is_alive));
    host.kill().await.expect("SIGKILL");
    until("the end of its servers", || gone(pids)).await;
}

/// An example of this crate, which Cargo builds with the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this test");
    let profile = test.ancestors().nth(2).expect("target/debug");
    let path = profile.join("examples").join(name);
    assert!(
        path.exists(),
        "run cargo build -p codehatch-mcp --example {name} first"
    );
    path
}
