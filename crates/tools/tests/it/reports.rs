//! Faults that users of comparable systems reported, as small inputs.

use codehatch_tools::{CatalogOptions, ToolSet, ToolSpec};
use serde_json::{Value, json};

use crate::{
    fixtures::{provider, server, set_of, specs},
    python::{Python, call, error, sent},
};

fn tool(name: &str, schema: Value) -> ToolSpec {
    ToolSpec::new(name, schema)
}

fn paths(set: &ToolSet) -> Vec<String> {
    set.iter().map(|tool| tool.path().to_owned()).collect()
}

#[test]
fn keywords_and_hyphens_are_parameters_under_a_safe_name_and_their_own() {
    let set = server("names");
    let steps = [
        call("names.search_log", &json!({"from_": "2024", "class_": "a"})),
        call(
            "names.search_log",
            &json!({"from": "2024", "class": "a", "X-Trace-Id": "t", "meta.kind": "k"}),
        ),
        call("names.search_log", &json!({"from": "2024"})),
        call(
            "names.search_log",
            &json!({"from": "2024", "from_": "2024", "class": "a"}),
        ),
    ];
    assert_eq!(
        Python::start().run(&set, &steps),
        [
            sent("names.search_log", &json!({"class": "a", "from": "2024"})),
            sent(
                "names.search_log",
                &json!({"class": "a", "from": "2024", "X-Trace-Id": "t", "meta.kind": "k"})
            ),
            error("TypeError: names.search_log() missing required argument 'class'"),
            error("TypeError: names.search_log() got multiple values for argument 'from'"),
        ]
    );
}

#[test]
fn no_parameter_name_meets_a_name_of_the_stub() {
    let args = json!({
        "self": 1, "args": [2], "kwargs": {"a": 3}, "client": 4, "timeout": 5, "_call": 6,
        "json": 7, "print": 8, "None_": 9, "__class__": 10,
    });
    let by_python_name = json!({
        "self": 1, "args": [2], "kwargs": {"a": 3}, "client": 4, "timeout": 5, "call": 6,
        "json": 7, "print": 8, "None_": 9, "class_": 10,
    });
    let steps = [
        call("names.run_job", &args),
        call("names.run_job", &by_python_name),
    ];
    let expected = sent("names.run_job", &args);
    assert_eq!(
        Python::start().run(&server("names"), &steps),
        [expected.clone(), expected]
    );
}

#[test]
fn names_of_the_stub_itself_reach_the_tool_as_arguments() {
    let names = [
        "_send",
        "_UNSET",
        "_REQUIRED",
        "_b",
        "_unknown",
        "_by_name",
        "_more",
    ];
    let properties: Value = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({})))
        .collect();
    let set = set_of(
        None,
        vec![tool(
            "t",
            json!({"type": "object", "properties": properties}),
        )],
    );
    let args: Value = names
        .iter()
        .map(|name| ((*name).to_owned(), json!(1)))
        .collect();
    assert_eq!(
        Python::start().run(&set, &[call("t", &args)]),
        [sent("t", &args)]
    );
}

#[test]
fn parameters_told_apart_by_a_prefix_and_bare_bodies_arrive() {
    let set = server("shop");
    let steps = [
        call(
            "shop.patchcart",
            &json!({"sku": 7, "body_sku": 8, "header_sku": 9}),
        ),
        call("shop.bulk", &json!({"body": [1, 2]})),
        json!({"call": "shop.memo", "args": ["note"]}),
    ];
    assert_eq!(
        Python::start().run(&set, &steps),
        [
            sent(
                "shop.patchcart",
                &json!({"sku": 7, "body.sku": 8, "header.sku": 9})
            ),
            sent("shop.bulk", &json!({"body": [1, 2]})),
            sent("shop.memo", &json!({"body": "note"})),
        ]
    );
    let patch = set.resolve("shop.patchcart").expect("a tool").signature();
    assert_eq!(
        patch,
        "def patchcart(*, body_sku: int, sku: int, header_sku: int = ..., qty: int = ...)"
    );
}

