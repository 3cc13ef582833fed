//! One entry of a server's tool list, read so that an odd one costs itself at most.

use codehatch_tools::{Annotations, ToolProblem, ToolSpec};
use serde_json::Value;

use crate::{
    http::ParamHeader,
    wire::{member, members, string},
};

/// Marks an output schema whose value `FastMCP` wrapped in `{"result": …}`, since it is no object.
const WRAP_MARKER: &str = "x-fastmcp-wrap-result";

/// What a call of the tool needs to know beside what the engine does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolFacts {
    /// Its results come as `{"result": …}` and mean what is inside.
    pub(crate) wraps_result: bool,
    /// Arguments that go into HTTP headers as well.
    pub(crate) headers: Vec<ParamHeader>,
}

/// A tool that can be offered.
#[derive(Debug)]
pub(crate) struct ReadTool {
    pub(crate) spec: ToolSpec,
    pub(crate) facts: ToolFacts,
    /// What about it had to be left out.
    pub(crate) problem: Option<ToolProblem>,
}

/// Reads the entry at `position` (from 1), or says why its tool cannot be offered.
pub(crate) fn read(text: &str, position: usize) -> Result<ReadTool, ToolProblem> {
    let name = member(text, "name").and_then(string).unwrap_or_default();
    if name.is_empty() {
        return Err(ToolProblem {
            tool: format!("tool {position} of the list"),
            reason: "it has no name; it is left out".to_owned(),
        });
    }
    let problem = |reason: &str| ToolProblem {
        tool: name.clone().into_owned(),
        reason: reason.to_owned(),
    };
    let (input_schema, mut odd) = match member(text, "inputSchema").map(schema) {
        Some(Ok(schema @ Value::Object(_))) => (schema, None),
        Some(Err(())) => (
            any(),
            Some("its input schema is no plain JSON; it takes any arguments"),
        ),
        _ => (
            any(),
            Some("it has no input schema; it takes any arguments"),
        ),
    };
    let headers = ParamHeader::of_schema(&input_schema)
        .map_err(|reason| problem(&format!("{reason}; it is left out")))?;
    let mut spec = ToolSpec::new(&*name, input_schema).with_annotations(annotations(text));
    spec.description = description(text);
    let mut wraps_result = false;
    match member(text, "outputSchema").map(schema) {
        Some(Ok(schema @ Value::Object(_))) => {
            wraps_result = schema.get(WRAP_MARKER) == Some(&Value::Bool(true));
            spec.output_schema = Some(if wraps_result { unwrap(schema) } else { schema });
        }
        Some(Ok(Value::Null)) | None => {}
        Some(_) => odd = odd.or(Some("its output schema is no JSON object; it is ignored")),
    }
    Ok(ReadTool {
        problem: odd.map(problem),
        spec,
        facts: ToolFacts {
            wraps_result,
            headers,
        },
    })
}

fn any() -> Value {
    Value::Object(serde_json::Map::new())
}

fn schema(text: &str) -> Result<Value, ()> {
    serde_json::from_str(text).map_err(drop)
}

/// The description; failing that, the title.
fn description(text: &str) -> String {
    let own = |name| {
        member(text, name)
            .and_then(string)
            .filter(|text| !text.trim().is_empty())
    };
    let title = || {
        let annotations = member(text, "annotations")?;
        member(annotations, "title").and_then(string)
    };
    let found = own("description").or_else(|| own("title")).or_else(title);
    found.unwrap_or_default().into_owned()
}

fn annotations(text: &str) -> Annotations {
    let mut found = Annotations::default();
    for (key, value) in member(text, "annotations").into_iter().flat_map(members) {
        let value = match value {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        };
        match &*key {
            "readOnlyHint" => found.read_only = value,
            "destructiveHint" => found.destructive = value,
            "idempotentHint" => found.idempotent = value,
            "openWorldHint" => found.open_world = value,
            _ => {}
        }
    }
    found
}

/// The schema of what is inside `{"result": …}`, with the definitions that it may refer to.
fn unwrap(mut schema: Value) -> Value {
    let inner = schema.pointer_mut("/properties/result").map(Value::take);
    let Some(Value::Object(mut inner)) = inner else {
        return any();
    };
    for definitions in ["$defs", "definitions"] {
        if let Some(found) = schema.get_mut(definitions).map(Value::take) {
            inner.entry(definitions).or_insert(found);
        }
    }
    Value::Object(inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_whole_tool_is_read() {
        let text = json!({
            "name": "add", "description": "Adds.", "extra": [1],
            "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true, "destructiveHint": "no", "idempotentHint": false},
        });
        let tool = read(&text.to_string(), 1).expect("a tool");
        let expected = ToolSpec::new("add", json!({"type": "object"}))
            .with_description("Adds.")
            .with_output_schema(json!({"type": "object"}))
            .with_annotations(Annotations {
                read_only: Some(true),
                destructive: None,
                idempotent: Some(false),
                open_world: None,
            });
        assert_eq!((tool.spec, tool.problem), (expected, None));
    }

    #[test]
    fn odd_tools_are_offered_with_any_arguments_or_named() {
        let seen: Vec<_> = [
            r#"{"name":"a"}"#,
            r#"{"name":"b","inputSchema":null,"title":"B"}"#,
            r#"{"name":"c","inputSchema":{"maximum":1e400}}"#,
            r#"{"name":"d","inputSchema":{"properties":[],"type":"int"}}"#,
            r#"{"name":"e","inputSchema":{},"outputSchema":5}"#,
            r#"{"name":5,"inputSchema":{}}"#,
            r#"{"name":"g","inputSchema":{"properties":{"x":{"x-mcp-header":""}}}}"#,
            "7",
        ]
        .into_iter()
        .enumerate()
        .map(|(index, text)| match read(text, index + 1) {
            Ok(tool) => format!(
                "{}{}: {}",
                tool.spec.name,
                tool.spec.input_schema,
                tool.problem
                    .map_or("good".to_owned(), |problem| problem.reason)
            ),
            Err(problem) => format!("{}: {}", problem.tool, problem.reason),
        })
        .collect();
        insta::assert_snapshot!(seen.join("\n"), @r#"
        a{}: it has no input schema; it takes any arguments
        b{}: it has no input schema; it takes any arguments
        c{}: its input schema is no plain JSON; it takes any arguments
        d{"properties":[],"type":"int"}: good
        e{}: its output schema is no JSON object; it is ignored
        tool 6 of the list: it has no name; it is left out
        g: argument `x` names no valid header; it is left out
        tool 8 of the list: it has no name; it is left out
        "#);
    }

    #[test]
    fn a_wrapped_output_schema_is_unwrapped_with_its_definitions() {
        let text = json!({"name": "n", "inputSchema": {}, "outputSchema": {
            "type": "object", "x-fastmcp-wrap-result": true, "$defs": {"P": {"type": "string"}},
            "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/P"}}},
        }});
        let tool = read(&text.to_string(), 1).expect("a tool");
        assert!(tool.facts.wraps_result);
        assert_eq!(
            tool.spec.output_schema,
            Some(json!({
                "type": "array", "items": {"$ref": "#/$defs/P"}, "$defs": {"P": {"type": "string"}},
            }))
        );
    }
}
