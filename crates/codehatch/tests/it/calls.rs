//! Tool calls from programs: each gets its own answer, failures are exceptions, sizes have a limit that is said.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use codehatch::{BlockState, RawJson, ToolFault, function::FunctionTool};
use serde_json::{Value, json};

use crate::support::{
    Session, Setup, json,
    tools::{self, Gauge},
};

async fn concurrent(gauge: &Gauge) -> Session {
    Setup::new()
        .tool(tools::echo_after(gauge))
        .tool(tools::echo())
        .start()
        .await
}

#[tokio::test]
async fn e01_every_thread_gets_its_own_answer_and_calls_overlap() {
    let gauge = Gauge::default();
    let mut session = concurrent(&gauge).await;
    let threads = "
        from concurrent.futures import ThreadPoolExecutor as X
        import tools as T
        with X(16) as p: r = list(p.map(lambda i: (i, T.echo_after(i=i, ms=(i*37)%90)), range(200)))
        assert all(a == b['i'] for a, b in r)
        print(len(r))
        ";
    assert_eq!(session.prints(threads).await, "200\n");
    assert!(gauge.most() > 8, "{}", gauge.most());
    assert_eq!(gauge.total(), 200);
    session.close().await;
}

#[tokio::test]
async fn e01_tasks_get_their_own_answers_too() {
    let gauge = Gauge::default();
    let mut session = concurrent(&gauge).await;
    let to_thread = "
        import asyncio
        import tools as T
        async def in_thread(i):
            return i, await asyncio.get_running_loop().run_in_executor(None, lambda: T.echo_after(i=i, ms=(i*37)%90))
        r = await asyncio.gather(*(in_thread(i) for i in range(200)))
        print(all(a == b['i'] for a, b in r), len(r))
        ";
    assert_eq!(session.prints(to_thread).await, "True 200\n");
    let before = gauge.most();
    assert!(before > 2, "{before}");
    let twins = "
        r = await asyncio.gather(*(T.echo_after.aio(i=i, ms=(i*37)%90) for i in range(200)))
        print([b['i'] for b in r] == list(range(200)))
        from tools.aio import echo_after as aio
        r = await asyncio.gather(*(aio(i=i, ms=1) for i in range(20)))
        print([b['i'] for b in r] == list(range(20)))
        ";
    assert_eq!(session.prints(twins).await, "True\nTrue\n");
    assert_eq!(gauge.most(), 32);
    session.close().await;
}

#[tokio::test]
async fn e01_a_forked_child_is_told_that_it_cannot_call_and_takes_nobodys_answer() {
    let gauge = Gauge::default();
    let mut session = concurrent(&gauge).await;
    let program = "
        import os, threading
        import tools as T
        answers = []
        thread = threading.Thread(target=lambda: answers.append(T.echo_after(i=1, ms=300)))
        thread.start()
        reader, writer = os.pipe()
        if os.fork() == 0:
            try:
                text = str(T.echo(i=2))
            except BaseException as error:
                text = f'{type(error).__name__}: {error}'
            os.write(writer, text.encode())
            os._exit(0)
        os.wait()
        thread.join()
        print(os.read(reader, 1000).decode())
        print(answers, T.echo(i=3))
        ";
    assert_eq!(
        session.prints(program).await,
        "RuntimeError: tool 'echo' was called from a forked process; call tools from the process that runs the \
         block, for example through threads\n[{'i': 1, 'ms': 300}] {'i': 3}\n"
    );
    session.close().await;
}

fn faulty() -> Vec<FunctionTool> {
    let bad = FunctionTool::raw("bad", tools::any(), |args| async move {
        let args: Value = args.deserialize().expect("JSON");
        Err::<RawJson, _>(match args["code"].as_u64() {
            Some(code) => ToolFault::HttpStatus {
                status: u16::try_from(code).expect("a status"),
                message: "404 Not Found for GET /thing".into(),
                body: tools::raw(&json!({"detail": "no such thing"})),
            },
            None => tools::failed("KeyError", "no key"),
        })
    });
    let ok = FunctionTool::raw("ok", tools::any(), |_| async {
        Ok(tools::raw(&json!({"fine": 1})))
    });
    let text = FunctionTool::raw("text", tools::any(), |_| async {
        Ok(tools::raw(&json!("Error: none found")))
    });
    vec![bad, ok, text]
}

