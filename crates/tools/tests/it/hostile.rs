//! Specifications that try to break out of the text that is made of them.

use std::cell::RefCell;

use codehatch_tools::{CatalogOptions, ToolSet, ToolSpec};
use proptest::{
    prelude::*,
    sample::select,
    test_runner::{TestCaseError, TestRunner},
};
use serde_json::{Map, Value, json};

use crate::{
    fixtures::{provider, set_of},
    python::{Python, call, sent},
};

/// What would run or break something if it were ever read as code or markup.
const PIECES: &[&str] = &[
    "x",
    "a_b",
    "A",
    "_",
    " ",
    "\n",
    "\r",
    "\t",
    "\0",
    "\\",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "#",
    "{",
    "}",
    "%s",
    "{1/0}",
    "'+str(1/0)+'",
    "__import__('builtins').__dict__.update(canary=1)",
    "\"\"\"; __import__('builtins').__dict__.update(canary=1); \"\"\"",
    "\n__import__('builtins').__dict__.update(canary=1)\n",
    "\\\"\"\"",
    "\\N{DIGIT ONE}",
    "\\x41",
    "\\u2028",
    "\u{2028}",
    "\u{2029}",
    "\u{85}",
    "\u{c}",
    "\u{202e}",
    "\u{feff}",
    "\u{e0041}",
    "é",
    "名",
    "\u{1f600}",
    "def f():",
    "class",
    "import os",
    "from",
    "None",
    "True",
    "__class__",
    "self",
    "args",
    "_send",
    "_UNSET",
    "list",
    "str",
    "dict",
    "print",
    "Any",
    "Literal",
    "TypedDict",
    "</tools-package>",
    "<code-mode>",
    "# tools.x",
    "lambda: 0",
    "0",
    "1e999",
    ":",
    ",",
    ")",
    "(",
    "]",
    "[",
    "=",
    "*",
    "**",
    "-",
    ".",
    "/",
    "\\n",
];

fn text(longest: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(select(PIECES), 0..longest).prop_map(|pieces| pieces.concat())
}

/// Any JSON value with such texts in it.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text(4).prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((text(3), inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn described(schema: Value, words: &str, default: Option<Value>) -> Value {
    let Value::Object(mut map) = schema else {
        return schema;
    };
    map.insert("description".to_owned(), words.into());
    map.insert("title".to_owned(), words.into());
    map.insert("pattern".to_owned(), words.into());
    map.insert("format".to_owned(), words.into());
    map.insert("examples".to_owned(), json!([words]));
    map.extend(default.map(|default| ("default".to_owned(), default)));
    Value::Object(map)
}

/// Schemas of properties: plausible ones with hostile texts, and nonsense.
fn schema() -> impl Strategy<Value = Value> {
    let types = select(
        &[
            "string", "integer", "number", "boolean", "null", "array", "object", "STRING",
        ][..],
    );
    let leaf = prop_oneof![
        types.prop_map(|name| json!({"type": name})),
        prop::collection::vec(value(), 0..4).prop_map(|values| json!({"enum": values})),
        value().prop_map(|value| json!({"const": value})),
        text(3).prop_map(|name| json!({"$ref": format!("#/$defs/{name}")})),
        text(2).prop_map(|name| json!({"type": name})),
        value(),
    ];
    let nested = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            (properties(inner.clone()), prop::collection::vec(text(2), 0..2)).prop_map(
                |(properties, required)| json!({"type": "object", "properties": properties, "required": required})
            ),
            inner.clone().prop_map(|values| json!({"type": "object", "additionalProperties": values})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|members| json!({"anyOf": members})),
            prop::collection::vec(inner, 1..3).prop_map(|members| json!({"allOf": members})),
        ]
    });
    (nested, text(4), prop::option::of(value()))
        .prop_map(|(schema, words, default)| described(schema, &words, default))
}

fn properties(schema: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((text(3), schema), 0..4).prop_map(|members| members.into_iter().collect())
}

