//! What hostile code reaches beyond its sandbox: nothing. More in the tests of the runtime itself.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use codehatch::{BlockState, Ending, LossCause, TurnLimits, function::FunctionTool, runtime::Exit};

use crate::support::{
    Session, Setup,
    alone::{again, block_on},
    json, message, tools, unique,
};

#[tokio::test]
async fn h01_tricks_within_python_change_nothing_outside() {
    let mut session = Session::new().await;
    let canary = format!("/tmp/canary-{}", unique());
    let program = format!(
        "
        import ctypes, os
        status = ctypes.CDLL(None).system(b'id > {canary}')
        reached = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close']
        reached[0].__init__.__globals__['system']('echo more >> {canary}')
        open('{canary}-2', 'w').write('x')
        open('/workspace/mine', 'w').write('x')
        open('/dev/shm/mine', 'w').write('x')
        print(status, os.path.getsize('{canary}') > 0, len(open('{canary}').read().splitlines()))
        "
    );
    assert_eq!(session.prints(&program).await, "0 True 2\n");
    for path in [canary.clone(), format!("{canary}-2")] {
        assert!(!Path::new(&path).exists(), "{path} is on the host");
    }
    let mut another = session.another();
    let look =
        "import os\nprint(os.listdir('/tmp'), os.listdir('/workspace'), os.listdir('/dev/shm'))";
    assert_eq!(another.prints(look).await, "['home'] [] []\n");
    another.turn.close().await;
    session.close().await;
    assert!(!Path::new("/dev/shm/mine").exists());
}

const CANARY: &str = "canary-51966";