#[tokio::test]
async fn e02_a_failing_tool_raises_and_takes_nothing_else_with_it() {
    let setup = faulty().into_iter().fold(Setup::new(), Setup::tool);
    let mut session = setup.start().await;
    let caught = "
        import tools as T
        a = T.ok()
        try:
            T.bad(code=404)
        except Exception as e:
            print(type(e).__name__, e)
            print(isinstance(e, T.ToolError), e.status_code, e.body, e.tool)
        try:
            T.bad()
        except T.ToolError as e:
            print(type(e).__name__, e, e.error_type, e.tool)
        print(a, T.text())
        ";
    assert_eq!(
        session.prints(caught).await,
        "HTTPStatusError 404 Not Found for GET /thing\nTrue 404 {'detail': 'no such thing'} bad\n\
         ToolError KeyError: no key KeyError bad\n{'fine': 1} Error: none found\n"
    );
    let outcome = session
        .raises("b = T.ok()\nprint('so far')\nT.bad()\nprint('never')")
        .await;
    assert_eq!(
        (outcome.stdout.text.as_str(), outcome.state),
        ("so far\n", BlockState::Kept)
    );
    assert_eq!(
        super::blocks::without_marks(&outcome.stderr.text),
        "Traceback (most recent call last):\n  File \"<block 2>\", line 3, in <module>\n    T.bad()\n\
         tools.ToolError: KeyError: no key\n"
    );
    let calls: Vec<_> = outcome
        .calls
        .iter()
        .map(|call| (&*call.tool, call.ok))
        .collect();
    assert_eq!(calls, [("ok", true), ("bad", false)]);
    let gathered = "
        import asyncio
        print(b)
        r = await asyncio.gather(T.ok.aio(), T.bad.aio(), T.ok.aio(), return_exceptions=True)
        print(r[0], type(r[1]).__name__, r[2])
        tasks = [asyncio.ensure_future(t) for t in (T.ok.aio(), T.bad.aio(), T.ok.aio())]
        try:
            await asyncio.gather(*tasks)
        except T.ToolError as e:
            print(e)
        print(await tasks[0], await tasks[2])
        ";
    assert_eq!(
        session.prints(gathered).await,
        "{'fine': 1}\n{'fine': 1} ToolError {'fine': 1}\nKeyError: no key\n{'fine': 1} {'fine': 1}\n"
    );
    session.close().await;
}

/// A tool that returns a text of `n` bytes, of three-byte characters behind `pad` bytes.
fn text_of() -> FunctionTool {
    FunctionTool::raw("text_of", tools::any(), |args| async move {
        let args: Value = args.deserialize().expect("JSON");
        let number =
            |name: &str| usize::try_from(args[name].as_u64().unwrap_or_default()).expect("a size");
        let (pad, n) = (number("pad"), number("n"));
        let mut text = "x".repeat(pad);
        text.push_str(&"€".repeat((n - pad) / 3));
        text.push_str(&"y".repeat((n - pad) % 3));
        Ok(RawJson::parse(format!("\"{text}\"")).expect("JSON"))
    })
}