#[test]
fn names_that_become_alike_lead_to_their_own_tools() {
    let (a, b) = ("n".repeat(79) + "a", "n".repeat(79) + "b");
    let no_arguments = || json!({"type": "object", "properties": {}});
    let files: Vec<_> = ["doc.get", "doc-get", "doc_get", &a, &b]
        .iter()
        .map(|name| tool(name, no_arguments()))
        .collect();
    let set = ToolSet::build(&[
        provider(Some("my_files"), files.clone()),
        provider(Some("my-files"), files),
    ]);
    let steps: Vec<_> = set
        .iter()
        .map(|tool| call(tool.path(), &json!({})))
        .collect();
    let expected: Vec<_> = set
        .iter()
        .map(|tool| sent(tool.path(), &json!({})))
        .collect();
    assert_eq!(Python::start().run(&set, &steps), expected);

    let mut reached: Vec<_> = set
        .iter()
        .map(|tool| set.resolve(tool.path()).expect("its own path"))
        .map(|tool| (tool.provider(), tool.spec().name.clone()))
        .collect();
    reached.sort_unstable();
    reached.dedup();
    assert_eq!(reached.len(), 10);
    let own = set.resolve("my_files.doc_get").expect("keeps its name");
    assert_eq!((own.provider(), &*own.spec().name), (0, "doc_get"));

    let zips = json!({"zipCode": "1", "zip_code": "2", "zip-code": "3"});
    assert_eq!(
        Python::start().run(&server("names"), &[call("names.zips", &zips)]),
        [sent("names.zips", &zips)]
    );
}

#[test]
fn recursive_and_broken_references_cost_no_other_tool_anything() {
    let set = server("odd");
    let signature = |path| set.resolve(path).expect("a tool").signature();
    assert_eq!(
        signature("odd.recursive_filter"),
        "def recursive_filter(filter: F) -> J"
    );
    assert_eq!(
        signature("odd.self_loop"),
        "def self_loop(a, *, b=..., c=...)"
    );
    let catalog = set.catalog(&CatalogOptions::default());
    for line in [
        "F = {op: 'and' | 'or', parts: list[str | F]}\n",
        "J = str | float | list[J] | dict[str, J]\n",
    ] {
        assert!(catalog.contains(line), "{line}");
    }
    let about: Vec<_> = set
        .problems()
        .into_iter()
        .filter(|found| {
            found.problem.tool.starts_with("recursive") || found.problem.tool == "self_loop"
        })
        .map(|found| (found.problem.tool, found.problem.reason))
        .collect();
    assert_eq!(
        about,
        [(
            "self_loop".to_owned(),
            "a reference leads back to itself; reference \"#/$defs/Missing\" leads nowhere; \
             reference \"https://example.com/x.json\" leads nowhere"
                .to_owned()
        )]
    );
}

#[test]
fn help_shows_descriptions_unchanged_and_hidden_characters_visibly() {
    let described = r#"Match \d+ in C:\new\users; say """stop""" or "end""#;
    let parameters = json!({
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "ends in a backslash \\"},
            "b": {"type": "string", "description": "nul \u{0} separator \u{2028} escape \\ud800 end"},
        },
    });
    let set = set_of(
        Some("n"),
        vec![
            tool("x", parameters).with_description(described),
            tool("indented", json!({})).with_description("One:\n    two\n        three"),
            tool("long", json!({})).with_description("word ".repeat(40_000)),
        ],
    );
    let docs = Python::start().run(
        &set,
        &[
            json!({"doc": "n.x"}),
            json!({"doc": "n.indented"}),
            json!({"doc": "n.long"}),
        ],
    );
    let text = |at: usize| docs[at]["value"].as_str().expect("a docstring");
    assert_eq!(
        text(0),
        format!(
            "{described}\n\nArgs:\n    a: ends in a backslash \\\n    \
             b: nul \\x00 separator \\u2028 escape \\ud800 end"
        )
    );
    assert_eq!(text(1), "One:\n    two\n        three");
    assert!(text(2).len() < 7_000 && text(2).ends_with("more characters)"));
    let catalog = set.catalog(&CatalogOptions::default());
    assert!(catalog.len() < 3_000, "{}", catalog.len());
}

#[test]
fn a_model_may_rebind_any_name_and_tools_still_work() {
    let schema =
        json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    let set = ToolSet::build(&[
        provider(None, vec![tool("search", schema.clone())]),
        provider(Some("web"), vec![tool("list", schema)]),
    ]);
    let code = "search = [1]\nprint = None\nimport builtins\nsaved = dict(vars(builtins))\n\
                for name in ['len', 'repr', 'dict', 'list', 'TypeError']:\n    \
                setattr(builtins, name, lambda *a: 0)\ntry:\n    \
                from tools import search as s\n    s(q='x')\n    tools.web.list('y')\n    \
                tools = 5\n    from tools.web import list as l\n    l(q='z')\nfinally:\n    \
                vars(builtins).update(saved)";
    assert_eq!(
        Python::start().run(&set, &[json!({"exec": code})]),
        [json!({"sent": [
            ["search", {"q": "x"}], ["web.list", {"q": "y"}], ["web.list", {"q": "z"}],
        ]})]
    );
    assert_eq!(set.helper_name("search"), "search_");
    assert_eq!(set.helper_name("web"), "web_");
    assert_eq!(set.helper_name("describe"), "describe");
}

