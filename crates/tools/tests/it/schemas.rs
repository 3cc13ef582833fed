//! What schemas become, in input and output; and that no schema costs more than it should.

use std::time::{Duration, Instant};

use codehatch_tools::{CatalogOptions, ToolSet, ToolSpec};
use serde_json::{Value, json};

use crate::fixtures::set_of;

/// The lines of the catalog for one tool, and what is wrong with it.
fn lines(tool: ToolSpec) -> String {
    let set = set_of(None, vec![tool]);
    let catalog = set.catalog(&CatalogOptions::default());
    let (_, tools) = catalog.split_once("# tools\n").expect("there are tools");
    let (tools, _) = tools.split_once("  </tools-package>").expect("they end");
    let mut lines = tools.trim_end().to_owned();
    for found in set.problems() {
        lines.push_str("\n! ");
        lines.push_str(&found.problem.reason);
    }
    lines
}

/// The type of a result, and the types that it names.
fn output(schema: Value) -> String {
    let text = lines(ToolSpec::new("t", json!({"properties": {}})).with_output_schema(schema));
    text.strip_prefix("def t()")
        .expect("no parameters")
        .replacen(" -> ", "", 1)
}

/// The parameters, and the types that they name.
fn input(schema: Value) -> String {
    let text = lines(ToolSpec::new("t", schema));
    text.strip_prefix("def t").expect("a function").to_owned()
}

/// A single parameter `a`.
fn parameter(schema: &Value) -> String {
    let text = input(json!({"properties": {"a": schema}, "required": ["a"]}));
    text.strip_prefix("(a: ").expect("a type").to_owned()
}

#[test]
fn plain_types() {
    for (schema, expected) in [
        (json!({"type": "string"}), "str"),
        (json!({"type": "STRING"}), "str"),
        (json!({"type": "integer", "format": "int64"}), "int"),
        (json!({"type": "number"}), "float"),
        (json!({"type": ["integer", "number"]}), "float"),
        (json!({"type": "boolean"}), "bool"),
        (json!({"type": "null"}), "None"),
        (json!({"type": "array"}), "list"),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            "list[str]",
        ),
        (json!({"items": {"type": "string"}}), "list[str]"),
        (json!({"type": "object"}), "dict"),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            "dict[str, int]",
        ),
        (
            json!({"additionalProperties": {"type": "integer"}}),
            "dict[str, int]",
        ),
        (json!({"type": "string", "nullable": true}), "str | None"),
        (json!({"type": ["null", "string"]}), "str | None"),
        (
            json!({"anyOf": [{"type": "null"}, {"type": "integer"}]}),
            "int | None",
        ),
        (
            json!({"oneOf": [{"type": "string"}, {"type": "string"}]}),
            "str",
        ),
        (json!({"const": "a"}), "'a'"),
        (json!({"enum": ["a", null, "b", "a"]}), "'a' | 'b' | None"),
        (json!({"enum": [1.5, 2]}), "2 | float"),
        (json!({"type": "string", "enum": []}), "str"),
        (
            json!({"allOf": [{"type": "string"}, {"minLength": 1}]}),
            "str",
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}),
            "list[str | int]",
        ),
        (
            json!({"type": "array", "items": [{"type": "string"}, {"type": "string"}]}),
            "list[str]",
        ),
        (json!({"type": "any"}), ""),
        (json!({"not": {"type": "string"}}), ""),
        (json!(true), ""),
        (json!({}), ""),
    ] {
        assert_eq!(output(schema.clone()), expected, "{schema}");
    }
    let tuple = json!({"prefixItems": [{"type": "string"}, {"type": "integer"}]});
    assert_eq!(parameter(&tuple), "tuple[str, int] | list[str | int])");
}

#[test]
fn objects_name_their_keys() {
    let user = json!({
        "type": "object",
        "properties": {"id": {"type": "integer"}, "tags": {"items": {"type": "string"}}, "x-y": {}},
        "required": ["id"],
    });
    assert_eq!(
        output(user.clone()),
        "TResult\nTResult = {id: int, tags?: list[str], 'x-y'?}"
    );
    assert_eq!(
        output(json!({"type": "array", "items": user})),
        "list[TResultItem]\nTResultItem = {id: int, tags?: list[str], 'x-y'?}"
    );
    assert_eq!(
        output(
            json!({"properties": {"users": {"items": {"properties": {"a": {"type": "string"}}}}}})
        ),
        "TResult\nTResult = {users?: list[TResultUser]}\nTResultUser = {a?: str}"
    );
    assert_eq!(
        parameter(&json!({"properties": {"x": {"type": "string"}}, "additionalProperties": true})),
        "TA | dict)\nTA = {x?: str}"
    );
}

