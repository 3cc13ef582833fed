//! What may change when tools change, and what may not.

use std::sync::Arc;

use codehatch_tools::{CatalogOptions, Listing, ProviderTools, ToolProblem, ToolSet, ToolSpec};
use serde_json::json;

use crate::fixtures::{SERVERS, provider, server, set_of, specs};

fn texts(set: &ToolSet) -> (String, Vec<(String, String)>) {
    let files = set.files();
    let files = files
        .iter()
        .map(|file| (file.path().to_owned(), file.source().to_owned()));
    (
        set.catalog(&CatalogOptions::default()).to_string(),
        files.collect(),
    )
}

#[test]
fn the_order_of_a_listing_changes_nothing() {
    for (name, json) in SERVERS {
        let mut tools = specs(json);
        let before = set_of(Some(name), tools.clone());
        tools.reverse();
        let third = tools.len() / 3;
        tools.rotate_left(third);
        let after = set_of(Some(name), tools);
        assert_eq!(texts(&before), texts(&after), "{name}");
        assert_eq!(before.fingerprint(), after.fingerprint(), "{name}");
    }
}

#[test]
fn a_tool_listed_twice_is_one_tool_whichever_comes_first() {
    let one = ToolSpec::new("a", json!({})).with_description("one");
    let two = ToolSpec::new("a", json!({})).with_description("two");
    let before = set_of(None, vec![one.clone(), two.clone()]);
    let after = set_of(None, vec![two, one]);
    assert_eq!(texts(&before), texts(&after));
    assert_eq!(before.len(), 1);
    assert_eq!(
        before.problems()[0].problem,
        ToolProblem {
            tool: "a".to_owned(),
            reason: "listed 2 times; one of them is offered".to_owned(),
        }
    );
}

#[test]
fn a_further_tool_leaves_the_lines_of_all_others_as_they_are() {
    for (name, json) in SERVERS {
        let all = specs(json);
        let whole = set_of(Some(name), all.clone()).catalog(&CatalogOptions::default());
        let whole: Vec<_> = whole.lines().collect();
        for left_out in 0..all.len() {
            // Of tools that clash, each tells the others apart.
            if all[left_out].name.starts_with("doc") {
                continue;
            }
            let mut fewer = all.clone();
            fewer.remove(left_out);
            let fewer = set_of(Some(name), fewer).catalog(&CatalogOptions::default());
            for line in fewer.lines() {
                assert!(whole.contains(&line), "{name} without {left_out}: {line}");
            }
        }
    }
}

#[test]
fn another_namespace_changes_nothing_within_the_others() {
    let alone = server("tracker");
    let both = ToolSet::build(&[
        provider(Some("chat"), specs(SERVERS[1].1)),
        provider(Some("tracker"), specs(SERVERS[0].1)),
    ]);
    let source = |set: &ToolSet| {
        let files = set.files();
        let file = files.iter().find(|file| file.path() == "tracker.py");
        file.expect("its module").source().to_owned()
    };
    assert_eq!(source(&alone), source(&both));
    let catalog = both.catalog(&CatalogOptions::default());
    let (_, tools) = alone
        .catalog(&CatalogOptions::default())
        .split_once("<tools-package>\n")
        .map(|(head, tools)| (head.to_owned(), tools.to_owned()))
        .expect("there are tools");
    assert!(catalog.ends_with(&tools));
}

#[test]
fn equal_types_of_several_tools_are_one_and_different_ones_are_told_apart() {
    let tool = |name: &str, kind: &str| {
        let defs = json!({"Item": {"type": "object", "properties": {"id": {"type": kind}}}});
        ToolSpec::new(name, json!({})).with_output_schema(
            json!({"type": "array", "items": {"$ref": "#/$defs/Item"}, "$defs": defs}),
        )
    };
    let set = set_of(
        None,
        vec![
            tool("a", "integer"),
            tool("b", "string"),
            tool("c", "integer"),
            tool("d", "string"),
        ],
    );
    let returns: Vec<_> = set
        .iter()
        .map(|tool| tool.signature().split("-> ").nth(1).expect("a type"))
        .collect();
    assert_eq!(
        returns,
        [
            "list[Item_krol]",
            "list[Item]",
            "list[Item_krol]",
            "list[Item]"
        ]
    );
}

#[test]
fn every_part_of_a_tool_changes_the_fingerprint() {
    let base = || ToolSpec::new("a", json!({"type": "object"})).with_description("d");
    let annotations = codehatch_tools::Annotations {
        read_only: Some(false),
        ..Default::default()
    };
    let variants = [
        base(),
        ToolSpec::new("b", json!({"type": "object"})).with_description("d"),
        ToolSpec::new("a", json!({"type": "array"})).with_description("d"),
        base().with_description("e"),
        base().with_output_schema(json!(null)),
        base().with_annotations(annotations),
    ];
    let mut prints: Vec<_> = variants
        .into_iter()
        .map(|tool| set_of(Some("n"), vec![tool]).fingerprint().to_string())
        .collect();
    prints.push(set_of(Some("m"), vec![base()]).fingerprint().to_string());
    prints.push(ToolSet::build(&[]).fingerprint().to_string());
    let count = prints.len();
    prints.sort_unstable();
    prints.dedup();
    assert_eq!(prints.len(), count);
}

#[test]
fn what_did_not_change_is_not_rendered_again() {
    let listing = |json| {
        Arc::new(Listing {
            tools: specs(json),
            problems: Vec::new(),
        })
    };
    let tracker = listing(SERVERS[0].1);
    let chat = listing(SERVERS[1].1);
    let providers = |tracker: &Arc<Listing>, chat: &Arc<Listing>| {
        let tools = |namespace, listing: &Arc<Listing>| ProviderTools {
            namespace: Some(namespace),
            listing: Arc::clone(listing),
        };
        [tools("tracker", tracker), tools("chat", chat)]
    };
    let set = ToolSet::build(&providers(&tracker, &chat));
    let address = |set: &ToolSet, path: &str| {
        let files = set.files();
        let file = files.iter().find(|file| file.path() == path);
        file.expect("a file").source().as_ptr()
    };

    let same = set.update(&providers(&tracker, &chat));
    assert!(Arc::ptr_eq(&set.files(), &same.files()));
    let options = CatalogOptions::default();
    assert!(Arc::ptr_eq(&set.catalog(&options), &same.catalog(&options)));

    let mut changed = Listing::clone(&chat);
    changed.tools[0].description.push('!');
    let changed = set.update(&providers(&listing(SERVERS[0].1), &Arc::new(changed)));
    for path in ["tracker.py", "__init__.py"] {
        assert_eq!(address(&set, path), address(&changed, path), "{path}");
    }
    assert_ne!(address(&set, "chat.py"), address(&changed, "chat.py"));
    assert_ne!(set.fingerprint(), changed.fingerprint());

    let fewer = set.update(&providers(&tracker, &Arc::default()));
    assert_eq!(address(&set, "tracker.py"), address(&fewer, "tracker.py"));
    assert_ne!(address(&set, "__init__.py"), address(&fewer, "__init__.py"));
    assert!(fewer.resolve("chat.react").is_none());
}

#[test]
fn a_set_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<ToolSet>();
    let set = server("tracker");
    let texts = || (set.catalog(&CatalogOptions::default()), set.files().len());
    std::thread::scope(|scope| {
        let other = scope.spawn(texts);
        assert_eq!(texts(), other.join().expect("it does not panic"));
    });
}
