//! Functions called as the engine calls them.

use std::convert::Infallible;

use codehatch_function::{BuildError, Failure, FunctionProvider, FunctionTool, NoArguments};
use codehatch_protocol::RawJson;
use codehatch_tools::{Annotations, ToolFault, ToolProvider, ToolRequest, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Adds two numbers.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
struct Add {
    /// The first one.
    a: i64,
    /// The second one; zero if left out.
    #[serde(default)]
    b: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Sum {
    /// Both together.
    sum: i64,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Order {
    items: Vec<Add>,
}

fn add(args: Add) -> Result<Sum, &'static str> {
    let sum = args.a.checked_add(args.b).ok_or("the sum is too large")?;
    Ok(Sum { sum })
}

fn provider() -> FunctionProvider {
    let read_only = Annotations {
        read_only: Some(true),
        ..Annotations::default()
    };
    FunctionProvider::builder()
        .namespace("math")
        .tool(FunctionTool::plain("add", add).with_annotations(read_only))
        .tool(FunctionTool::new("order", async |order: Order| {
            Ok::<_, Infallible>(order.items.len())
        }))
        .tool(FunctionTool::new("parse", async |_: NoArguments| {
            "x".parse::<i32>()
        }))
        .tool(FunctionTool::plain("refuse", |_: NoArguments| {
            Err::<(), _>(Failure::new("NotFound", "no such thing"))
        }))
        .tool(FunctionTool::plain("panic", |args: Add| {
            assert!(args.a == 0, "a is {}", args.a);
            Ok::<_, Infallible>(())
        }))
        .tool(FunctionTool::plain("nan", |_: NoArguments| {
            Ok::<_, Infallible>([f64::NAN, 1.0])
        }))
        .tool(FunctionTool::raw(
            "echo",
            json!({"type": "object"}),
            async |args| Ok(args),
        ))
        .build()
        .expect("valid tools")
}

async fn call(provider: &FunctionProvider, tool: &str, args: &str) -> Result<String, ToolFault> {
    let request = ToolRequest {
        tool: tool.to_owned(),
        args: RawJson::parse(args).expect("well-formed"),
    };
    Ok(provider.call(request).await?.value.get().to_owned())
}

fn failed(kind: &str, message: &str) -> ToolFault {
    ToolFault::Failed {
        kind: kind.to_owned(),
        message: message.to_owned(),
    }
}

#[tokio::test]
async fn schemas_and_descriptions_come_from_the_types() {
    let listing = provider().list().await.expect("a listing");
    let expected = ToolSpec::new(
        "add",
        json!({
            "type": "object",
            "properties": {
                "a": {"type": "integer", "format": "int64", "description": "The first one."},
                "b": {
                    "type": "integer", "format": "int64", "default": 0,
                    "description": "The second one; zero if left out.",
                },
            },
            "required": ["a"],
        }),
    )
    .with_description("Adds two numbers.")
    .with_output_schema(json!({
        "type": "object",
        "properties": {
            "sum": {"type": "integer", "format": "int64", "description": "Both together."},
        },
        "required": ["sum"],
    }))
    .with_annotations(Annotations {
        read_only: Some(true),
        ..Annotations::default()
    });
    assert_eq!(listing.tools[0], expected);
    assert_eq!(provider().namespace(), Some("math"));
}

#[tokio::test]
async fn typed_and_raw_functions_are_called_with_exact_values() {
    let provider = provider();
    assert_eq!(
        call(&provider, "add", r#"{"a":9007199254740993}"#).await,
        Ok(r#"{"sum":9007199254740993}"#.to_owned())
    );
    assert_eq!(
        call(&provider, "order", r#"{"items":[{"a":1}]}"#).await,
        Ok("1".to_owned())
    );
    assert_eq!(
        call(&provider, "nan", "{}").await,
        Ok("[NaN,1.0]".to_owned())
    );
    let odd = r#"{"n": 123456789012345678901234567890, "x":1.0,"s":"\ud800"}"#;
    assert_eq!(call(&provider, "echo", odd).await, Ok(odd.to_owned()));
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_named_with_their_path() {
    let provider = provider();
    for (tool, args, part) in [
        ("order", r#"{"items":[{"a":1},{"a":"x"}]}"#, "items[1].a"),
        ("add", r#"{"b":1}"#, "missing field `a`"),
        ("add", r#"{"a":1e400}"#, "a"),
        ("add", r#"{"a":99999999999999999999}"#, "a"),
    ] {
        let fault = call(&provider, tool, args)
            .await
            .expect_err("it does not fit");
        let ToolFault::InvalidArguments { message } = fault else {
            panic!("{fault:?}");
        };
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn errors_carry_the_kind_of_their_type_or_the_one_chosen() {
    let provider = provider();
    assert_eq!(
        call(&provider, "parse", "{}").await,
        Err(failed("ParseIntError", "invalid digit found in string"))
    );
    let most = i64::MAX;
    assert_eq!(
        call(&provider, "add", &json!({"a": most, "b": 1}).to_string()).await,
        Err(failed("ToolError", "the sum is too large"))
    );
    assert_eq!(
        call(&provider, "refuse", "{}").await,
        Err(failed("NotFound", "no such thing"))
    );
    assert_eq!(
        call(&provider, "gone", "{}").await,
        Err(failed("UnknownTool", "there is no tool `gone`"))
    );
}

#[tokio::test]
async fn a_panic_fails_its_own_call_only() {
    let provider = provider();
    let fault = call(&provider, "panic", r#"{"a":5}"#).await;
    assert_eq!(fault, Err(failed("Panic", "the tool panicked: a is 5")));
    assert_eq!(
        call(&provider, "panic", r#"{"a":0}"#).await,
        Ok("null".to_owned())
    );
}

#[test]
fn sets_that_make_no_sense_are_refused() {
    let echo = |name: &str| FunctionTool::raw(name, json!({}), async |args| Ok(args));
    let build = |tools: Vec<FunctionTool>| {
        let builder = tools
            .into_iter()
            .fold(FunctionProvider::builder(), |builder, tool| {
                builder.tool(tool)
            });
        builder.build().map(drop)
    };
    assert_eq!(build(vec![echo("")]), Err(BuildError::NoName));
    assert_eq!(
        build(vec![echo("a"), echo("a")]),
        Err(BuildError::Duplicate {
            tool: "a".to_owned()
        })
    );
    let number = FunctionTool::plain("n", |n: u32| Ok::<_, Infallible>(n));
    assert_eq!(
        build(vec![number]),
        Err(BuildError::NoStruct {
            tool: "n".to_owned(),
            found: "\"integer\"".to_owned()
        })
    );
}
