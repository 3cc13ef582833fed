use std::io::Write;

use super::*;

/// A file with these contents and this time of its last change.
fn entry(path: &str, contents: &[u8], changed_ns: i128) -> Entry {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(contents).expect("room for it");
    std::io::Seek::rewind(&mut file).expect("seekable");
    let stamp = Stamp {
        bytes: contents.len() as u64,
        inode: 1,
        modified_ns: changed_ns,
        changed_ns,
    };
    Entry {
        path: path.to_owned(),
        file,
        stamp,
    }
}

fn changes(collected: &Collected) -> Vec<(&str, Change)> {
    collected
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.change))
        .collect()
}

const SECOND: i128 = 1_000_000_000;

fn compare(baseline: &mut Baseline, entries: Vec<Entry>, now_ns: i128) -> Collected {
    baseline.compare(entries, Vec::new(), CollectLimits::default(), now_ns)
}

#[test]
fn each_change_is_reported_once() {
    let mut baseline = Baseline::default();
    let first = compare(
        &mut baseline,
        vec![entry("p.png", b"one", SECOND)],
        2 * SECOND,
    );
    assert_eq!(changes(&first), [("p.png", Change::Created)]);
    let second = compare(
        &mut baseline,
        vec![entry("p.png", b"one", SECOND)],
        3 * SECOND,
    );
    assert_eq!(changes(&second), []);
    let third = compare(
        &mut baseline,
        vec![entry("p.png", b"two", 4 * SECOND)],
        5 * SECOND,
    );
    assert_eq!(changes(&third), [("p.png", Change::Changed)]);
    let fourth = compare(&mut baseline, vec![], 6 * SECOND);
    assert_eq!(changes(&fourth), []);
    assert_eq!(fourth.deleted, ["p.png"]);
    let fifth = compare(
        &mut baseline,
        vec![entry("p.png", b"one", 6 * SECOND)],
        7 * SECOND,
    );
    assert_eq!(changes(&fifth), [("p.png", Change::Created)]);
}

#[test]
fn a_rewrite_within_one_tick_of_the_clock_is_noticed() {
    let mut baseline = Baseline::default();
    compare(&mut baseline, vec![entry("a", b"one", SECOND)], SECOND + 1);
    let again = compare(&mut baseline, vec![entry("a", b"two", SECOND)], SECOND + 2);
    assert_eq!(changes(&again), [("a", Change::Changed)]);
}

#[test]
fn a_file_that_was_touched_but_not_changed_is_not_reported() {
    let mut baseline = Baseline::default();
    compare(&mut baseline, vec![entry("a", b"same", SECOND)], 2 * SECOND);
    let touched = compare(
        &mut baseline,
        vec![entry("a", b"same", 3 * SECOND)],
        4 * SECOND,
    );
    assert_eq!(changes(&touched), []);
}

#[test]
fn what_the_host_wrote_is_not_the_blocks() {
    let mut baseline = Baseline::default();
    let input = entry("in.csv", b"1,2", SECOND);
    baseline.note("in.csv", input.stamp, b"1,2");
    assert_eq!(
        changes(&compare(&mut baseline, vec![input], 2 * SECOND)),
        []
    );
}

#[test]
fn limits_skip_with_a_reason_and_lose_nothing_of_the_rest() {
    let limits = CollectLimits {
        file_bytes: 3,
        total_bytes: 4,
        files: 10,
        entries: 10,
    };
    let mut baseline = Baseline::default();
    let entries = vec![
        entry("a", b"123", SECOND),
        entry("b", b"1234", SECOND),
        entry("c", b"12", SECOND),
        entry("d", b"1", SECOND),
    ];
    let collected = baseline.compare(entries, Vec::new(), limits, 2 * SECOND);
    assert_eq!(
        changes(&collected),
        [("a", Change::Created), ("d", Change::Created)]
    );
    let reasons: Vec<(&str, &str)> = collected
        .skipped
        .iter()
        .map(|file| (file.path.as_str(), file.reason.as_str()))
        .collect();
    assert_eq!(
        reasons,
        [
            ("b", "4 bytes are more than the limit of 3"),
            ("c", "the files of this block are more than 4 bytes"),
        ]
    );
}

#[test]
fn only_plain_relative_paths_are_taken() {
    for good in ["a", "a/b.txt", "ü/…/x y", ".hidden", "..."] {
        assert!(check_path(good).is_ok(), "{good}");
    }
    let deep = ["d"; 40].join("/");
    let long = "x".repeat(2_000);
    for bad in [
        "",
        "/etc/passwd",
        "../../x",
        "a/../b",
        "a//b",
        "./a",
        "a\nb",
        "a\0b",
        &deep,
        &long,
    ] {
        assert!(check_path(bad).is_err(), "{bad}");
    }
}