fn tool() -> impl Strategy<Value = ToolSpec> {
    let parts = (
        text(4),
        text(6),
        properties(schema()),
        schema(),
        properties(schema()),
    );
    (
        parts,
        prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    )
        .prop_map(|((name, words, properties, result, defs), required)| {
            let names: Vec<_> = properties.keys().collect();
            let required: Vec<_> = required
                .iter()
                .filter(|_| !names.is_empty())
                .map(|index| names[index.index(names.len())].clone())
                .collect();
            let input = json!({
                "type": "object", "properties": properties, "required": required, "$defs": defs,
            });
            let output = described(result, &words, None);
            let spec = ToolSpec::new(name, input).with_description(words);
            if output.is_object() {
                spec.with_output_schema(output)
            } else {
                spec
            }
        })
}

/// Arguments that the stub of `tool` takes: each parameter that can be given, by the name that is sent.
fn arguments(tool: &ToolSpec) -> Value {
    let properties = tool.input_schema["properties"]
        .as_object()
        .expect("made so");
    let given = properties
        .iter()
        .filter(|(_, schema)| **schema != json!(false));
    let misplaced = |key: &str, schema: &Value| {
        key == "required"
            && schema
                .as_array()
                .is_some_and(|all| all.iter().all(Value::is_string))
    };
    given
        .filter(|(key, schema)| !misplaced(key, schema))
        .map(|(key, _)| (key.clone(), json!(format!("value of {key}"))))
        .collect()
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn check_catalog(set: &ToolSet) -> Result<(), TestCaseError> {
    let catalog = set.catalog(&CatalogOptions::default());
    for tag in [
        "<code-mode>",
        "</code-mode>",
        "<tools-package>",
        "</tools-package>",
    ] {
        prop_assert_eq!(catalog.matches(tag).count(), 1, "{}", tag);
    }
    let hidden =
        |c: &char| (c.is_control() && *c != '\n') || "\u{2028}\u{202e}\u{feff}".contains(*c);
    prop_assert_eq!(catalog.chars().find(hidden), None);
    Ok(())
}

#[test]
fn no_text_of_a_specification_is_run_and_every_argument_arrives() {
    let python = RefCell::new(Python::start());
    let providers = prop::collection::vec(
        (
            prop::option::of(text(3)),
            prop::collection::vec(tool(), 0..4),
        ),
        1..3,
    );
    let result = TestRunner::new(config(200)).run(&providers, |providers| {
        let providers: Vec<_> = providers
            .iter()
            .map(|(namespace, tools)| provider(namespace.as_deref(), tools.clone()))
            .collect();
        let set = ToolSet::build(&providers);
        let (mut steps, mut expected) = (Vec::new(), Vec::new());
        for tool in set.iter() {
            let args = arguments(tool.spec());
            for sliced in [false, true] {
                let mut step = call(tool.path(), &args);
                step["sliced"] = json!(sliced);
                steps.push(step);
                expected.push(sent(tool.path(), &args));
            }
        }
        let results = python.borrow_mut().ask(&set, &steps, false);
        prop_assert_eq!(results, Ok(expected));
        if set.is_empty() {
            return Ok(());
        }
        check_catalog(&set)
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn each_hostile_text_in_each_place_stays_a_text() {
    let mut python = Python::start();
    for piece in PIECES {
        let input = json!({
            "type": "object",
            "title": piece,
            "properties": {
                (*piece): {"type": "string", "default": piece, "description": piece, "title": piece},
                "choice": {"enum": [piece, 1], "description": piece},
                "nested": {"$ref": "#/$defs/N"},
            },
            "required": [piece],
            "$defs": {"N": {"type": "object", "title": piece, "properties": {(*piece): {"const": piece}}}},
        });
        let tool = ToolSpec::new(*piece, input)
            .with_description(*piece)
            .with_output_schema(
                json!({"type": "object", "properties": {(*piece): {"enum": [piece]}}}),
            );
        let set = set_of(Some(piece), vec![tool]);
        let Some(path) = set.iter().next().map(|tool| tool.path().to_owned()) else {
            continue;
        };
        let mut args = json!({"choice": piece, "nested": {}});
        args[*piece] = json!(piece);
        assert_eq!(
            python.run(&set, &[call(&path, &args)]),
            [sent(&path, &args)],
            "{piece:?}"
        );
        // What is not given goes out as the schema's default, to the letter.
        let defaulted = sent(&path, &json!({(*piece): piece}));
        assert_eq!(
            python.run(&set, &[call(&path, &json!({}))]),
            [defaulted],
            "{piece:?}"
        );
    }
}
