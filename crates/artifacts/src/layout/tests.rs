use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::name::{InvalidName, MAX_NAME_BYTES, MAX_SEGMENT_BYTES, MAX_SEGMENTS, NameFault};

fn name(text: &str) -> ArtifactName {
    ArtifactName::parse(text).expect("a valid name")
}

fn layout() -> Layout {
    Layout::new(Path::from("turns/t1"))
}

/// Texts made of what has troubled stores before, more often than of anything.
fn texts() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "/",
        "..",
        ".",
        "%",
        "%2F",
        "%2e",
        "~",
        "v0",
        "v1",
        "V0",
        " ",
        "a",
        "A",
        "é",
        "e\u{301}",
        "É",
        "ß",
        "SS",
        "\u{202e}",
        "#1",
        ":",
        "nul",
        "-",
        "\\",
        "\n",
        ".artifact.json",
        ".staging",
        "日本",
        "😀",
        "İ",
        "K",
        "k",
    ]);
    prop_oneof![
        3 => prop::collection::vec(odd, 0..8).prop_map(|parts| parts.concat()),
        1 => any::<String>(),
    ]
}

/// What a file system that ignores case takes for the same path. It never joins more than this does.
fn folded(path: &Path) -> String {
    path.as_ref().to_uppercase().to_lowercase()
}

proptest! {
    #[test]
    fn a_stored_name_reads_back_to_the_letter(text in texts(), version in any::<u32>()) {
        if let Ok(name) = ArtifactName::parse(&text) {
            prop_assert_eq!(name.as_str(), &text);
            let layout = layout();
            prop_assert_eq!(
                layout.parse(&layout.record(&name, version)),
                Some((name.clone(), version, Part::Record))
            );
            prop_assert_eq!(
                layout.parse(&layout.bytes(&name, version)),
                Some((name, version, Part::Bytes))
            );
        }
    }

    #[test]
    fn no_name_leaves_the_root_or_enters_the_staging_area(text in texts()) {
        if let Ok(name) = ArtifactName::parse(&text) {
            let layout = layout();
            let object = layout.bytes(&name, 0);
            prop_assert!(object.as_ref().starts_with("turns/t1/"));
            let segments: Vec<&str> = object.as_ref().split('/').collect();
            let safe = |segment: &&str| {
                !segment.is_empty() && !segment.starts_with('.') && segment.len() < 255
            };
            prop_assert!(segments.iter().all(safe));
        }
    }

    #[test]
    fn different_names_share_no_path_even_where_case_is_ignored(
        texts in prop::collection::vec(texts(), 2..20)
    ) {
        let layout = layout();
        let mut owners = BTreeMap::new();
        for name in texts.iter().filter_map(|text| ArtifactName::parse(text).ok()) {
            let directory = folded(&layout.artifact(&name));
            let owner = owners.entry(directory).or_insert_with(|| name.clone());
            prop_assert_eq!(&*owner, &name);
        }
        // No artifact's file stands where another's directory has to be.
        for owner in owners.values() {
            for object in [layout.bytes(owner, 0), layout.record(owner, 0)] {
                let object = folded(&object);
                let below = format!("{object}/");
                let in_the_way =
                    |directory: &String| *directory == object || directory.starts_with(&below);
                prop_assert!(!owners.keys().any(in_the_way));
            }
        }
    }
}

#[test]
fn a_person_finds_the_file_under_its_name() {
    let layout = Layout::new(Path::ROOT);
    let paths = |text| {
        let name = name(text);
        [layout.bytes(&name, 0), layout.record(&name, 12)].map(String::from)
    };
    insta::assert_debug_snapshot!(
        [paths("report.csv"), paths("code_mode/stdout/ab12.txt"), paths("docs/Größe 50%.txt")],
        @r#"
    [
        [
            "report.csv/v0/report.csv",
            "report.csv/v12/.artifact.json",
        ],
        [
            "code_mode/stdout/ab12.txt/v0/ab12.txt",
            "code_mode/stdout/ab12.txt/v12/.artifact.json",
        ],
        [
            "docs/Größe 50%25.txt~a421820b6d26fb62/v0/Größe 50%25.txt",
            "docs/Größe 50%25.txt~a421820b6d26fb62/v12/.artifact.json",
        ],
    ]
    "#
    );
}

#[test]
fn what_other_programs_put_there_is_not_an_artifact() {
    for object in [
        "turns/t1/report.csv",
        "turns/t1/v0/report.csv",
        "turns/t1/report.csv/v0/other.csv",
        "turns/t1/report.csv/v00/report.csv",
        "turns/t1/REPORT.csv/v0/REPORT.csv",
        "turns/t1/.staging/w/upload-1",
        "turns/t2/report.csv/v0/report.csv",
        "turns/t11/report.csv/v0/report.csv",
    ] {
        let path = Path::parse(object).expect("a path");
        assert_eq!(layout().parse(&path), None, "{object}");
    }
}

#[test]
fn a_name_that_is_refused_says_why() {
    let fault = |text: &str| ArtifactName::parse(text).expect_err("refused").fault;
    let long = |bytes: usize| "x".repeat(bytes);
    assert_eq!(fault(""), NameFault::Empty);
    assert_eq!(fault("/etc/passwd"), NameFault::Absolute);
    assert_eq!(fault("a//b"), NameFault::EmptySegment);
    assert_eq!(fault("a/"), NameFault::EmptySegment);
    assert_eq!(fault("../x"), NameFault::DotSegment);
    assert_eq!(fault("a/./b"), NameFault::DotSegment);
    assert_eq!(fault("a\\..\\b"), NameFault::Backslash);
    assert_eq!(fault("a\nb"), NameFault::Control);
    assert_eq!(fault("a\u{85}b"), NameFault::Control);
    assert_eq!(fault("a\0"), NameFault::Control);
    assert_eq!(
        fault(&long(MAX_SEGMENT_BYTES + 1)),
        NameFault::SegmentTooLong { stored: 201 }
    );
    assert_eq!(
        fault(&"%".repeat(67)),
        NameFault::SegmentTooLong { stored: 201 }
    );
    assert_eq!(fault(&long(600)), NameFault::TooLong { stored: 600 });
    let deep = "%%/".repeat(5) + &vec!["%".repeat(55); 3].join("/");
    assert_eq!(fault(&deep), NameFault::TooLong { stored: 532 });
    assert_eq!(
        fault(&"a/".repeat(17).as_str()[..33]),
        NameFault::TooDeep { segments: 17 }
    );
    for good in [
        long(MAX_SEGMENT_BYTES),
        vec![long(170); 3].join("/"),
        vec!["a"; MAX_SEGMENTS].join("/"),
    ] {
        assert_eq!(name(&good).as_str(), good);
    }
    assert_eq!(vec![long(170); 3].join("/").len(), MAX_NAME_BYTES);
}

#[test]
fn the_message_names_the_text_and_the_fault() {
    let InvalidName { name, fault } = ArtifactName::parse("../../x\u{7}").expect_err("refused");
    let message = InvalidName { name, fault }.to_string();
    insta::assert_snapshot!(
        message,
        @r#"invalid artifact name "../../x\u{7}": it has a control character; use printable characters"#
    );
}