#[test]
fn values_go_out_as_the_very_objects_that_were_given() {
    let set = set_of(None, vec![tool("echo", json!({"properties": {"v": {}}}))]);
    let code = "import datetime, decimal\nfor v in [datetime.date(2024, 1, 2), decimal.Decimal('1.10'), \
                b'\\xff', {1, 2}, (1, 2), {None: 1}, object(), iter([]), 10**40]:\n    \
                SENT.clear()\n    tools.echo(v=v)\n    assert SENT[0][1]['v'] is v\nSENT.clear()";
    assert_eq!(
        Python::start().run(&set, &[json!({"exec": code})]),
        [json!({"sent": []})]
    );
}

#[test]
fn arguments_that_were_not_given_are_not_sent() {
    let steps = [
        call("names.f", &json!({"q": "a"})),
        call("names.f", &json!({"q": "a", "tag": null})),
        call("names.f", &json!({"q": "a", "limit": null})),
        json!({"call": "names.f", "args": ["a"]}),
        json!({"call": "names.f", "args": ["a", 5]}),
        call("names.f", &json!({})),
        call("names.f", &json!({"q": null})),
        call("names.f", &json!({"q": "a", "limt": 5})),
    ];
    let q = sent("names.f", &json!({"q": "a"}));
    assert_eq!(
        Python::start().run(&server("names"), &steps),
        [
            q.clone(),
            sent("names.f", &json!({"q": "a", "tag": null})),
            error("TypeError: names.f() argument 'limit' cannot be None; leave it out instead"),
            q,
            error("TypeError: f() takes 1 positional argument but 2 were given"),
            error("TypeError: f() missing 1 required positional argument: 'q'"),
            error("TypeError: names.f() argument 'q' cannot be None; leave it out instead"),
            error(
                "TypeError: names.f() got an unexpected keyword argument 'limt'. \
                 Did you mean 'limit'? It takes: q, limit, page, tag"
            ),
        ]
    );
}

#[test]
fn three_thousand_tools_are_all_known_and_the_catalog_stays_bounded() {
    let tools: Vec<_> = (0..3_000)
        .map(|number| tool(&format!("tool_{number}"), json!({"type": "object"})))
        .collect();
    let set = set_of(Some("big"), tools);
    assert_eq!(set.len(), 3_000);
    assert!((0..3_000).all(|number| set.resolve(&format!("big.tool_{number}")).is_some()));
    let options = CatalogOptions::default().with_search(true);
    let catalog = set.catalog(&options);
    assert!(catalog.chars().count() <= options.budget_chars);
    assert!(catalog.contains("`tools.search(\"words\")` finds functions."));
    let small = options.with_budget_chars(2_000);
    assert!(
        set.catalog(&small)
            .contains("# tools.big: 3000 functions\n")
    );
}

#[test]
fn one_odd_schema_costs_no_other_tool_anything() {
    let good =
        json!({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]});
    let odd = [
        (
            "any_of",
            json!({"anyOf": [
                {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"properties": {"b": {"type": "string"}}, "required": ["b"]},
            ]}),
        ),
        ("string", json!({"type": "string"})),
        (
            "misplaced",
            json!({"properties": {"a": {"type": "string"}, "required": ["a"]}}),
        ),
        ("missing", Value::Null),
        ("list", json!({"type": "object", "properties": []})),
        ("int", json!({"type": "int"})),
        ("number", json!(5)),
        ("text", json!("object")),
        ("boolean", json!(true)),
        (
            "required",
            json!({"type": "object", "properties": {"a": {}}, "required": {"a": true}}),
        ),
        (
            "nested",
            json!({"properties": {"a": 5, "b": null, "c": "string", "d": []}}),
        ),
        ("", json!({})),
    ];
    let mut tools: Vec<_> = odd
        .iter()
        .map(|(name, schema)| tool(name, schema.clone()))
        .collect();
    tools.insert(6, tool("good", good));
    let set = set_of(Some("s"), tools);
    let steps: Vec<_> = odd
        .iter()
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, _)| call(&format!("s.{name}"), &json!({"a": "b"})))
        .chain([call("s.good", &json!({"x": 1}))])
        .collect();
    let results = Python::start().run(&set, &steps);
    for (step, result) in steps.iter().zip(&results) {
        let path = step["call"].as_str().expect("a path");
        assert_eq!(*result, sent(path, &step["kwargs"]), "{path}");
    }
    insta::assert_snapshot!(
        set.problems()
            .iter()
            .map(|found| format!("{}: {}", found.problem.tool, found.problem.reason))
            .collect::<Vec<_>>()
            .join("\n"),
        @r#"
    tool number 13: it has no name, so nothing can call it
    boolean: its input schema is a boolean instead of an object
    int: its input schema describes no object
    list: `properties` is an array instead of an object
    misplaced: `required` stands inside `properties`
    missing: it has no input schema
    nested: a schema is a number instead of an object; a schema is null instead of an object; a schema is a string instead of an object; and 1 more
    number: its input schema is a number instead of an object
    string: its input schema describes no object
    text: its input schema is a string instead of an object
    "#
    );
}

