//! What a block of Python can rely on: one module, one name space, true tracebacks, no surprises.

use codehatch::{BlockState, Ending, LossCause, Started, runtime::Exit};

use crate::support::{Session, Setup, json, message, tools};

#[tokio::test]
async fn b01_functions_classes_and_comprehensions_see_top_level_names() {
    let mut session = Session::new().await;
    let first = "import math\nk = 3\ndef f(): return math.floor(k*1.5)\nprint(f(), [k+i for i in range(2)])";
    assert_eq!(session.prints(first).await, "4 [3, 4]\n");
    let second = "class C:\n    vals=[f() for _ in range(2)]\nprint(C.vals, (lambda: k)())";
    assert_eq!(session.prints(second).await, "[4, 4] 3\n");
    session.close().await;
}

#[tokio::test]
async fn b02_exits_end_the_block_and_keep_output_and_variables() {
    let mut session = Session::new().await;
    let cases: [(&str, i64, &str); 11] = [
        ("import sys; sys.exit(0)", 0, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit(3)", 3, ""),
        ("sys.exit(-1)", -1, ""),
        ("sys.exit(True)", 1, ""),
        ("exit('msg')", 1, "msg\n"),
        ("quit(4)", 4, ""),
        ("raise SystemExit(['a', 1])", 1, "['a', 1]\n"),
        ("raise KeyboardInterrupt", 1, "KeyboardInterrupt\n"),
        ("class Z(BaseException): pass\nraise Z('z')", 1, "Z: z\n"),
        ("raise GeneratorExit", 1, "GeneratorExit\n"),
    ];
    for (exit, exit_code, stderr) in cases {
        let code = format!("x = 41\nprint('before')\n{exit}\nprint('never')");
        let outcome = session.ends(&code, Ending::Completed { exit_code }).await;
        assert_eq!(outcome.stdout.text, "before\n", "{exit}");
        assert!(
            outcome.stderr.text.ends_with(stderr),
            "{exit}: {}",
            outcome.stderr.text
        );
        assert_eq!(outcome.state, BlockState::Kept, "{exit}");
        let shown = !matches!(exit_code, 0 | 1);
        assert_eq!(
            outcome.message(),
            shown.then(|| format!("The code exited with code {exit_code}.")),
            "{exit}"
        );
        assert_eq!(session.prints("print(x+1)").await, "42\n", "{exit}");
    }
    session.close().await;
}

#[tokio::test]
async fn b02_the_end_of_the_interpreter_is_told_and_the_next_block_starts_afresh() {
    let mut session = Session::new().await;
    let code = "x = 41\nprint('before')\nimport os; os._exit(7)\nprint('never')";
    let lost = Ending::SandboxLost {
        cause: LossCause::Exit(Exit::Exited { code: 7 }),
        started: Started::MayHaveRun,
    };
    let outcome = session.ends(code, lost).await;
    assert_eq!(
        (outcome.stdout.text.as_str(), outcome.state),
        ("before\n", BlockState::Lost)
    );
    insta::assert_snapshot!(message(&outcome), @"The sandbox was lost: the interpreter exited with code 7. Variables and files are lost; the next block starts afresh. Do not simply run it again: check first which of its effects took place.");
    assert_eq!(session.prints("print('x' in globals())").await, "False\n");
    session.close().await;
}

#[tokio::test]
async fn b03_nobody_is_at_the_keyboard_and_programs_are_told_at_once() {
    let mut session = Setup::new().tool(tools::echo()).start().await;
    let outcome = session.raises("print('hi')\nn = input('name? ')").await;
    assert_eq!(outcome.stdout.text, "hi\nname? ");
    let end: Vec<&str> = outcome.stderr.text.lines().rev().take(2).collect();
    assert_eq!(
        end,
        [
            "There is no interactive input in this sandbox: pass the data in the code, or read it from a file or a tool.",
            "EOFError: EOF when reading a line",
        ]
    );
    let child = "import subprocess\nr = subprocess.run(['python3','-c','input()'], capture_output=True, text=True)\nprint(r.returncode, r.stderr.splitlines()[-1])";
    assert_eq!(
        session.prints(child).await,
        "1 EOFError: EOF when reading a line\n"
    );
    let reads = "import getpass, os, sys\nprint(repr(sys.stdin.read()), repr(sys.stdin.readline()), list(sys.stdin), os.read(0, 9))";
    assert_eq!(session.prints(reads).await, "'' '' [] b''\n");
    let outcome = session.raises("getpass.getpass()").await;
    assert!(
        outcome.stderr.text.contains("EOFError"),
        "{}",
        outcome.stderr.text
    );
    let shell = "print(subprocess.run(['sh', '-c', 'read line || echo end'], capture_output=True, text=True).stdout)";
    assert_eq!(session.prints(shell).await, "end\n\n");
    let outcome = session.run("breakpoint()\nprint('on')").await;
    assert_eq!(outcome.stdout.text, "on\n");
    assert_eq!(
        outcome.stderr.text,
        "breakpoint() was passed over: nobody is at the keyboard.\n"
    );
    // None of them has eaten from the control channel.
    assert_eq!(
        json(&session.run("from tools import echo\necho(x=1)").await),
        r#"{"x":1}"#
    );
    session.close().await;
}

#[tokio::test]
async fn b08_files_of_the_workspace_take_no_standard_modules_place() {
    const NAMES: [&str; 6] = [
        "json",
        "socket",
        "random",
        "sitecustomize",
        "usercustomize",
        "code",
    ];
    let mut session = Setup::new().tool(tools::echo()).start().await;
    let write = format!(
        "for name in {NAMES:?}:\n    with open(name + '.py', 'w') as file:\n        file.write(\"raise RuntimeError('shadow')\")\n\
         with open('mine.py', 'w') as file:\n    file.write('value = 7')"
    );
    session.run(&write).await;
    let call = "import tempfile, json, socket, random, code\nfrom tools import echo\nimport mine\nprint(echo(x=1), mine.value, json.dumps(socket.AF_UNIX > 0), random.random() < 1)";
    assert_eq!(session.prints(call).await, "{'x': 1} 7 true True\n");
    let mut again = session.another();
    for name in NAMES {
        let file = format!("{name}.py");
        let code = b"raise RuntimeError('shadow')".to_vec();
        again.turn.put_file(&file, code).await.expect("written");
    }
    again
        .turn
        .put_file("mine.py", b"value = 7".to_vec())
        .await
        .expect("written");
    assert_eq!(again.prints(call).await, "{'x': 1} 7 true True\n");
    again.turn.close().await;
    session.close().await;
}

#[tokio::test]
async fn b09_names_of_the_program_and_tools_do_not_get_into_each_others_way() {
    let search =
        codehatch::function::FunctionTool::raw("search", tools::any(), |args| async { Ok(args) });
    let mut session = Setup::new().tool(search).start().await;
    session
        .run("search = [1]\nprint = None\nimport builtins; builtins.len = lambda x: 0")
        .await;
    let outcome = session.run("from tools import search as s; s(q='x')").await;
    assert_eq!(json(&outcome), r#"{"q":"x"}"#);
    session.run("tools = 5").await;
    // What the program has bound stays bound, and what it has not is there to import.
    let outcome = session
        .run("from tools import search as s\n(search, tools, print, len('abc'), s(q='y'))")
        .await;
    assert_eq!(json(&outcome), r#"[[1],5,null,0,{"q":"y"}]"#);
    let break_builtins = "
        import json, sys
        set_one = setattr
        for name in dir(builtins):
            if name not in ('isinstance', 'hasattr', 'type', 'str') and name[:2] != '__':
                set_one(builtins, name, None)
        json.dumps = json.loads = json.encoder = json.decoder = sys.modules['json'] = None
        ";
    session.run(break_builtins).await;
    let outcome = session
        .run("from tools import search as t; t(q=[1.5, None])")
        .await;
    assert_eq!(json(&outcome), r#"{"q":[1.5,null]}"#);
    // These are what Python itself needs to import anything.
    session
        .run("builtins.isinstance = builtins.hasattr = builtins.type = builtins.str = None")
        .await;
    assert_eq!(json(&session.run("s(q='z')").await), r#"{"q":"z"}"#);
    let outcome = session.raises("missing").await;
    assert!(
        outcome
            .stderr
            .text
            .ends_with("NameError: name 'missing' is not defined\n"),
        "{}",
        outcome.stderr.text
    );
    session.close().await;
}

/// A report without the marks under its lines, which differ between versions of Python.
pub(crate) fn without_marks(report: &str) -> String {
    let is_mark = |line: &&str| {
        !line.trim().is_empty() && line.trim().chars().all(|c| matches!(c, '^' | '~'))
    };
    let lines = report.lines().filter(|line| !is_mark(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[tokio::test]
async fn b07_tracebacks_have_the_lines_of_the_program_and_none_of_ours() {
    let mut session = Session::new().await;
    let outcome = session
        .raises("# a comment\ndef g(d):\n    return d['missing']\n\ng({})")
        .await;
    insta::assert_snapshot!(without_marks(&outcome.stderr.text), @r#"
Traceback (most recent call last):
  File "<block 1>", line 5, in <module>
    g({})
  File "<block 1>", line 3, in g
    return d['missing']
KeyError: 'missing'
"#);
    let outcome = session
        .raises("a = 1\nb = 2\nc = 3\nd = = 4\ne = 5\nf = 6")
        .await;
    insta::assert_snapshot!(outcome.stderr.text, @r#"
  File "<block 2>", line 4
    d = = 4
        ^
SyntaxError: invalid syntax
"#);
    let outcome = session.raises("# line 1\ng({'missed': 1})").await;
    insta::assert_snapshot!(without_marks(&outcome.stderr.text), @r#"
Traceback (most recent call last):
  File "<block 3>", line 2, in <module>
    g({'missed': 1})
  File "<block 1>", line 3, in g
    return d['missing']
KeyError: 'missing'
"#);
    let outcome = session
        .raises(
            "
            def work():
                try:
                    g({})
                except KeyError as error:
                    raise ValueError('no good') from error
            work()
            ",
        )
        .await;
    insta::assert_snapshot!(without_marks(&outcome.stderr.text), @r#"
Traceback (most recent call last):
  File "<block 4>", line 3, in work
    g({})
  File "<block 1>", line 3, in g
    return d['missing']
KeyError: 'missing'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "<block 4>", line 6, in <module>
    work()
  File "<block 4>", line 5, in work
    raise ValueError('no good') from error
ValueError: no good
"#);
    session.close().await;
}

#[tokio::test]
async fn b07_deep_tracebacks_show_their_beginning_and_their_end() {
    let mut session = Session::new().await;
    let outcome = session.raises("def r(n): return r(n + 1)\nr(0)").await;
    let text = outcome.stderr.text;
    assert!(text.contains("  [Previous line repeated "), "{text}");
    assert!(
        text.contains("RecursionError: maximum recursion depth exceeded"),
        "{text}"
    );
    assert!(text.lines().count() < 20, "{text}");
    let mutual = "
        def first(n):
            return second(n)
        def second(n):
            return first(n + 1)
        first(0)
        ";
    let text = session.raises(mutual).await.stderr.text;
    assert!(text.contains("frames left out"), "{text}");
    assert!(text.contains("line 5, in <module>"), "{text}");
    assert!(text.lines().count() < 250, "{text}");
    session.close().await;
}

#[tokio::test]
async fn b07_groups_of_exceptions_are_shown_with_their_causes() {
    let mut session = Session::new().await;
    let group = "
        import sys
        if sys.version_info < (3, 11):
            class ExceptionGroup(Exception):
                def __init__(self, message, parts):
                    super().__init__(f'{message} ({len(parts)} sub-exceptions) {parts}')
        try:
            try:
                1 / 0
            except ZeroDivisionError as error:
                raise TypeError('wrong') from error
        except TypeError as error:
            raise ExceptionGroup('several', [error, ValueError('inner')])
        ";
    let text = session.raises(group).await.stderr.text;
    for part in [
        "ZeroDivisionError: division by zero",
        "direct cause",
        "several (2 sub-exceptions)",
        "inner",
    ] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    assert!(!text.contains("codehatch"), "{text}");
    session.close().await;
}
