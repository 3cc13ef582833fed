//! Engines and turns for attacks.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
    time::Duration,
};

use codehatch_artifacts::ArtifactStore;
use codehatch_engine::{BlockOutcome, Ending, Engine, Turn, TurnLimits};
use codehatch_function::{FunctionProvider, FunctionProviderBuilder, FunctionTool};
use codehatch_jail::seccomp::{Arch, DENIED, DENIED_ARGUMENTS};
use codehatch_local::{LocalConfig, LocalRuntime};
use tokio::{runtime::Runtime, sync::OnceCell};

/// One for all tests of a process: the sealed engine is bound to it.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
});

/// One for all tests of a process that need nothing special. Ends with the process.
static SEALED: OnceCell<Engine> = OnceCell::const_new();

pub(crate) fn block_on<T>(body: impl Future<Output = T>) -> T {
    RUNTIME.block_on(body)
}

/// What a turn runs in.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) local: LocalConfig,
    pub(crate) limits: TurnLimits,
    tools: Vec<FunctionTool>,
    store: Option<Arc<dyn ArtifactStore>>,
    /// Uses the engine that others use as well.
    shared: bool,
    /// Held while a session is in the host's own network, where names are seen by all.
    network: Option<File>,
}

/// The interpreter of the system, which every user can read, where there is one.
fn local() -> LocalConfig {
    let system = PathBuf::from("/usr/bin/python3");
    let mut config = LocalConfig::default().with_pool(0);
    config.python = system.exists().then_some(system);
    config
}

/// What does not end by itself fails its test long before the runner loses patience.
pub(crate) fn quick() -> TurnLimits {
    TurnLimits::default()
        .with_block_time(Duration::from_secs(20))
        .with_grace(Duration::from_secs(2))
}

impl Setup {
    /// The sandbox as it is.
    pub(crate) fn sealed() -> Self {
        Self {
            local: local(),
            limits: quick(),
            tools: Vec::new(),
            store: None,
            shared: true,
            network: None,
        }
    }

    /// A sandbox with settings of its own.
    pub(crate) fn own(change: impl FnOnce(LocalConfig) -> LocalConfig) -> Self {
        Self {
            local: change(local()),
            shared: false,
            ..Self::sealed()
        }
    }

    /// A sandbox that lacks something.
    #[cfg(feature = "weaken")]
    pub(crate) fn weakened(weaken: codehatch_local::Weaken) -> Self {
        let in_host_network = weaken
            .protections
            .contains(&codehatch_local::Protection::Network);
        Self {
            network: in_host_network.then(lock_network),
            ..Self::own(|local| local.with_weaken(weaken))
        }
    }

    pub(crate) fn limits(mut self, limits: TurnLimits) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn tool(mut self, tool: FunctionTool) -> Self {
        self.tools.push(tool);
        self.shared = false;
        self
    }

    pub(crate) fn store(mut self, store: Arc<dyn ArtifactStore>) -> Self {
        self.store = Some(store);
        self.shared = false;
        self
    }

    pub(crate) async fn start(self) -> Session {
        let (limits, shared) = (self.limits, self.shared);
        let engine = if shared {
            SEALED.get_or_init(async || self.engine()).await.clone()
        } else {
            self.engine()
        };
        Session {
            turn: engine.turn_with(limits),
            engine,
            limits,
            shared,
            network: self.network,
        }
    }

    fn engine(&self) -> Engine {
        let runtime = LocalRuntime::new(self.local.clone());
        let mut engine = Engine::builder().runtime(Arc::new(runtime));
        if !self.tools.is_empty() {
            let tools = self.tools.iter().cloned();
            let provider = tools.fold(FunctionProvider::builder(), FunctionProviderBuilder::tool);
            engine = engine.provider(Arc::new(provider.build().expect("tools")));
        }
        if let Some(store) = &self.store {
            engine = engine.artifacts(Arc::clone(store));
        }
        engine.build().expect("an engine")
    }
}

/// Two zygotes of tests would give sessions the same names in the host's network.
#[cfg(feature = "weaken")]
fn lock_network() -> File {
    let program = std::env::current_exe().expect("the path of this program");
    let file = File::open(program).expect("a file that all processes of the tests know");
    file.lock().expect("locked");
    file
}

/// One turn.
pub(crate) struct Session {
    pub(crate) engine: Engine,
    pub(crate) turn: Turn,
    limits: TurnLimits,
    shared: bool,
    #[expect(dead_code, reason = "holds a lock")]
    network: Option<File>,
}

impl Session {
    /// Runs a block, whatever becomes of it.
    pub(crate) async fn outcome(&mut self, code: &str) -> BlockOutcome {
        self.turn.execute(python(code)).await
    }