#[test]
fn no_variant_of_a_name_resolves_to_it() {
    let set = ToolSet::build(&[
        provider(
            Some("t"),
            vec![tool("delete", json!({})), tool("do.it", json!({}))],
        ),
        provider(Some("u"), vec![tool("delete", json!({}))]),
    ]);
    for name in [
        "delete ",
        " t.delete",
        "DELETE",
        "T.DELETE",
        "ｄｅｌｅｔｅ",
        "t.ｄｅｌｅｔｅ",
        "t.delete\0",
        "t..delete",
        "tools.t.delete",
        "t.delete.x",
        ".delete",
        "",
        "delete",
    ] {
        assert!(set.resolve(name).is_none(), "{name:?}");
    }
    assert_eq!(
        set.resolve("do.it").map(|tool| tool.path()),
        Some("t.do_it")
    );
    assert_eq!(set.suggest("DELETE "), ["t.delete", "u.delete"]);
}

#[test]
fn a_raw_name_finds_its_tool_only_if_no_other_has_it() {
    let set = ToolSet::build(&[
        provider(
            Some("a"),
            vec![tool("getUser", json!({})), tool("same", json!({}))],
        ),
        provider(
            Some("b"),
            vec![tool("same", json!({})), tool("a.same", json!({}))],
        ),
    ]);
    let found = |name| set.resolve(name).map(|tool| tool.path());
    assert_eq!(found("getUser"), Some("a.getuser"));
    assert_eq!(found("same"), None);
    assert_eq!(found("a.same"), Some("a.same"));
}

#[test]
fn an_old_guest_can_import_everything() {
    let set = server("chat");
    let steps = [
        call(
            "chat.react",
            &json!({"channel": "c", "ts": "1", "name": "eyes"}),
        ),
        json!({"eval": "issubclass(tools.HTTPStatusError, Exception)"}),
        json!({"eval": "tools.ToolError.__name__"}),
        json!({"exec": "tools.nothing"}),
    ];
    assert_eq!(
        Python::start().run_in_old_guest(&set, &steps),
        [
            sent(
                "chat.react",
                &json!({"channel": "c", "ts": "1", "name": "eyes"})
            ),
            json!({"value": true}),
            json!({"value": "ToolError"}),
            error("AttributeError: module 'tools' has no attribute 'nothing'"),
        ]
    );
}

#[test]
fn the_same_name_in_two_namespaces_and_a_namespace_called_like_a_tool() {
    let set = ToolSet::build(&[
        provider(
            None,
            vec![tool("slack", json!({})), tool("other", json!({}))],
        ),
        provider(Some("Slack"), specs(r#"[{"name": "send"}]"#)),
        provider(Some("slack"), specs(r#"[{"name": "send"}]"#)),
        provider(
            Some("slack"),
            specs(r#"[{"name": "send"}, {"name": "read"}]"#),
        ),
    ]);
    let paths = paths(&set);
    assert_eq!(paths.len(), 6);
    for kept in ["slack.send", "slack.read", "other"] {
        assert!(paths.iter().any(|path| path == kept), "{kept} of {paths:?}");
    }
    let mut distinct = paths.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 6, "{paths:?}");
    assert_eq!(
        set.resolve("slack.send").map(|tool| tool.provider()),
        Some(2)
    );
}

#[test]
fn tools_are_found_by_words_and_shown_whole() {
    let set = crate::fixtures::corpus();
    let found = |words| -> Vec<_> {
        set.search(words, 3)
            .iter()
            .map(codehatch_tools::ToolRef::path)
            .collect()
    };
    assert_eq!(found("create an issue")[0], "tracker.create_issue");
    assert_eq!(
        found("issues")[..2],
        ["tracker.create_issue", "tracker.get_issue"]
    );
    assert_eq!(found("email lookup")[0], "chat.users_lookupbyemail");
    assert_eq!(found("postage rates"), [""; 0]);
    assert_eq!(found(""), [""; 0]);
    let best = set.search("merge pull", 1);
    insta::assert_snapshot!(best[0].text(), @r"
    def merge_pull(*, number: int, owner: str, repo: str, method: 'merge' | 'squash' | 'rebase' = 'merge') -> MergePullResult
        Merges a pull request.
        owner: Account that the repository belongs to
        repo: Name of the repository, without its owner
    MergePullResult = {merged: bool, sha?: str | None}
    ");
}
