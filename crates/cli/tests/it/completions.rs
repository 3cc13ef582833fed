//! Completion scripts.

use std::process::Command;

use crate::support::{Place, finish};

#[test]
fn a_script_for_every_shell_is_made() {
    let place = Place::new();
    for (shell, mark) in [
        ("bash", "complete -F _codehatch"),
        ("zsh", "#compdef codehatch"),
        ("fish", "complete -c codehatch"),
        ("elvish", "edit:completion:arg-completer[codehatch]"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let done = place.run(["completions", shell]);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""));
        assert!(done.stdout.contains(mark), "{shell}: {}", done.stdout);
        for option in ["mcp-config", "apparmor-profile", "completions", "artifacts"] {
            assert!(done.stdout.contains(option), "{shell}: {option}");
        }
    }
}

#[test]
fn scripts_are_valid_for_the_shells_that_are_here() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.write(shell, place.run(["completions", shell]).stdout);
        let checked = Command::new(shell).arg("-n").arg(&script).output();
        match checked {
            Ok(checked) => assert!(checked.status.success(), "{shell}: {checked:?}"),
            // Bash is everywhere that these tests run; of the others not every machine has one.
            Err(error) => assert_ne!(shell, "bash", "{error}"),
        }
    }
}

#[test]
fn bash_completes_commands_options_and_values() {
    let place = Place::new();
    place.write("codehatch.bash", place.run(["completions", "bash"]).stdout);
    let complete = |line: &str| {
        let script = "source codehatch.bash\nCOMP_WORDS=($1)\n[ \"${1: -1}\" = ' ' ] && COMP_WORDS+=('')\n\
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n\
            _codehatch codehatch \"${COMP_WORDS[-1]}\" \"${COMP_WORDS[-2]}\"\necho \"${COMPREPLY[@]}\"";
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", script, "bash", line]);
        place.settle(&mut bash);
        let done = finish(bash);
        assert_eq!(done.stderr, "");
        done.stdout.trim_end().to_owned()
    };
    assert_eq!(complete("codehatch do"), "doctor");
    assert_eq!(complete("codehatch run --art"), "--artifacts");
    assert_eq!(
        complete("codehatch tools --format "),
        "catalog names stubs json"
    );
}