#[test]
fn h02_nothing_of_the_hosts_environment_is_inside() {
    const TEST: &str = "security::h02_nothing_of_the_hosts_environment_is_inside";
    if std::env::var("CANARY_DSN").is_ok() {
        return block_on(look_for_the_environment());
    }
    let mut child = again(TEST);
    for name in [
        "DATABASE_URL",
        "PGPASSFILE",
        "CANARY_DSN",
        "SOME_PAT",
        "SSH_AUTH_SOCK",
        "AWS_SECRET_ACCESS_KEY",
    ] {
        child.env(name, CANARY);
    }
    child.env("HTTP_PROXY", format!("http://u:{CANARY}@h"));
    // A path that programs look at must not carry anything either.
    child.env("PYTHONPATH", format!("/{CANARY}"));
    let output = child.output().expect("this program, once more");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

async fn look_for_the_environment() {
    let mut session = Session::new().await;
    let program = "
        import os, subprocess
        seen = [sorted(os.environ.items())]
        for pid in [p for p in os.listdir('/proc') if p.isdigit()] + ['self', str(os.getppid())]:
            for name in ('environ', 'cmdline', 'comm', 'mountinfo', 'maps', 'status', 'limits', 'cgroup'):
                try:
                    seen.append(open(f'/proc/{pid}/{name}', errors='replace').read())
                except OSError as error:
                    seen.append(type(error).__name__)
            try:
                for fd in os.listdir(f'/proc/{pid}/fd'):
                    seen.append(os.readlink(f'/proc/{pid}/fd/{fd}'))
            except OSError as error:
                seen.append(type(error).__name__)
        seen.append(subprocess.run(['env'], capture_output=True, text=True).stdout)
        print(sorted(os.environ))
        kinds = []
        for fd in os.listdir('/proc/self/fd'):
            try:
                kinds.append(os.readlink(f'/proc/self/fd/{fd}').partition(':')[0])
            except OSError:
                pass  # That of the listing.
        print(sorted(kinds))
        print('\\n'.join(map(str, seen)))
        ";
    let printed = session.prints(program).await;
    assert!(!printed.contains("canary"), "{printed}");
    for trace in [
        "/root",
        "/home",
        "/work",
        &*std::env::temp_dir().to_string_lossy(),
    ] {
        let trace = format!("{trace}/");
        assert!(
            trace == "/tmp/" || !printed.contains(&trace),
            "{trace} in\n{printed}"
        );
    }
    let mut lines = printed.lines();
    // An interpreter with a library of its own has a path to that as well.
    let names = lines
        .next()
        .unwrap_or_default()
        .replace(" 'LD_LIBRARY_PATH',", "");
    assert_eq!(
        names,
        "['HOME', 'LANG', 'LOGNAME', 'MPLBACKEND', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'TERM', 'TMPDIR', 'USER']"
    );
    // Standard input, the outputs, the way to the tools.
    assert_eq!(
        lines.next(),
        Some("['/dev/null', 'pipe', 'pipe', 'socket']")
    );
    session.close().await;
}

#[tokio::test]
async fn h05_a_tool_is_reached_by_its_exact_name_only_and_every_call_is_recorded() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let delete = FunctionTool::raw("delete", tools::any(), move |args| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(args) }
    });
    let mut session = Setup::new().tool(delete).start().await;
    let program = "
        import os, threading, tools
        names = ['delete', 'delete ', ' delete', 'DELETE', 'Delete', 'ｄｅｌｅｔｅ', 'tools.delete', 'delete\\0', 'dele\\u0301te', '']
        reached = []
        for name in names:
            try:
                tools._stub.send(name, {}, {})
                reached.append(name)
            except tools.ToolError as error:
                assert error.error_type == 'ToolNotFound', error
        if os.fork() == 0:
            try:
                tools.delete()
            except RuntimeError:
                os._exit(3)
            os._exit(0)
        print(reached, os.waitstatus_to_exitcode(os.wait()[1]))
        done = threading.Event()
        def later():
            done.wait()
            tools.delete(late=True)
        threading.Thread(target=later).start()
        ";
    let outcome = session.run(program).await;
    assert_eq!(outcome.stdout.text, "['delete'] 3\n");
    assert_eq!((outcome.calls.len(), count.load(Ordering::SeqCst)), (10, 1));
    assert_eq!(outcome.calls.iter().filter(|call| call.ok).count(), 1);
    // A call between blocks is not made before a block runs, whose record then has it.
    session.run("done.set()").await;
    let outcome = session
        .run("import time\nwhile threading.active_count() > 1: time.sleep(0.01)")
        .await;
    let late = outcome.calls.len();
    assert!(
        late <= 1 && count.load(Ordering::SeqCst) == 2,
        "{:?}",
        outcome.calls
    );
    // When the turn has ended nothing reaches a tool.
    session
        .run("done.clear()\nthreading.Thread(target=later).start()")
        .await;
    session.close().await;
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn f10_homes_and_temporary_directories_are_there_and_writable() {
    let mut session = Session::new().await;
    let program = "
        import getpass, os, tempfile
        home = os.path.expanduser('~')
        open(os.path.join(home, 'cache'), 'w').write('x')
        (getpass.getuser(), home, os.path.isdir(tempfile.mkdtemp()), os.getcwd())
        ";
    let outcome = session.run(program).await;
    assert_eq!(json(&outcome), r#"["user","/tmp/home",true,"/workspace"]"#);
    assert_eq!(outcome.stderr.text, "");
    session.close().await;
}

#[tokio::test]
async fn h09_hostile_source_meets_limits_or_the_interpreters_own_end_which_is_told() {
    let mut session = Setup::new().limits(TurnLimits::default()).start().await;
    session.run("kept = 1").await;
    let nested = format!("{}{}", "(".repeat(6000), ")".repeat(6000));
    let target = format!("{}x{} = 1", "(".repeat(6000), ",)".repeat(6000));
    let minus = format!("x={}1", "-".repeat(100_000));
    let attributes = format!("x{} = 1", ".a".repeat(100_000));
    let mut kept = true;
    for (what, source) in [
        ("nested parentheses", nested.as_str()),
        ("nested targets", &target),
        ("100,000 signs", &minus),
        ("a chain of attributes", &attributes),
        ("a NUL", "x = 1\0\nprint(x)"),
        ("a range beyond memory", "list(range(10**18))"),
        ("a power beyond memory", "10 ** 10 ** 10"),
    ] {
        let outcome = if what == "a power beyond memory" {
            session.turn.execute("'x' * 10**12").await
        } else {
            session.turn.execute(source).await
        };
        match &outcome.ending {
            Ending::Completed { exit_code: 1 } => {
                assert!(
                    outcome.stderr.text.contains("Error"),
                    "{what}: {}",
                    outcome.stderr.text
                );
            }
            // An old parser's stack overflows; that is told, and so is what is lost.
            Ending::SandboxLost {
                cause: LossCause::Exit(Exit::Signaled { signal: 11 }),
                ..
            } => {
                assert_eq!(outcome.state, BlockState::Lost, "{what}");
                assert!(message(&outcome).contains("SIGSEGV"), "{what}");
                kept = false;
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    assert_eq!(
        session.prints("print('kept' in globals())").await,
        if kept { "True\n" } else { "False\n" }
    );
    session.close().await;
}

#[tokio::test]
async fn h09_limits_are_finite_unless_somebody_raises_them() {
    let mut session = Setup::new().limits(TurnLimits::default()).start().await;
    let limits = session.engine.limits();
    assert_eq!(
        (limits.block_time, limits.code_bytes),
        (Duration::from_mins(1), 1_000_000)
    );
    session.run("kept = 1").await;
    let outcome = session.turn.execute("x".repeat(50 << 20)).await;
    assert_eq!(
        outcome.ending,
        Ending::HostError {
            message: "its source has 52428800 bytes, more than the limit of 1000000".into()
        }
    );
    assert_eq!(outcome.state, BlockState::Kept);
    assert_eq!(session.prints("print(kept)").await, "1\n");
    session.close().await;
}
