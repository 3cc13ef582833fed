//! What a tool's result means to the model's program.

use codehatch_protocol::RawJson;
use codehatch_tools::{ToolFault, ToolOutput};

use crate::wire::{elements, member, members, raw, string};

/// The members of a result that matter, found in one pass: results may be large.
#[derive(Debug, Default)]
struct Parts<'a> {
    kind: Option<&'a str>,
    content: Option<&'a str>,
    structured: Option<&'a str>,
    is_error: bool,
    meta: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(result: &'a str) -> Self {
        let mut parts = Self::default();
        for (key, value) in members(result) {
            match &*key {
                "resultType" => parts.kind = Some(value),
                "content" => parts.content = Some(value),
                "structuredContent" => parts.structured = Some(value),
                "isError" => parts.is_error = value == "true",
                "_meta" => parts.meta = Some(value),
                _ => {}
            }
        }
        parts
    }

    /// Newer `FastMCP` says in the result as well that it wrapped the value.
    fn is_marked_wrapped(&self) -> bool {
        let marker = self
            .meta
            .and_then(|meta| member(meta, "fastmcp"))
            .and_then(|fastmcp| member(fastmcp, "wrap_result"));
        marker == Some("true")
    }
}

/// Turns the text of a `tools/call` result into a value, or into the error that it reports.
pub(crate) fn read(
    result: &RawJson,
    tool: &str,
    wraps_result: bool,
) -> Result<ToolOutput, ToolFault> {
    let parts = Parts::of(result.get());
    match parts.kind.and_then(string).as_deref() {
        None | Some("complete") => {}
        Some("input_required") => {
            return Err(failed(
                "McpInputRequired",
                format!(
                    "tool `{tool}` asks its user for input, and a program cannot give it; call it with all it needs"
                ),
            ));
        }
        Some(other) => {
            return Err(failed(
                "McpProtocolError",
                format!(
                    "tool `{tool}` answered with a result of kind `{other}`, which is not supported"
                ),
            ));
        }
    }
    let content: Vec<&str> = parts.content.map(elements).into_iter().flatten().collect();
    if parts.is_error {
        let message = error_text(&content, parts.structured, tool);
        return Err(failed("McpToolError", message));
    }
    let value = match parts.structured {
        Some(value) if wraps_result || parts.is_marked_wrapped() => {
            only_result(value).unwrap_or(value)
        }
        Some(value) => value,
        None => return Ok(unstructured(&content).into()),
    };
    Ok(raw(value).unwrap_or_else(RawJson::null).into())
}

fn failed(kind: &str, message: String) -> ToolFault {
    ToolFault::Failed {
        kind: kind.to_owned(),
        message,
    }
}

/// The value of `{"result": …}`, if there is nothing else beside it.
fn only_result(value: &str) -> Option<&str> {
    let mut members = members(value);
    let (key, inner) = members.next()?;
    (key == "result" && members.next().is_none()).then_some(inner)
}

fn error_text(content: &[&str], structured: Option<&str>, tool: &str) -> String {
    let texts: Vec<_> = content
        .iter()
        .filter_map(|block| member(block, "text").and_then(string))
        .collect();
    match (texts.is_empty(), structured) {
        (false, _) => texts.join("\n"),
        (true, Some(structured)) => structured.to_owned(),
        (true, None) => format!("tool `{tool}` failed and did not say why"),
    }
}

/// One block as itself, several as a list, none as null.
fn unstructured(content: &[&str]) -> RawJson {
    let blocks: Vec<String> = content.iter().map(|block| plain(block)).collect();
    let text = match blocks.as_slice() {
        [] => return RawJson::null(),
        [one] => one.clone(),
        several => format!("[{}]", several.join(",")),
    };
    raw(&text).unwrap_or_else(RawJson::null)
}

