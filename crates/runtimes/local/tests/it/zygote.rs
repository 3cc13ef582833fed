//! Rows 40 to 43: what sessions share because they are forks of one process.

use std::{fs, path::PathBuf};

use codehatch_engine::Ending;

use crate::support::{Attack, Setup, block_on, contained, host};

/// A virtual environment with a module that maps memory which its forks share.
fn sharing_environment() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let environment = directory.path().join("env");
    host::python(&format!(
        "import venv; venv.create({environment:?}, with_pip=False, symlinks=True)"
    ));
    let library = fs::read_dir(environment.join("lib")).expect("a library");
    let library: PathBuf = library
        .map(|entry| entry.expect("readable").path())
        .find(|path| path.join("site-packages").is_dir())
        .expect("site-packages");
    let module = "import mmap\nmemory = mmap.mmap(-1, 4096)\n";
    fs::write(library.join("site-packages/sharing.py"), module).expect("written");
    directory
}

threat! { t40_memory_that_sessions_share_and_can_write {
    attack: "
        lines = [line.split() for line in open('/proc/self/maps')]
        print([line for line in lines if 'w' in line[1] and 's' in line[1]])
        ",
    contained: ["[]"],
    guest: [(
        "    _refuse_shared_memory()\n",
        "    global _memory\n    import mmap\n    _memory = mmap.mmap(-1, 4096)\n",
    )],
    // The address is another one each time.
    open: ["*"],
} }

#[test]
fn t40_a_module_that_shares_memory_is_refused_where_it_is_loaded_ahead() {
    let environment = sharing_environment();
    let python = environment.path().join("env");
    let setup = Setup::own(|local| local.with_python(python).with_preload(["sharing"]));
    block_on(async {
        let mut session = setup.start().await;
        let outcome = session.outcome("1").await;
        let Ending::HostError { message } = outcome.ending else {
            panic!("{:?}", outcome.ending);
        };
        let reason = "a preloaded module has mapped shared writable memory";
        assert!(message.contains(reason), "{message}");
        session.close().await;
    });
}

#[cfg(feature = "weaken")]
#[test]
fn t40_a_module_that_shares_memory_connects_sessions_where_it_is_not_refused() {
    use codehatch_local::Weaken;
    let environment = sharing_environment();
    let mut setup = Setup::weakened(Weaken {
        guest: vec![("    _refuse_shared_memory()\n", "")],
        ..Weaken::default()
    });
    let local = setup.local.with_python(environment.path().join("env"));
    setup.local = local.with_preload(["sharing"]);
    let attack = Attack::new("import sharing\nsharing.memory[:4] = b'mine'")
        .then("import sharing\nprint(sharing.memory[:4])");
    block_on(crate::support::noticed(setup, &attack, &[], &["b'mine'"]));
}

threat! { t41_flags_of_standard_streams {
    attack: "
        import fcntl
        for fd in range(3):
            fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)
        ",
    then: "
        import fcntl
        print([bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK) for fd in range(3)])
        ",
    contained: ["[False, False, False]"],
    without: [Streams],
    open: ["[True, False, False]"],
} }

/// Which of these are the same in two sessions of one zygote.
async fn same_in_two_sessions(setup: Setup) -> Vec<&'static str> {
    const NAMES: [&str; 5] = ["random", "uuid", "secrets", "file name", "urandom"];
    let look = "
        import random, secrets, tempfile, uuid
        print(random.random())
        print(uuid.uuid4())
        print(secrets.token_hex())
        print(tempfile.mkdtemp())
        print(os.urandom(8).hex())
        ";
    let mut first = setup.start().await;
    let mut second = first.another();
    let (one, other) = (first.attack(look).await, second.attack(look).await);
    second.turn.close().await;
    first.close().await;
    assert_eq!((one.len(), other.len()), (5, 5));
    let pairs = NAMES.into_iter().zip(one.iter().zip(&other));
    pairs
        .filter(|(_, (one, other))| one == other)
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn t42_random_numbers_are_each_sessions_own() {
    let same = block_on(same_in_two_sessions(Setup::sealed()));
    assert_eq!(same, Vec::<&str>::new());
}

#[cfg(feature = "weaken")]
#[test]
fn t42_random_numbers_are_the_same_where_nothing_seeds_again() {
    use codehatch_local::Weaken;
    let setup = Setup::weakened(Weaken {
        guest: vec![(
            "    import gc\n    import os\n",
            "    import gc\n    import os\n    os.register_at_fork = lambda **_: None\n",
        )],
        ..Weaken::default()
    });
    assert_eq!(block_on(same_in_two_sessions(setup)), ["random"]);
}

/// Looks for values in all memory of the interpreter, in its environment and in what `/proc` tells.
///
/// The values come masked, or the search would find itself.
fn search(values: &[String]) -> Attack {
    let masked: Vec<String> = values
        .iter()
        .map(|value| value.bytes().map(|byte| format!("{:02x}", byte ^ MASK)))
        .map(Iterator::collect)
        .collect();
    let code = format!(
        "
        mask = bytes(byte ^ {MASK} for byte in range(256))
        masked = [bytes.fromhex(value) for value in {masked:?}]
        found = set()
        def look(data, where):
            data = data.translate(mask)
            found.update(where for value in masked if value in data)
        memory = os.open('/proc/self/mem', os.O_RDONLY)
        regions = [line.split() for line in open('/proc/self/maps')]
        for span, rights, *rest in regions:
            if rights[:2] == 'rw':
                start, end = (int(part, 16) for part in span.split('-'))
                for at in range(start, end, 1 << 20):
                    try:
                        look(os.pread(memory, min(end - at, (1 << 20) + 256), at), 'memory')
                    except OSError:
                        pass
        look(repr(os.environ).encode(), 'variables')
        for name in ('environ', 'cmdline', 'mountinfo', 'status'):
            for process in ('self', str(os.getppid())):
                try:
                    look(open(f'/proc/{{process}}/{{name}}', 'rb').read(), name)
                except OSError:
                    pass
        print(sorted(found))
        "
    );
    Attack::new(code)
}

const MASK: u8 = 0x5A;

#[test]
fn t43_neither_environment_nor_memory_of_the_host_is_inside() {
    let secret = format!("canary-{}", host::unique());
    let mut values = vec![secret.clone()];
    // All of the host's own that is long enough to be told apart from chance.
    values.extend(
        std::env::vars()
            .map(|(_, value)| value)
            .filter(|value| value.len() >= 16 && !value.starts_with("/usr/")),
    );
    block_on(contained(Setup::sealed(), &search(&values), &["[]"]));
    assert!(secret.starts_with("canary"));
}

#[test]
fn t43_the_search_finds_what_a_config_gives_to_programs() {
    let secret = format!("canary-{}", host::unique());
    let setup = Setup::own(|local| local.with_variables([("GIVEN", secret.as_str())]));
    let found = ["['environ', 'memory', 'variables']"];
    block_on(contained(setup, &search(&[secret]), &found));
}
