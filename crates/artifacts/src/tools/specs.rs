//! What the model reads about the artifact tools.

use codehatch_tools::{Annotations, ToolSpec};
use serde_json::{Value, json};

pub(super) const SAVE: &str = "save_artifact";
pub(super) const LOAD: &str = "load_artifact";
pub(super) const LIST: &str = "list_artifacts";

pub(super) fn all() -> Vec<ToolSpec> {
    vec![save(), load(), list()]
}

fn save() -> ToolSpec {
    let input = json!({
        "type": "object",
        "properties": {
            "filename": {
                "type": "string",
                "description": "A relative path such as \"reports/q1.csv\".",
            },
            "content": {
                "type": "string",
                "description": "Text as it is, or base64 for any other type.",
            },
            "mime_type": nullable("string", "For example \"text/csv\". Default: by the extension."),
            "custom_metadata": nullable("object", "Anything to remember with the file."),
        },
        "required": ["filename", "content"],
        "additionalProperties": false,
    });
    ToolSpec::new(SAVE, input)
        .with_description(
            "Keep a file beyond this run and return its version number. The first version of a name is \
             0; saving again adds a version and replaces nothing.\n\n\
             `content` is taken as text if `mime_type` (or, without it, the extension) means text: text/*, \
             JSON, XML or JavaScript. Otherwise it must be base64:\n\n\
             save_artifact(filename=\"sales.csv\", content=table.to_csv())\n\
             save_artifact(filename=\"plot.png\", content=base64.b64encode(png).decode(\"ascii\"))",
        )
        .with_output_schema(json!({
            "type": "integer",
            "minimum": 0,
            "description": "The version.",
        }))
        .with_annotations(Annotations {
            read_only: Some(false),
            destructive: Some(false),
            idempotent: Some(false),
            open_world: Some(false),
        })
}

fn load() -> ToolSpec {
    let input = json!({
        "type": "object",
        "properties": {
            "filename": {
                "type": "string",
                "description": "The name that it was saved under.",
            },
            "version": {
                "type": ["integer", "null"],
                "minimum": 0,
                "default": null,
                "description": "Default: the latest.",
            },
        },
        "required": ["filename"],
        "additionalProperties": false,
    });
    let output = json!({
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "kind": { "type": "string", "enum": ["text", "bytes"] },
                    "data": {
                        "type": "string",
                        "description": "The text; or for \"bytes\" their base64.",
                    },
                    "mime_type": { "type": ["string", "null"] },
                },
                "required": ["kind", "data", "mime_type"],
            },
            { "type": "null" },
        ],
    });
    ToolSpec::new(LOAD, input)
        .with_description(
            "Read a kept file. Returns None if there is no file of that name.\n\n\
             file = load_artifact(filename=\"plot.png\")\n\
             data = base64.b64decode(file[\"data\"]) if file[\"kind\"] == \"bytes\" else file[\"data\"]",
        )
        .with_output_schema(output)
        .with_annotations(reads())
}

fn list() -> ToolSpec {
    let input = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    ToolSpec::new(LIST, input)
        .with_description("Return the names of all kept files, sorted.")
        .with_output_schema(json!({ "type": "array", "items": { "type": "string" } }))
        .with_annotations(reads())
}

fn nullable(kind: &str, description: &str) -> Value {
    json!({ "type": [kind, "null"], "default": null, "description": description })
}

fn reads() -> Annotations {
    Annotations {
        read_only: Some(true),
        destructive: Some(false),
        idempotent: Some(true),
        open_world: Some(false),
    }
}
