//! What a person at a terminal sees: progress while it is quiet, and Ctrl-C.

use std::{
    fs::File,
    io::{Read, Write},
    num::NonZeroU16,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use rustix::{pty, termios};
use serde_json::json;

use crate::support::{Place, code_of, fake_table, until, wait_status};

const ROWS: NonZeroU16 = NonZeroU16::new(24).unwrap();
const COLUMNS: NonZeroU16 = NonZeroU16::new(100).unwrap();

/// The command on a terminal of its own.
struct Terminal {
    keyboard: File,
    screen: Arc<Mutex<vt100::Parser>>,
    child: Child,
}

impl Terminal {
    /// Starts a command line, such as `codehatch run a.py`. `stdout` takes its output, else the terminal does.
    fn start(place: &Place, arguments: &[&str], stdout: Option<File>) -> Self {
        let master =
            pty::openpt(pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY).expect("a terminal");
        pty::grantpt(&master).expect("granted");
        pty::unlockpt(&master).expect("unlocked");
        let name = pty::ptsname(&master, Vec::new()).expect("a name");
        let size = termios::Winsize {
            ws_row: ROWS.get(),
            ws_col: COLUMNS.get(),
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        termios::tcsetwinsize(&master, size).expect("set");
        let path = name.to_str().expect("UTF-8");
        let slave = File::options()
            .read(true)
            .write(true)
            .open(path)
            .expect("the terminal");
        // It becomes the terminal of a new session, so that Ctrl-C has an effect.
        let mut command = Command::new("setsid");
        command
            .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_codehatch")])
            .args(arguments);
        place.settle(&mut command);
        let copy = || Stdio::from(slave.try_clone().expect("a copy"));
        command
            .env("TERM", "xterm-256color")
            .stdin(copy())
            .stderr(copy());
        command.stdout(stdout.map_or_else(copy, Stdio::from));
        let child = command.spawn().expect("it starts");
        let screen = Arc::new(Mutex::new(vt100::Parser::new(ROWS, COLUMNS, 0)));
        let mut output = File::from(master.try_clone().expect("a copy"));
        let parser = Arc::clone(&screen);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The terminal's end is an error on Linux.
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                parser
                    .lock()
                    .expect("unpoisoned")
                    .process(&buffer[..length]);
            }
        });
        Self {
            keyboard: master.into(),
            screen,
            child,
        }
    }

    /// The lines on the screen, without empty ones at the end.
    fn text(&self) -> String {
        let screen = self.screen.lock().expect("unpoisoned");
        screen.screen().contents().trim_end().to_owned()
    }

    fn wait_for(&self, what: &str) {
        until(&format!("`{what}` on the screen"), || {
            self.text().contains(what)
        });
    }

    fn press(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).expect("written");
    }

    /// The exit code, and what is on the screen at the end.
    fn end(mut self) -> (i32, String) {
        let code = code_of(wait_status(&mut self.child));
        // Everything was written before the end, but may not have been read.
        let mut text = self.text();
        until("a screen that stays", || {
            crate::support::pause(std::time::Duration::from_millis(100));
            let now = self.text();
            std::mem::replace(&mut text, now) == text
        });
        (code, text)
    }
}

const CTRL_C: &[u8] = b"\x03";

#[test]
fn a_quiet_block_shows_that_it_runs_and_leaves_no_trace() {
    let place = Place::new();
    place.write("quiet.py", "import time\ntime.sleep(1.2)\nprint('done')");
    let terminal = Terminal::start(&place, &["run", "quiet.py"], None);
    terminal.wait_for("running quiet.py");
    assert_eq!(terminal.end(), (0, "done".to_owned()));
}

