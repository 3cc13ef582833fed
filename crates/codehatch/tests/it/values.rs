//! What becomes of values on their way out of a program and back in.

use std::sync::{Arc, Mutex};

use codehatch::{RawJson, ResultValue, function::FunctionTool};
use serde_json::json;

use crate::support::{Setup, json, tools};

#[tokio::test]
async fn e04_numbers_arrive_as_they_were() {
    let as_text =
        |text: &'static str| move |_| async move { Ok(RawJson::parse(text).expect("JSON")) };
    let mut session = Setup::new()
        .tool(tools::echo())
        .tool(FunctionTool::raw(
            "huge",
            tools::any(),
            as_text(r#"{"v":1e400,"w":-1e400}"#),
        ))
        .tool(FunctionTool::raw(
            "long",
            tools::any(),
            as_text(r#"{"v":0.1000000000000000055511151231257827,"w":12345678901234567890123}"#),
        ))
        .start()
        .await;
    let program = "
        from tools import echo, huge, long
        for n in (2**53+1, 2**63-1, -2**63, 2**64-1, 2**70, 10**40, 10**5000, 0, -1, True, False):
            v = echo(v=n)['v']
            assert v == n and type(v) is type(n), n
        for x in (0.1, 1.0, -0.0, 1e308, 5e-324, 1/3, float('inf'), float('-inf'), 123456789012345680.0):
            v = echo(v=x)['v']
            assert repr(v) == repr(x), (x, v)
        nan = echo(v=float('nan'))['v']
        assert nan != nan
        print(echo(v=1)['v'], echo(v=1.0)['v'], long())
        ";
    assert_eq!(
        session.prints(program).await,
        "1 1.0 {'v': 0.1, 'w': 12345678901234567890123}\n"
    );
    // What no float holds is an error, not another value.
    let outcome = session.raises("print(huge())").await;
    assert_eq!(outcome.stdout.text, "");
    assert!(
        outcome.stderr.text.ends_with(
            "ToolError: ResultNotExact: the result of tool `huge` has the number 1e400, which is too large for a \
             Python float\n"
        ),
        "{}",
        outcome.stderr.text
    );
    assert_eq!(session.prints("print(echo(v=2))").await, "{'v': 2}\n");
    session.close().await;
}

const VALUES: &str = "
    import collections, dataclasses, datetime, decimal, enum, pathlib, uuid
    utc = datetime.timezone.utc
    class Colour(enum.Enum):
        RED = 'red'
    class Flag(enum.IntFlag):
        A = 1
        B = 2
    @dataclasses.dataclass
    class Point:
        x: int
        y: decimal.Decimal
    Pair = collections.namedtuple('Pair', 'left right')
    class Own:
        def __repr__(self): return 'Own!'
    itself = [1]
    itself.append(itself)
    class Shy:
        def __repr__(self): raise ValueError('no')
    ";

#[tokio::test]
async fn e06_values_are_converted_as_documented_or_refused_with_their_place() {
    let mut session = Setup::new().tool(tools::echo()).start().await;
    session.run(VALUES).await;
    let program = "
        from tools import echo
        values = [
            datetime.datetime(2024, 1, 2, tzinfo=utc), datetime.date(2024, 1, 2), datetime.time(3, 4),
            decimal.Decimal('1.10'), b'\\x00\\xff', (1, 2), pathlib.Path('x'),
            uuid.UUID('12345678123456781234567812345678'), Colour.RED, Flag.A | Flag.B,
            Point(1, decimal.Decimal('2.50')), Pair(1, [2]), {'a': {'b': (None, True)}}, '\\ud800',
            {1, 2}, {1: 'a'}, {None: 1}, Own(), itself, (n for n in range(3)), {'items': [0, 1, 2, {3}]}, Own,
        ]
        for value in values:
            try:
                print(ascii(echo(v=value)['v']))
            except Exception as error:
                print(type(error).__name__, error)
        print(echo(v='x' * 10**7)['v'] == 'x' * 10**7, echo(x=1))
        ";
    insta::assert_snapshot!(session.prints(program).await, @r#"
'2024-01-02T00:00:00+00:00'
'2024-01-02'
'03:04:00'
'1.10'
{'kind': 'bytes', 'data': 'AP8=', 'encoding': 'base64'}
[1, 2]
'x'
'12345678-1234-5678-1234-567812345678'
'red'
3
{'x': 1, 'y': '2.50'}
{'left': 1, 'right': [2]}
{'a': {'b': [None, True]}}
'\ud800'
TypeError echo() argument v is a set, which has no JSON form; use sorted(...) or list(...)
TypeError echo() argument v has the key 1 of type int; JSON keys are strings, so convert it first, for example with str()
TypeError echo() argument v has the key None of type NoneType; JSON keys are strings, so convert it first, for example with str()
TypeError echo() argument v is a Own, which has no JSON form
ValueError echo() argument v[1] contains itself
TypeError echo() argument v is a generator, which has no JSON form; use list(...)
TypeError echo() argument v.items[3] is a set, which has no JSON form; use sorted(...) or list(...)
TypeError echo() argument v is a type, which has no JSON form
True {'x': 1}
"#);
    session.close().await;
}

#[tokio::test]
async fn e06_a_last_value_is_sent_exactly_or_as_a_bounded_text() {
    let mut session = Setup::new().tool(tools::echo()).start().await;
    session.run(VALUES).await;
    let mut report = String::new();
    for expression in [
        "None",
        "[1, 2.5, 'a', None, True]",
        "(1, 2)",
        "datetime.datetime(2024, 1, 2, tzinfo=utc)",
        "decimal.Decimal('1.10')",
        "b'\\x00\\xff'",
        "{1, 2}",
        "{1: 'a'}",
        "Own()",
        "Own",
        "itself",
        "Colour.RED",
        "Point(1, decimal.Decimal('2.50'))",
        "Pair(1, [2])",
        "float('nan')",
        "2**70",
        "'\\ud800'",
    ] {
        let outcome = session.run(expression).await;
        let line = match &outcome.result {
            None => "nothing".to_owned(),
            Some(ResultValue::Json { type_name, value }) => format!("{type_name}: {}", value.get()),
            Some(ResultValue::Repr { type_name, text }) => format!("{type_name} as text: {text}"),
        };
        report.extend([expression, " -> ", &line, "\n"]);
    }
    insta::assert_snapshot!(report, @r#"
None -> nothing
[1, 2.5, 'a', None, True] -> list: [1,2.5,"a",null,true]
(1, 2) -> tuple: [1,2]
datetime.datetime(2024, 1, 2, tzinfo=utc) -> datetime: "2024-01-02T00:00:00+00:00"
decimal.Decimal('1.10') -> Decimal: "1.10"
b'\x00\xff' -> bytes: {"kind":"bytes","data":"AP8=","encoding":"base64"}
{1, 2} -> set as text: {1, 2}
{1: 'a'} -> dict as text: {1: 'a'}
Own() -> Own as text: Own!
Own -> type as text: <class '__main__.Own'>
itself -> list as text: [1, [...]]
Colour.RED -> Colour: "red"
Point(1, decimal.Decimal('2.50')) -> Point: {"x":1,"y":"2.50"}
Pair(1, [2]) -> Pair: {"left":1,"right":[2]}
float('nan') -> float: NaN
2**70 -> int: 1180591620717411303424
'\ud800' -> str: "\ud800"
"#);
    let outcome = session.run("'x' * 10**8").await;
    let Some(ResultValue::Repr { type_name, text }) = &outcome.result else {
        panic!("{:?}", outcome.ending);
    };
    assert_eq!((type_name.as_str(), text.len() < 25_000), ("str", true));
    assert!(text.contains("characters left out"), "{}", &text[..200]);
    // The code has run: a value that cannot be shown does not make it a failure.
    let outcome = session.run("Shy()").await;
    assert_eq!(
        outcome.result,
        Some(ResultValue::Repr {
            type_name: "Shy".into(),
            text: "<Shy object, whose text form failed with ValueError>".into(),
        })
    );
    assert_eq!(
        json(&session.run("echo(x=1) if 'echo' in globals() else 1").await),
        "1"
    );
    session.close().await;
}

#[tokio::test]
async fn e09_only_what_was_given_is_sent() {
    let wire: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&wire);
    let schema = json!({
        "type": "object",
        "properties": {
            "q": {"type": "string"},
            "limit": {"type": "integer"},
            "tag": {"type": ["string", "null"]},
            "page": {"type": "integer", "default": 1},
        },
        "required": ["q"],
    });
    let tool = FunctionTool::raw("f", schema, move |args| {
        noted.lock().expect("a log").push(args.get().to_owned());
        async { Ok(RawJson::null()) }
    });
    let mut session = Setup::new().tool(tool).start().await;
    let program = "
        import tools as T
        T.f(q='a')
        T.f(q='a', tag=None)
        try:
            T.f(q='a', limit=None)
        except TypeError as error:
            print(error)
        T.f('a')
        try:
            T.f()
        except TypeError as error:
            print(error)
        try:
            T.f('a', limt=3)
        except TypeError as error:
            print(error)
        ";
    insta::assert_snapshot!(session.prints(program).await, @r#"
f() argument 'limit' cannot be None; leave it out instead
f() missing 1 required positional argument: 'q'
f() got an unexpected keyword argument 'limt'. Did you mean 'limit'? It takes: q, limit, page, tag
"#);
    assert_eq!(
        *wire.lock().expect("a log"),
        [r#"{"q":"a"}"#, r#"{"q":"a","tag":null}"#, r#"{"q":"a"}"#]
    );
    session.close().await;
}
