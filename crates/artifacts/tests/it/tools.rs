//! The tools as a model's program uses them.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use codehatch_artifacts::{ArtifactLimits, ArtifactStore as _, ArtifactTools, ObjectArtifactStore};
use codehatch_protocol::RawJson;
use codehatch_tools::{ToolFault, ToolProvider as _, ToolRequest};
use serde_json::{Value, json};

use crate::{
    failing::FullAfter,
    support::{load, name, save},
};

fn tools() -> (ArtifactTools, ObjectArtifactStore) {
    let store = ObjectArtifactStore::in_memory(ArtifactLimits::in_memory());
    (ArtifactTools::new(Arc::new(store.clone())), store)
}

async fn call_raw(tools: &ArtifactTools, tool: &str, args: &str) -> Result<Value, ToolFault> {
    let args = RawJson::parse(args).expect("JSON");
    let output = tools
        .call(ToolRequest {
            tool: tool.to_owned(),
            args,
        })
        .await?;
    Ok(serde_json::from_str(output.value.get()).expect("standard JSON"))
}

async fn call(tools: &ArtifactTools, tool: &str, args: Value) -> Result<Value, ToolFault> {
    call_raw(tools, tool, &args.to_string()).await
}

fn refusal(result: Result<Value, ToolFault>) -> String {
    match result.expect_err("refused") {
        ToolFault::InvalidArguments { message } => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn text_goes_in_and_comes_out_as_it_is() {
    let (tools, store) = tools();
    let text = "\u{feff}größe\r\n日本 😀\u{2028}\0\n";
    for (filename, mime_type, expected) in [
        ("a.json", json!("application/json"), "application/json"),
        ("a.csv", Value::Null, "text/csv"),
        ("a.csv", json!(""), "text/csv"),
        ("noname", json!("text/plain"), "text/plain"),
        ("a.svg", json!("image/svg+xml"), "image/svg+xml"),
        (
            "a.png",
            json!("text/html; charset=utf-8"),
            "text/html; charset=utf-8",
        ),
    ] {
        let args = json!({"filename": filename, "content": text, "mime_type": mime_type});
        let version = call(&tools, "save_artifact", args).await.expect("saved");
        assert_eq!(
            load(&store, filename, None).await.as_deref(),
            Some(text.as_bytes())
        );
        let loaded = call(
            &tools,
            "load_artifact",
            json!({"filename": filename, "version": version}),
        );
        let expected = json!({"kind": "text", "data": text, "mime_type": expected});
        assert_eq!(loaded.await, Ok(expected));
    }
}

#[tokio::test]
async fn bytes_go_in_and_come_out_as_base64() {
    let (tools, store) = tools();
    let bytes: Vec<u8> = (0..=255).collect::<Vec<u8>>().repeat(3);
    let encoded = STANDARD.encode(&bytes);
    let in_lines: String = encoded
        .as_bytes()
        .chunks(76)
        .fold(String::new(), |lines, line| {
            lines + str::from_utf8(line).expect("ASCII") + "\n"
        });
    for (filename, content, mime_type, expected) in [
        ("a.png", &encoded, Value::Null, "image/png"),
        ("a.png", &in_lines, json!("image/x-own"), "image/x-own"),
        ("blob", &encoded, Value::Null, "application/octet-stream"),
        (
            "a.txt",
            &encoded,
            json!("application/octet-stream"),
            "application/octet-stream",
        ),
    ] {
        let args = json!({"filename": filename, "content": content, "mime_type": mime_type});
        call(&tools, "save_artifact", args).await.expect("saved");
        assert_eq!(load(&store, filename, None).await.as_ref(), Some(&bytes));
        let loaded = call(&tools, "load_artifact", json!({"filename": filename})).await;
        let expected = json!({"kind": "bytes", "data": encoded, "mime_type": expected});
        assert_eq!(loaded, Ok(expected));
    }
}

#[tokio::test]
async fn versions_are_numbers_from_zero_and_names_are_sorted() {
    let (tools, _store) = tools();
    let save = async |filename: &str, content: &str| {
        let args = json!({"filename": filename, "content": content});
        call(&tools, "save_artifact", args).await
    };
    assert_eq!(save("b.txt", "1").await, Ok(json!(0)));
    assert_eq!(save("b.txt", "2").await, Ok(json!(1)));
    assert_eq!(save("a/ü.txt", "3").await, Ok(json!(0)));
    assert_eq!(
        call(&tools, "list_artifacts", json!({})).await,
        Ok(json!(["a/ü.txt", "b.txt"]))
    );
    let first = call(
        &tools,
        "load_artifact",
        json!({"filename": "b.txt", "version": 0}),
    )
    .await;
    assert_eq!(
        first,
        Ok(json!({"kind": "text", "data": "1", "mime_type": "text/plain"}))
    );
    let latest = call(
        &tools,
        "load_artifact",
        json!({"filename": "b.txt", "version": null}),
    )
    .await;
    assert_eq!(
        latest,
        Ok(json!({"kind": "text", "data": "2", "mime_type": "text/plain"}))
    );
}

#[tokio::test]
async fn an_unknown_name_is_none_and_an_unknown_version_an_error() {
    let (tools, store) = tools();
    let load = async |args: Value| call(&tools, "load_artifact", args).await;
    assert_eq!(load(json!({"filename": "a"})).await, Ok(Value::Null));
    assert_eq!(
        load(json!({"filename": "a", "version": 3})).await,
        Ok(Value::Null)
    );
    save(&store, "a", b"x").await.expect("saved");
    insta::assert_snapshot!(
        refusal(load(json!({"filename": "a", "version": 3})).await),
        @"artifact `a` has no version 3; its latest is 0, and without `version` you get that"
    );
    for version in [json!(-1), json!(1.5), json!("0")] {
        refusal(load(json!({"filename": "a", "version": version})).await);
    }
}

#[tokio::test]
async fn text_that_is_no_base64_is_refused_with_what_to_do() {
    let (tools, _store) = tools();
    let save = async |filename: &str, content: &str| {
        refusal(
            call(
                &tools,
                "save_artifact",
                json!({"filename": filename, "content": content}),
            )
            .await,
        )
    };
    insta::assert_snapshot!(
        save("plot.png", "hello, world").await,
        @r#"`content` has to be base64, because `image/png` is not a text type, but it is not (Invalid symbol 44, offset 5.). For text pass mime_type="text/plain"; for bytes pass base64.b64encode(data).decode("ascii")"#
    );
    insta::assert_snapshot!(
        save("notes", "hello").await,
        @r#"`content` has to be base64, because neither `mime_type` nor the name `notes` says that it is text, but it is not (Invalid input length: 5). For text pass mime_type="text/plain"; for bytes pass base64.b64encode(data).decode("ascii")"#
    );
    assert_eq!(
        call(&tools, "list_artifacts", json!({})).await,
        Ok(json!([]))
    );
}

#[tokio::test]
async fn text_whose_bytes_are_not_utf8_comes_out_as_bytes() {
    let (tools, store) = tools();
    save(&store, "latin1.csv", b"gr\xf6\xdfe")
        .await
        .expect("saved");
    let loaded = call(&tools, "load_artifact", json!({"filename": "latin1.csv"})).await;
    let data = STANDARD.encode(b"gr\xf6\xdfe");
    assert_eq!(
        loaded,
        Ok(json!({"kind": "bytes", "data": data, "mime_type": "text/csv"}))
    );
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_refused_by_name() {
    let (tools, _store) = tools();
    let save = async |args: &str| refusal(call_raw(&tools, "save_artifact", args).await);
    insta::assert_debug_snapshot!(
        [
            save(r#"{"filename":"a.txt"}"#).await,
            save(r#"{"filename":"a.txt","content":"x","mime":"y"}"#).await,
            save(r#"{"filename":"../x.txt","content":"x"}"#).await,
            save(r#"{"filename":"a.txt","content":"x","custom_metadata":[1]}"#).await,
            save(r#"{"filename":"a.txt","content":"x","mime_type":"text"}"#).await,
            save(r#"{"filename":"a.txt","content":"\ud800"}"#).await,
            refusal(call(&tools, "list_artifacts", json!({"prefix": "a"})).await),
            refusal(call(&tools, "drop_artifacts", json!({})).await),
        ],
        @r#"
    [
        "the arguments of save_artifact do not fit: missing field `content`",
        "the arguments of save_artifact do not fit: unknown field `mime`, expected one of `filename`, `content`, `mime_type`, `custom_metadata`",
        "invalid artifact name \"../x.txt\": it has a `.` or `..` segment; write the path out",
        "cannot save artifact `a.txt`: its metadata is not a standard JSON object",
        "`content` has to be base64, because `text` is not a text type, but it is not (Invalid input length: 1). For text pass mime_type=\"text/plain\"; for bytes pass base64.b64encode(data).decode(\"ascii\")",
        "the arguments of save_artifact have NaN, an infinity or half a surrogate pair in them. Replace it; or for text with surrogates pass base64.b64encode(text.encode(\"utf-8\", \"surrogatepass\")).decode(\"ascii\") and mime_type=\"application/octet-stream\"",
        "the arguments of list_artifacts do not fit: unknown field `prefix`, there are no fields",
        "there is no artifact tool `drop_artifacts`",
    ]
    "#
    );
}

#[tokio::test]
async fn a_failing_store_is_reported_without_the_hosts_paths() {
    let objects = FullAfter::new(0);
    let root = codehatch_artifacts::object_store::path::Path::from("secret/place");
    let store = ObjectArtifactStore::open(objects, root, ArtifactLimits::default()).await;
    let tools = ArtifactTools::new(Arc::new(store.expect("opens")));
    let args = json!({"filename": "a.txt", "content": "x"});
    assert_eq!(
        call(&tools, "save_artifact", args).await,
        Err(ToolFault::Failed {
            kind: "ArtifactError".to_owned(),
            message:
                "cannot save artifact `a.txt`: its disk or quota is full; free space there, or \
                      choose another place"
                    .to_owned(),
        })
    );
}

#[tokio::test]
async fn custom_metadata_is_kept_to_the_letter() {
    let (tools, store) = tools();
    let args =
        r#"{"filename":"a.txt","content":"x","custom_metadata":{"n": 123456789012345678901}}"#;
    call_raw(&tools, "save_artifact", args)
        .await
        .expect("saved");
    let info = store
        .stat(&name("a.txt"), None)
        .await
        .expect("stat")
        .expect("there");
    let metadata = info.metadata.expect("metadata");
    assert_eq!(metadata.get(), "{\"n\": 123456789012345678901}");
}

/// The text of a value with its keys sorted. Whether `serde_json` sorts them depends on the features that other
/// crates of a build ask for.
fn sorted(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut members: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), sorted(value)))
                .collect();
            members.sort_unstable();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(sorted).collect();
            format!("[{}]", items.join(","))
        }
        other => other.to_string(),
    }
}

#[tokio::test]
async fn the_tools_describe_themselves() {
    let (tools, _store) = tools();
    assert_eq!(tools.namespace(), None);
    let listing = tools.list().await.expect("a listing");
    assert_eq!(listing.problems, []);
    let parameters: Vec<String> = listing
        .tools
        .iter()
        .map(|tool| {
            let properties = tool.input_schema["properties"]
                .as_object()
                .expect("properties");
            let mut names: Vec<&str> = properties.keys().map(String::as_str).collect();
            names.sort_unstable();
            let result = sorted(tool.output_schema.as_ref().expect("a result"));
            let read_only = tool.annotations.read_only.expect("said");
            assert!(!tool.description.is_empty());
            format!(
                "{}({}) read_only={read_only} -> {result}",
                tool.name,
                names.join(", ")
            )
        })
        .collect();
    insta::assert_debug_snapshot!(parameters, @r#"
    [
        "save_artifact(content, custom_metadata, filename, mime_type) read_only=false -> {\"description\":\"The version.\",\"minimum\":0,\"type\":\"integer\"}",
        "load_artifact(filename, version) read_only=true -> {\"anyOf\":[{\"properties\":{\"data\":{\"description\":\"The text; or for \\\"bytes\\\" their base64.\",\"type\":\"string\"},\"kind\":{\"enum\":[\"text\",\"bytes\"],\"type\":\"string\"},\"mime_type\":{\"type\":[\"string\",\"null\"]}},\"required\":[\"kind\",\"data\",\"mime_type\"],\"type\":\"object\"},{\"type\":\"null\"}]}",
        "list_artifacts() read_only=true -> {\"items\":{\"type\":\"string\"},\"type\":\"array\"}",
    ]
    "#);
}