#[tokio::test]
async fn e03_values_of_any_size_up_to_the_limit_arrive_whole() {
    let length = FunctionTool::raw("length", tools::any(), |args| async move {
        let args: Value = args.deserialize().expect("JSON");
        Ok(tools::raw(&json!(args["text"].as_str().map(str::len))))
    });
    let mut session = Setup::new()
        .tool(text_of())
        .tool(length)
        .memory(1024)
        .start()
        .await;
    let program = "
        from tools import text_of, length
        def expected(n, pad):
            return 'x' * pad + '€' * ((n - pad) // 3) + 'y' * ((n - pad) % 3)
        for n in (65535, 65536, 65537, 1_000_000, 20_000_000):
            for pad in (0, 1, 2):
                text = expected(n, pad)
                assert text_of(n=n, pad=pad) == text, (n, pad)
                assert length(text=text) == n, (n, pad)
        # Each place of a character at each edge of a buffer.
        for edge in (8192, 32768, 65536, 131072, 1 << 20):
            for pad in range(edge - 5, edge + 5):
                assert text_of(n=edge + 100, pad=pad) == expected(edge + 100, pad), pad
        print('whole')
        ";
    assert_eq!(session.prints(program).await, "whole\n");
    session.close().await;
}

#[tokio::test]
async fn e03_what_is_over_the_limit_fails_alone() {
    let mut session = Setup::new()
        .tool(text_of())
        .tool(tools::echo())
        .memory(4096)
        .block_time(25_000)
        .start()
        .await;
    let program = "
        from tools import text_of, echo, ToolError
        try:
            text_of(n=300_000_000, pad=0)
        except ToolError as error:
            print(error)
        print(echo(x=1))
        try:
            echo(x='a' * 300_000_000)
        except ToolError as error:
            print(error)
        print(echo(x=2))
        ";
    insta::assert_snapshot!(session.prints(program).await, @r#"
ResultTooLarge: the result of tool `text_of` has 300000002 bytes, more than the limit of 67107840: ask it for less at once
{'x': 1}
InvalidCall: the call could not be read: frame of 300000074 bytes is longer than the limit of 67108864
{'x': 2}
"#);
    session.close().await;
}

#[tokio::test]
async fn calls_of_threads_end_with_the_block_and_those_made_between_blocks_wait_for_the_next() {
    let gauge = Gauge::default();
    let mut session = concurrent(&gauge).await;
    let start = "
        import threading, time
        import tools as T
        said = []
        def work():
            try:
                T.echo_after(i=1, ms=60_000)
            except T.ToolError as error:
                said.append(str(error))
            said.append(T.echo(i=2))
        thread = threading.Thread(target=work)
        thread.start()
        T.echo(x=1)
        time.sleep(0.1)
        ";
    let outcome = session.run(start).await;
    let calls: Vec<_> = outcome
        .calls
        .iter()
        .map(|call| (&*call.tool, call.ok))
        .collect();
    assert_eq!(calls, [("echo_after", false), ("echo", true)]);
    assert_eq!((gauge.total(), gauge.now(), gauge.completed()), (1, 0, 0));
    let next = session.run("thread.join()\nsaid").await;
    assert_eq!(
        json(&next),
        r#"["Cancelled: tool `echo_after` was cancelled, because the code that called it has ended",{"i":2}]"#
    );
    session.close().await;
}

#[tokio::test]
async fn a_tool_that_blocks_a_thread_of_the_host_does_not_stop_others() {
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let receiver = Arc::new(Mutex::new(receiver));
    let blocking = FunctionTool::raw("blocking", tools::any(), move |args| {
        let receiver = Arc::clone(&receiver);
        async move {
            let wait = move || {
                let receiver = receiver.lock().expect("a receiver");
                receiver.recv_timeout(Duration::from_secs(15)).is_ok()
            };
            let released = tokio::task::spawn_blocking(wait).await.expect("ended");
            assert!(released, "nobody has released it");
            Ok(args)
        }
    });
    let release = FunctionTool::raw("release", tools::any(), move |args| {
        let released = sender.send(());
        async move {
            released.expect("somebody waits");
            Ok(args)
        }
    });
    let gauge = Gauge::default();
    let setup = Setup::new().tool(blocking).tool(release);
    let mut session = setup.tool(tools::echo_after(&gauge)).start().await;
    let program = "
        import asyncio
        import tools as T
        blocked = [asyncio.ensure_future(T.blocking.aio()) for _ in range(2)]
        await asyncio.gather(*(T.echo_after.aio(i=i, ms=20) for i in range(10)))
        print([task.done() for task in blocked])
        T.release()
        T.release()
        print(await asyncio.gather(*blocked))
        ";
    assert_eq!(session.prints(program).await, "[False, False]\n[{}, {}]\n");
    session.close().await;
}
