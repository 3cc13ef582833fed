//! Every CPython that is installed and new enough can be the one in the sandbox.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use codehatch::Ending;

use crate::support::{Setup, json, tools};

/// Interpreters by version, from 3.9 on: of `PATH`, of the system, of pyenv, and those named in
/// `CODEHATCH_TEST_PYTHONS`, separated by colons.
fn installed() -> BTreeMap<String, PathBuf> {
    let mut candidates: Vec<PathBuf> = Vec::new();
    let named = env::var_os("CODEHATCH_TEST_PYTHONS").unwrap_or_default();
    candidates.extend(env::split_paths(&named));
    for directory in env::split_paths(&env::var_os("PATH").unwrap_or_default()) {
        candidates.push(directory.join("python3"));
        candidates.extend((9..20).map(|minor| directory.join(format!("python3.{minor}"))));
    }
    candidates.push("/usr/bin/python3".into());
    let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
    let pyenv = env::var_os("PYENV_ROOT").map_or_else(|| home.join(".pyenv"), PathBuf::from);
    if let Ok(versions) = fs::read_dir(pyenv.join("versions")) {
        candidates.extend(
            versions
                .flatten()
                .map(|version| version.path().join("bin/python3")),
        );
    }
    let mut found = BTreeMap::new();
    for candidate in candidates {
        if let Some(version) = version_of(&candidate) {
            found.entry(version).or_insert(candidate);
        }
    }
    found
}

/// The version of an interpreter that is one, and new enough.
fn version_of(program: &Path) -> Option<String> {
    let ask = "import sys\nif sys.version_info >= (3, 9) and sys.implementation.name == 'cpython': \
               print(*sys.version_info[:3], sep='.')";
    let mut command = Command::new(program);
    let output = command
        .args(["-I", "-c", ask])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let version = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !version.is_empty()).then_some(version)
}

#[tokio::test]
async fn every_python_that_is_installed_runs() {
    let found = installed();
    assert!(!found.is_empty(), "no Python from 3.9 on");
    for (version, python) in found {
        let setup = Setup::new()
            .python(&python)
            .tool(tools::echo())
            .block_time(1500);
        let mut session = setup.start().await;
        let what = format!("{version} at {}", python.display());
        let own = session
            .run("import sys\n'.'.join(map(str, sys.version_info[:3]))")
            .await;
        assert_eq!(json(&own), format!("\"{version}\""), "{what}");
        let environment = session.engine.environment().await.expect("an environment");
        assert_eq!(environment.python_version, version, "{what}");
        let program = "
            import asyncio, ctypes, hashlib, multiprocessing, sqlite3, ssl, subprocess, threading, zlib
            from tools import echo
            one = echo(x=[1, 2.5, None, '€'])['x']
            two = await asyncio.gather(echo.aio(x=1), echo.aio(x=2))
            three = subprocess.run([sys.executable, '-c', 'print(3)'], capture_output=True, text=True).stdout
            (one, two, three, sqlite3.connect(':memory:').execute('select 4').fetchone())
            ";
        let expected = r#"[[1,2.5,null,"€"],[{"x":1},{"x":2}],"3\n",[4]]"#;
        assert_eq!(json(&session.run(program).await), expected, "{what}");
        let outcome = session
            .raises("def f():\n    raise ValueError('no')\nf()")
            .await;
        assert_eq!(
            super::blocks::without_marks(&outcome.stderr.text),
            "Traceback (most recent call last):\n  File \"<block 3>\", line 3, in <module>\n    f()\n  \
             File \"<block 3>\", line 2, in f\n    raise ValueError('no')\nValueError: no\n",
            "{what}"
        );
        let outcome = session.outcome("kept = 1\nwhile True: pass").await;
        assert!(
            matches!(outcome.ending, Ending::Interrupted { .. }),
            "{what}: {:?}",
            outcome.ending
        );
        assert_eq!(session.prints("print(kept)").await, "1\n", "{what}");
        session.close().await;
    }
}