/// A text block as its string; the others in MCP's shape, without what is meant for clients.
fn plain(block: &str) -> String {
    let kind = member(block, "type").and_then(string);
    if kind.as_deref() == Some("text")
        && let Some(text) = member(block, "text")
    {
        return text.to_owned();
    }
    let kept: Vec<String> = members(block)
        .filter(|(key, _)| !matches!(&**key, "annotations" | "_meta"))
        .map(|(key, value)| format!("{}:{value}", serde_json::Value::from(&*key)))
        .collect();
    if kept.is_empty() {
        return block.to_owned();
    }
    format!("{{{}}}", kept.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> String {
        value_of(text, false)
    }

    fn value_of(text: &str, wraps_result: bool) -> String {
        let result = RawJson::parse(text).expect("well-formed");
        match read(&result, "t", wraps_result) {
            Ok(output) => output.value.get().to_owned(),
            Err(fault) => format!("{fault:?}"),
        }
    }

    #[test]
    fn structured_content_wins_whatever_it_is() {
        for structured in [
            "{\"a\":1.0}",
            "[1,2]",
            "5",
            "null",
            "\"x\"",
            "123456789012345678901234567890",
            "NaN",
        ] {
            let text = format!(
                r#"{{"content":[{{"type":"text","text":"other"}}],"structuredContent":{structured},"new":1}}"#
            );
            assert_eq!(value(&text), structured);
        }
        assert_eq!(value(r#"{"structuredContent":{"b":2}}"#), r#"{"b":2}"#);
    }

    #[test]
    fn a_wrapped_value_is_unwrapped_only_when_the_server_says_so() {
        let text = r#"{"structuredContent":{"result":[1]}}"#;
        assert_eq!(value(text), r#"{"result":[1]}"#);
        assert_eq!(value_of(text, true), "[1]");
        assert_eq!(
            value_of(r#"{"structuredContent":{"result":1,"more":2}}"#, true),
            r#"{"result":1,"more":2}"#
        );
        let marked =
            r#"{"structuredContent":{"result":1},"_meta":{"fastmcp":{"wrap_result":true}}}"#;
        assert_eq!(value(marked), "1");
    }

    #[test]
    fn blocks_become_plain_values() {
        let cases = [
            (r#"{"content":[]}"#, "null"),
            ("{}", "null"),
            (
                r#"{"content":[{"type":"text","text":"a\ud800","annotations":{}}]}"#,
                r#""a\ud800""#,
            ),
            (
                r#"{"content":[{"type":"text","text":"a"},{"type":"image","data":"QQ==","mimeType":"image/png","_meta":{}}]}"#,
                r#"["a",{"type":"image","data":"QQ==","mimeType":"image/png"}]"#,
            ),
            (
                r#"{"content":[{"type":"resource","resource":{"uri":"a:b","text":"x"}}]}"#,
                r#"{"type":"resource","resource":{"uri":"a:b","text":"x"}}"#,
            ),
            (
                r#"{"content":[7,{"type":"text"}]}"#,
                r#"[7,{"type":"text"}]"#,
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), expected);
        }
    }

    #[test]
    fn errors_keep_their_text_and_complain_of_no_schema() {
        let cases = [
            (
                r#"{"isError":true,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
                "a\nb",
            ),
            (
                r#"{"isError":true,"content":[],"structuredContent":{"code":4}}"#,
                r#"{"code":4}"#,
            ),
            (r#"{"isError":true}"#, "tool `t` failed and did not say why"),
        ];
        for (text, message) in cases {
            let result = RawJson::parse(text).expect("well-formed");
            assert_eq!(
                read(&result, "t", true),
                Err(failed("McpToolError", message.to_owned()))
            );
        }
    }

    #[test]
    fn a_result_that_asks_for_input_is_a_clear_error() {
        assert!(
            value(r#"{"resultType":"input_required","inputRequests":{}}"#)
                .contains("McpInputRequired")
        );
        assert!(value(r#"{"resultType":"task"}"#).contains("McpProtocolError"));
        assert_eq!(value(r#"{"resultType":"complete","content":[]}"#), "null");
    }
}