#[test]
fn tool_calls_are_counted_while_they_run() {
    let place = Place::new();
    let tools = json!([{"name": "echo", "inputSchema": {}}, {"name": "hang", "inputSchema": {}}]);
    place.write(
        "codehatch.toml",
        fake_table("fake", &json!({"tools": tools})),
    );
    let program = "from tools.fake import echo, hang\necho()\necho()\nhang()";
    let mut terminal = Terminal::start(&place, &["run", "-c", program], None);
    terminal.wait_for("running -c: 3 tool calls, now fake.hang");
    terminal.press(CTRL_C);
    let (code, text) = terminal.end();
    assert_eq!(code, 130);
    assert!(
        !text.contains("running -c") && text.contains("Variables and files are kept."),
        "{text}"
    );
}

#[test]
fn a_line_that_is_not_finished_is_not_drawn_over() {
    let place = Place::new();
    let program = "import time\nprint('name: ', end='', flush=True)\ntime.sleep(1)\nprint('Ann')\n\
                   print('half', end='')\n7";
    let terminal = Terminal::start(&place, &["run", "-c", program], None);
    assert_eq!(terminal.end(), (0, "name: Ann\nhalf\n7".to_owned()));
}

#[test]
fn progress_is_shown_while_the_output_goes_into_a_file() {
    let place = Place::new();
    let file = File::create(place.path().join("out")).expect("a file");
    let program = "import time\nprint('no end', end='', flush=True)\ntime.sleep(1)\nprint()";
    let terminal = Terminal::start(&place, &["run", "-c", program], Some(file));
    terminal.wait_for("running -c");
    assert_eq!(terminal.end(), (0, String::new()));
    assert_eq!(place.read("out"), "no end\n");
}

#[test]
fn servers_that_are_waited_for_are_named() {
    let place = Place::new();
    let slow =
        |name| fake_table(name, &json!({"start": {"hang": true}})) + "connect_timeout = \"2s\"\n\n";
    place.write(
        "codehatch.toml",
        fake_table("quick", &json!({})) + "\n" + &slow("slow") + &slow("slower"),
    );
    for arguments in [
        &["run", "-c", "print('ran')"] as &[&str],
        &["tools", "--format", "names"],
    ] {
        let terminal = Terminal::start(&place, arguments, None);
        terminal.wait_for("waiting for MCP servers slow, slower");
        let (code, text) = terminal.end();
        assert!(!text.contains("waiting for"), "{text}");
        assert!(text.contains("`slow` gave no MCP answer"), "{text}");
        assert!(
            (code == 0 && text.ends_with("ran"))
                || (code == 1 && text.contains("tools.quick.echo")),
            "{text}"
        );
    }
}

#[test]
fn ctrl_c_at_the_keyboard_stops_the_block_and_keeps_its_state() {
    let place = Place::new();
    let program = "x = 1\nprint('started')\nimport time\ntime.sleep(60)";
    let mut terminal =
        Terminal::start(&place, &["run", "-c", program, "-c", "print('next')"], None);
    terminal.wait_for("started");
    terminal.press(CTRL_C);
    let (code, text) = terminal.end();
    assert_eq!(code, 130);
    assert!(
        text.contains("The code was stopped because it was cancelled."),
        "{text}"
    );
    assert!(!text.contains("next"), "{text}");
}

#[test]
fn artifacts_are_told_of_and_how_to_keep_them() {
    let place = Place::new();
    let program = "open('report.md', 'w').write('# Report')\nNone";
    let terminal = Terminal::start(&place, &["run", "-c", program], None);
    let told = "codehatch: saved report.md (version 0, 8 bytes)";
    let hint = "codehatch: artifacts are gone when this command ends; --artifacts DIR keeps them";
    assert_eq!(terminal.end(), (0, format!("{told}\n{hint}")));
    let terminal = Terminal::start(&place, &["run", "--artifacts", "kept", "-c", program], None);
    assert_eq!(terminal.end(), (0, told.to_owned()));
}

#[test]
fn a_program_can_be_typed() {
    let place = Place::new();
    let mut terminal = Terminal::start(&place, &["run", "-"], None);
    terminal.wait_for("type the program, and end it with Ctrl-D");
    terminal.press(b"print(6 * 7)\n\x04");
    let (code, text) = terminal.end();
    assert!(code == 0 && text.ends_with("42"), "{text}");
}
