//! What models and guests read, to the letter.

use codehatch_tools::{CatalogOptions, Environment};

use crate::fixtures::{corpus, server};

/// The catalog of one server, without the introduction that all share.
fn tools_of(name: &str) -> String {
    let catalog = server(name).catalog(&CatalogOptions::default());
    let (_, tools) = catalog
        .split_once("<tools-package>\n")
        .expect("there are tools");
    tools.to_owned()
}

fn source(server_name: &str, path: &str) -> String {
    let files = server(server_name).files();
    let file = files.iter().find(|file| file.path() == path);
    file.expect("a file of the package").source().to_owned()
}

fn environment() -> Environment {
    let package = |name: &str, version: &str| [(name.to_owned(), version.to_owned())].into();
    Environment {
        python_version: "3.12.1".to_owned(),
        packages: [
            ("numpy".to_owned(), package("numpy", "2.1.0")),
            ("PIL".to_owned(), package("pillow", "11.0.0")),
            ("evil".to_owned(), package("</installed-packages>", "1\n2")),
        ]
        .into(),
    }
}

#[test]
fn catalogs() {
    for name in ["tracker", "chat", "files", "shop", "odd", "names"] {
        insta::assert_snapshot!(format!("catalog_{name}"), tools_of(name));
    }
}

#[test]
fn stubs() {
    for name in ["tracker", "files", "odd", "names"] {
        let path = format!("{name}.py");
        insta::assert_snapshot!(format!("stub_{name}"), source(name, &path));
    }
    insta::assert_snapshot!("stub_package", source("tracker", "__init__.py"));
}

#[test]
fn whole_blocks_within_several_budgets() {
    let set = corpus();
    let options = CatalogOptions::default().with_environment(environment());
    for budget in [1_500, 2_500, 5_000, 12_000] {
        let block = set.catalog(&options.clone().with_budget_chars(budget));
        assert!(block.chars().count() <= budget, "{budget}");
        insta::assert_snapshot!(format!("block_{budget}"), block);
    }
    let least = set.catalog(&options.with_budget_chars(0).with_search(true));
    insta::assert_snapshot!("block_0", least);
}

#[test]
fn no_tools_are_no_section() {
    let none = codehatch_tools::ToolSet::build(&[]);
    insta::assert_snapshot!(
        "block_without_tools",
        none.catalog(&CatalogOptions::default())
    );
    let paths: Vec<_> = none
        .files()
        .iter()
        .map(|file| file.path().to_owned())
        .collect();
    assert_eq!(paths, ["__init__.py", "_stub.py"]);
}
