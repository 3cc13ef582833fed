//! The threat model's table: each row has its tests.

use std::collections::BTreeSet;

const TABLE: &str = include_str!("../../../../../docs/threat-model.md");
const TESTS: &[&str] = &[
    include_str!("artifacts.rs"),
    include_str!("channel.rs"),
    include_str!("files.rs"),
    include_str!("kernel.rs"),
    include_str!("network.rs"),
    include_str!("resources.rs"),
    include_str!("zygote.rs"),
];

/// The name of a row's test at the start of `text`: `t07_…`.
fn name(text: &str) -> Option<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
    let name = text.get(..end)?;
    let (number, _) = name.strip_prefix('t')?.split_once('_')?;
    (number.len() == 2 && number.parse::<u32>().is_ok()).then_some(name)
}

#[test]
fn every_row_of_the_threat_model_has_its_tests() {
    let told: BTreeSet<&str> = TABLE.split('`').filter_map(name).collect();
    let written: BTreeSet<&str> = TESTS
        .iter()
        .flat_map(|source| source.lines())
        .filter_map(|line| {
            let line = line.trim_start();
            let test = line.strip_prefix("threat! { ");
            name(test.or_else(|| line.strip_prefix("fn "))?)
        })
        .collect();
    let without_test: Vec<&&str> = told.difference(&written).collect();
    assert!(without_test.is_empty(), "{without_test:?}");
    let numbers: Vec<u32> = told
        .iter()
        .filter_map(|name| name.get(1..3)?.parse().ok())
        .collect::<BTreeSet<u32>>()
        .into_iter()
        .collect();
    assert_eq!(numbers, (1..=54).collect::<Vec<u32>>());
}