    /// Runs a block that must complete.
    pub(crate) async fn run(&mut self, code: &str) -> BlockOutcome {
        let outcome = self.outcome(code).await;
        assert!(
            outcome.ending == Ending::Completed { exit_code: 0 },
            "{}\n{:?}\n{}{}",
            python(code),
            outcome.ending,
            outcome.stdout.text,
            outcome.stderr.text
        );
        outcome
    }

    /// The lines that a block prints, with what attacks have in common at hand.
    pub(crate) async fn attack(&mut self, code: &str) -> Vec<String> {
        self.run(&prelude()).await;
        let outcome = self.run(code).await;
        assert_eq!(outcome.stderr.text, "", "{code}");
        outcome.stdout.text.lines().map(str::to_owned).collect()
    }

    /// Another turn of the same engine.
    pub(crate) fn another(&self) -> Self {
        Self {
            turn: self.engine.turn_with(self.limits),
            engine: self.engine.clone(),
            limits: self.limits,
            shared: true,
            network: None,
        }
    }

    pub(crate) async fn close(self) {
        self.turn.close().await;
        if !self.shared {
            self.engine.close().await;
        }
    }
}

/// What attacks have in common.
fn prelude() -> String {
    let names = DENIED.iter().map(|row| row.call);
    let names = names.chain(DENIED_ARGUMENTS.iter().map(|row| row.call));
    let numbers: Vec<String> = names
        .filter_map(|call| Some(format!("{call:?}: {}", Arch::NATIVE.number(call)?)))
        .collect();
    format!("NUMBERS = {{{}}}\n{PRELUDE}", numbers.join(", "))
}

const PRELUDE: &str = r#"
import ctypes, errno, os, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
# Some errors have two names.
NAMES = {**errno.errorcode, errno.EAGAIN: 'EAGAIN', errno.EOPNOTSUPP: 'EOPNOTSUPP'}

def outcome(action, *args, **options):
    "'done', or the name of the error."
    try:
        action(*args, **options)
    except OSError as error:
        return NAMES.get(error.errno, repr(error))
    return 'done'

def call(name, *args):
    "The same for a bare system call."
    args = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    number = NUMBERS.get(name, name)
    if isinstance(number, str):
        return 'ENOSYS'
    ctypes.set_errno(0)
    if libc.syscall(ctypes.c_long(number), *args) == -1:
        return NAMES[ctypes.get_errno()]
    return 'done'

def in_child(action, *args):
    "What an action gives in a process of its own, or the signal that ends it."
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            text = str(action(*args))
        except BaseException as error:
            text = repr(error)
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    text = os.read(read, 10000).decode()
    os.close(read)
    status = os.waitpid(pid, 0)[1]
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else text

def exists(path):
    return 'present' if os.path.lexists(path) else 'absent'
"#;

/// What programs do for good reasons, in brief.
pub(crate) const LEGITIMATE: &str = "
    import multiprocessing, sqlite3, subprocess, tempfile, threading
    seen = []
    thread = threading.Thread(target=seen.append, args=(1,))
    thread.start()
    thread.join()
    seen.append(int(subprocess.run(['/bin/sh', '-c', 'echo 2'], capture_output=True).stdout))
    context = multiprocessing.get_context('fork')
    queue = context.Queue()
    process = context.Process(target=queue.put, args=(3,))
    process.start()
    seen.append(queue.get())
    process.join()
    with tempfile.TemporaryDirectory() as directory:
        database = sqlite3.connect(directory + '/x.db')
        database.execute('create table t (x)')
        database.execute('insert into t values (4)')
        database.commit()
        seen += database.execute('select x from t').fetchone()
        database.close()
    print('it works' if seen == [1, 2, 3, 4] else seen)
    ";

/// A program, without the indentation of the test around it where it begins with a line break.
pub(crate) fn python(code: &str) -> String {
    let Some(code) = code.strip_prefix('\n') else {
        return code.to_owned();
    };
    let indent = code.len() - code.trim_start_matches(' ').len();
    let lines = code
        .lines()
        .map(|line| line.get(indent..).unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The environment with packages that `scripts/test-env` makes.
pub(crate) fn packages() -> PathBuf {
    let named = std::env::var_os("CODEHATCH_TEST_ENV");
    let root = named
        .or_else(|| option_env!("CODEHATCH_TEST_ENV").map(Into::into))
        .map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/test-env"),
            Into::into,
        );
    let found = fs::canonicalize(root.join("sandbox-packages"));
    found.expect("no environment with packages: run `scripts/test-env` first")
}
