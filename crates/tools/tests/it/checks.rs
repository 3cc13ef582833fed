//! What Python and a type checker say of everything that is generated from the corpus.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use codehatch_tools::ToolSet;
use serde_json::{Value, json};

use crate::{
    fixtures::corpus,
    python::{Python, call},
};

/// Writes the package into a new directory, beside a guest's module that it imports.
fn written(set: &ToolSet) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let tools = dir.path().join("tools");
    let guest = dir.path().join("adk_code_mode_sandbox");
    for path in [&tools, &guest] {
        fs::create_dir(path).expect("a new directory");
    }
    for file in set.files().iter() {
        fs::write(tools.join(file.path()), file.source()).expect("a file can be written");
    }
    let client = "from typing import Any\n\n\nclass ToolError(RuntimeError): ...\n\n\n\
                  class HTTPStatusError(Exception): ...\n\n\n\
                  def call(name: str, args: dict[str, Any]) -> Any: ...\n";
    fs::write(guest.join("__init__.py"), "").expect("a file can be written");
    fs::write(guest.join("_rpc_client.py"), client).expect("a file can be written");
    dir
}

fn test_env() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-env");
    std::env::var_os("CODEHATCH_TEST_ENV").map_or(default, PathBuf::from)
}

/// Runs `ty` in `dir`; returns whether it is content, and what it says.
fn check_types(dir: &Path) -> (bool, String) {
    let bin = test_env().join("checkers/bin");
    let output = Command::new(bin.join("ty"))
        .args(["check", "--output-format", "concise", "--python"])
        .arg(bin.join("python"))
        .arg("--project")
        .arg(dir)
        .arg(dir)
        .output()
        .expect("ty is installed: run scripts/test-env");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), said)
}

#[test]
fn the_corpus_is_large_enough() {
    assert!(corpus().len() >= 60, "{}", corpus().len());
}

#[test]
fn every_module_compiles_without_a_warning() {
    let dir = written(&corpus());
    let mut modules: Vec<_> = fs::read_dir(dir.path().join("tools"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    modules.sort();
    let output = Command::new("python3")
        .args(["-W", "error", "-m", "py_compile"])
        .args(&modules)
        .output()
        .expect("python3 is installed");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
}

#[test]
fn a_type_checker_finds_nothing_wrong() {
    let dir = written(&corpus());
    assert_eq!(
        check_types(dir.path()),
        (true, "All checks passed!\n".to_owned())
    );
}

#[test]
fn a_type_checker_finds_the_mistakes_of_a_program() {
    let dir = written(&corpus());
    let program = "from tools.names import f\nfrom tools.tracker import create_issue, get_issue\n\n\
                   f(\"a\", limit=3)\nissue = get_issue(owner=\"o\", repo=\"r\", issue_number=1)\n\
                   print(issue[\"title\"].upper())\n\
                   f(\"a\", limt=3)\nprint(issue[\"titel\"])\ncreate_issue(owner=\"o\", repo=\"r\")\n\
                   f(q=1)\n";
    fs::write(dir.path().join("program.py"), program).expect("a file can be written");
    let (_, said) = check_types(dir.path());
    let found: Vec<_> = said
        .lines()
        .filter_map(|line| line.split_once("/program.py:")?.1.split(':').next())
        .collect();
    assert_eq!(found, ["7", "8", "9", "10"], "{said}");
}

#[test]
fn guests_of_other_releases_can_call_every_function() {
    let set = corpus();
    let dir = written(&set);
    let own_guest = dir.path().join("adk_code_mode_sandbox");
    fs::remove_dir_all(own_guest).expect("it was just written");
    let modules = json!(
        set.files()
            .iter()
            .map(|file| file.path().trim_end_matches(".py"))
            .collect::<Vec<_>>()
    );
    let program = format!(
        "import importlib, sys\nfrom adk_code_mode_sandbox import _rpc_client\n\
         _rpc_client.call = lambda name, args, timeout=None: (name, args)\n\
         sys.path.insert(0, sys.argv[1])\nimport tools\nfor name in {modules}:\n    \
         importlib.import_module('tools.' + name.replace('__init__', '_stub'))\n\
         assert tools.names.f('a') == ('names.f', {{'q': 'a'}})\n\
         assert issubclass(tools.ToolError, Exception) and tools.HTTPStatusError"
    );
    for release in ["0.1.0", "2.0.0"] {
        let python = test_env().join(format!("reference-{release}/bin/python"));
        let output = Command::new(python)
            .args(["-W", "error", "-B", "-c", &program])
            .arg(dir.path())
            .output()
            .expect("the releases are installed: run scripts/test-env");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{release}");
        assert!(output.status.success(), "{release}");
    }
}

/// Arguments for a tool: the least that its signature takes.
fn arguments(schema: &Value) -> Value {
    let properties = &schema["properties"];
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let value = |name: &Value| {
        let name = name.as_str().expect("a name");
        (
            name.to_owned(),
            properties[name]
                .get("default")
                .cloned()
                .unwrap_or(json!("v")),
        )
    };
    required.iter().map(value).collect()
}

#[test]
fn every_function_sends_what_it_is_given_whole_or_cut_out() {
    let set = corpus();
    let mut steps = Vec::new();
    let mut expected = Vec::new();
    for tool in set.iter() {
        let mut args = arguments(&tool.spec().input_schema);
        if tool.attribute() == "defaults" {
            // A null that its schema does not allow.
            args["bad"] = json!(1);
        }
        if tool.attribute() == "misplaced_required" || tool.attribute() == "required_true" {
            args = json!({"a": "v"});
        }
        for sliced in [false, true] {
            let mut step = call(tool.path(), &args);
            step["sliced"] = json!(sliced);
            steps.push(step);
            expected.push(json!({"sent": [[tool.path(), args]]}));
        }
    }
    let results = Python::start().run(&set, &steps);
    for (step, (result, expected)) in steps.iter().zip(results.iter().zip(&expected)) {
        assert_eq!(result, expected, "{step}");
    }
}

#[test]
fn every_module_is_a_preamble_and_blocks() {
    let set = corpus();
    for file in set.files().iter().filter(|file| file.path() != "_stub.py") {
        let mut in_blocks = false;
        for line in file.source().lines() {
            let starts = line.chars().next().is_some_and(|c| c != ' ');
            let is_block = line.starts_with("def ")
                || line.starts_with("class ")
                || line.split_once(" = ").is_some_and(|(name, _)| {
                    name.bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                });
            in_blocks |= is_block;
            assert!(!starts || !in_blocks || is_block, "{}: {line}", file.path());
        }
        assert!(in_blocks, "{}", file.path());
    }
}

#[test]
fn python_takes_the_modules_apart_the_same_way() {
    let set = corpus();
    for file in set.files().iter().filter(|file| file.path() != "_stub.py") {
        let module = file.path().trim_end_matches(".py");
        let names: Vec<_> = set
            .iter()
            .filter(|tool| tool.namespace().unwrap_or("__init__") == module)
            .map(|tool| tool.attribute().to_owned())
            .collect();
        let code = format!(
            "sorted(name for name, text in blocks({})[1].items() if text.startswith('def '))",
            json!(file.source())
        );
        assert_eq!(
            Python::start().run(&set, &[json!({"eval": code})]),
            [json!({"value": names})],
            "{module}"
        );
    }
}