#[test]
fn references_are_followed_wherever_they_lead() {
    let defs = json!({
        "User": {"properties": {"friends": {"items": {"$ref": "#/$defs/User"}}}},
        "Id": {"type": "string", "description": "An id."},
        "Maybe": {"anyOf": [{"$ref": "#/$defs/User"}, {"type": "null"}]},
        "Nullable": {"type": "object", "nullable": true, "properties": {"next": {"$ref": "#/$defs/Nullable"}}},
    });
    let with = |reference: &str| output(json!({"$ref": reference, "$defs": defs}));
    assert_eq!(with("#/$defs/User"), "User\nUser = {friends?: list[User]}");
    assert_eq!(with("#/$defs/Id"), "str");
    assert_eq!(
        with("#/$defs/Maybe"),
        "User | None\nUser = {friends?: list[User]}"
    );
    assert_eq!(
        with("#/$defs/Nullable"),
        "Nullable2\nNullable = {next?: Nullable2}\nNullable2 = Nullable | None"
    );
    assert_eq!(
        with("#/$defs/No"),
        "\n! reference \"#/$defs/No\" leads nowhere"
    );
    assert_eq!(with("#"), "\n! a reference leads back to itself");
    let itself = json!({"properties": {"child": {"$ref": "#"}}, "required": ["child"]});
    assert_eq!(output(itself), "TResult\nTResult = {child: TResult}");
    let through_all_of = json!({
        "allOf": [{"$ref": "#/definitions/Base"}, {"properties": {"b": {"type": "integer"}}, "required": ["b"]}],
        "definitions": {"Base": {"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}},
    });
    assert_eq!(
        output(through_all_of),
        "TResult\nTResult = {a: str, b: int}"
    );
}

#[test]
fn a_discriminator_tells_the_members_of_a_union_apart() {
    let schema = json!({
        "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
        "discriminator": {"propertyName": "kind", "mapping": {"meow": "#/$defs/Cat"}},
        "$defs": {
            "Cat": {"properties": {"kind": {"type": "string"}}, "required": ["kind"]},
            "Dog": {"properties": {"kind": {"const": "woof"}}, "required": ["kind"]},
        },
    });
    assert_eq!(
        output(schema),
        "Cat | Dog\nCat = {kind: 'meow'}\nDog = {kind: 'woof'}"
    );
}

#[test]
fn parameters_show_defaults_and_what_may_be_left_out() {
    let schema = json!({
        "properties": {
            "b": {"type": "integer"},
            "a": {"type": "string", "default": "x"},
            "n": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null},
            "bad": {"type": "integer", "default": null},
            "u": {},
            "long": {"type": "string", "default": "y".repeat(100)},
        },
        "required": ["b"],
    });
    assert_eq!(
        input(schema),
        "(b: int, *, a: str = 'x', bad: int = ..., long: str = ..., n: int = None, u=...)"
    );
    let two = json!({"properties": {"b": {}, "a": {}}, "required": ["b", "a"]});
    assert_eq!(input(two), "(*, a, b)");
    assert_eq!(input(json!({"type": "object"})), "(**more)");
    assert_eq!(
        input(json!({"type": "object", "additionalProperties": false})),
        "()"
    );
    assert_eq!(
        input(json!({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}})),
        "(a=..., **more: int)"
    );
}

#[test]
fn alternatives_of_the_whole_input_become_optional_parameters() {
    let schema = json!({
        "type": "object",
        "properties": {"common": {"type": "string"}},
        "required": ["common"],
        "oneOf": [
            {"properties": {"a": {"type": "string"}, "both": {"type": "string"}}, "required": ["a", "both"]},
            {"$ref": "#/$defs/B"},
        ],
        "$defs": {"B": {"properties": {"b": {"type": "string"}, "both": {"type": "integer"}}, "required": ["both"]}},
    });
    assert_eq!(
        input(schema),
        "(*, both: str | int, common: str, a: str = ..., b: str = ...)"
    );
}

#[test]
fn a_schema_that_grows_without_end_is_cut() {
    let mut deep = json!({"type": "string"});
    for _ in 0..500 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    assert!(output(deep).ends_with("nested more than 64 deep; the innermost are `Any`"));

    // Each refers to the next twice: 2^40 ways to walk.
    let mut defs: serde_json::Map<_, _> = (0..40)
        .map(|level| {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1), "x": 1, "minItems": 1});
            (
                format!("d{level}"),
                json!({"type": "object", "properties": {"a": next, "b": next}}),
            )
        })
        .collect();
    defs.insert("d40".to_owned(), json!({"type": "string"}));
    let text = output(json!({"$ref": "#/$defs/d0", "$defs": defs}));
    assert!(text.len() < 100_000, "{}", text.len());
    assert!(text.contains("! "), "{text}");

    let all = json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}, "allOf": [{"$ref": "#/$defs/a"}]});
    assert!(output(all).contains("! "));
}

#[test]
fn large_schemas_take_no_longer_than_they_are_worth() {
    let many: serde_json::Map<_, _> = (0..4_000)
        .map(|number| (format!("p{number}"), json!({"enum": ["a", "b"]})))
        .collect();
    let names: Vec<_> = many.keys().cloned().collect();
    let member = json!({"type": "object", "properties": many, "required": names});
    let wide = json!({"type": "object", "properties": many, "required": names, "anyOf": vec![member.clone(); 20]});
    let started = Instant::now();
    let set = set_of(
        Some("n"),
        vec![
            ToolSpec::new("a", wide).with_output_schema(member),
            ToolSpec::new("b", json!({"properties": {"x".repeat(100_000): {}}})),
            ToolSpec::new(
                "c",
                json!({"properties": {"e": {"enum": vec!["v"; 100_000]}}}),
            ),
        ],
    );
    let bytes: usize = set.files().iter().map(|file| file.source().len()).sum();
    let took = started.elapsed();
    assert!(bytes < 200_000, "{bytes}");
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert_eq!(set.problems().len(), 2);
}

#[test]
fn no_tools_and_no_providers_are_fine() {
    let set = ToolSet::build(&[]);
    assert!(set.is_empty());
    assert!(set.resolve("a").is_none());
    assert_eq!(set.suggest("a"), [""; 0]);
    assert_eq!(set.problems(), []);
}
