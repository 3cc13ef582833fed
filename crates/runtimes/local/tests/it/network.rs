//! Rows 24 to 30: the network, and what else carries messages between processes.

use std::{
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::PermissionsExt,
            net::{SocketAddr, UnixListener},
        },
    },
};

use crate::support::{Attack, Setup, block_on, contained, host};

threat! { t24_sockets_beyond_local_ones {
    attack: "
        families = {'INET': 2, 'INET6': 10, 'NETLINK': 16, 'PACKET': 17, 'ALG': 38, 'XDP': 44, 'KEY': 15}
        for name, family in families.items():
            print(name, call('socket', family, 3 if name in ('NETLINK', 'PACKET', 'XDP') else 1, 0))
        print('pair', call('socketpair', 2, 1, 0, (ctypes.c_int * 2)()))
        ",
    contained: [
        "INET EAFNOSUPPORT",
        "INET6 EAFNOSUPPORT",
        "NETLINK EAFNOSUPPORT",
        "PACKET EAFNOSUPPORT",
        "ALG EAFNOSUPPORT",
        "XDP EAFNOSUPPORT",
        "KEY EAFNOSUPPORT",
        "pair EAFNOSUPPORT",
    ],
    calls: ["socket", "socketpair"],
    // Not every kernel has all of them.
    open: [
        "INET done",
        "INET6 done|INET6 EAFNOSUPPORT",
        "NETLINK done",
        "PACKET EPERM",
        "ALG EAFNOSUPPORT|ALG ESOCKTNOSUPPORT",
        "XDP EAFNOSUPPORT|XDP EPERM",
        "KEY EAFNOSUPPORT|KEY EPERM|KEY ESOCKTNOSUPPORT",
        "pair EOPNOTSUPP",
    ],
} }

threat! { t25_sockets_of_the_virtual_machine {
    attack: "
        print('vsock', call('socket', 40, 1, 0))
        # A kernel without them tells that the kind is wrong before it tells that the family is.
        print('of no kind', call('socket', 40, 15, 0))
        ",
    contained: ["vsock EAFNOSUPPORT", "of no kind EAFNOSUPPORT"],
    calls: ["socket"],
    open: ["vsock done|vsock EAFNOSUPPORT", "of no kind EINVAL"],
} }

/// A server on the host, and an attack that connects to it.
fn loopback() -> (TcpListener, Attack) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a server");
    let port = listener.local_addr().expect("its address").port();
    let code = format!(
        "print(outcome(lambda: socket.socket(socket.AF_INET).connect(('127.0.0.1', {port}))))"
    );
    (listener, Attack::new(code))
}

/// A server with an abstract name, and an attack that connects to it.
fn abstract_server() -> (UnixListener, Attack) {
    let name = format!("codehatch-test-{}", host::unique());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let listener = UnixListener::bind_addr(&address).expect("a server");
    let code =
        format!("print(outcome(lambda: socket.socket(socket.AF_UNIX).connect('\\0{name}')))");
    (listener, Attack::new(code))
}

/// A server at a path, which anybody may connect to, and an attack that does.
fn path_server() -> (tempfile::TempDir, UnixListener, Attack) {
    // In a sandbox, /tmp is another one.
    let directory = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a server");
    for (path, mode) in [(directory.path(), 0o755), (&path, 0o777)] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, mode).expect("for all");
    }
    let code = format!(
        "
        print(outcome(lambda: socket.socket(socket.AF_UNIX).connect({path:?})))
        for path in ('/run/docker.sock', '/var/run/docker.sock', '/run/dbus', '/run/systemd', '/run/user'):
            print(path, exists(path))
        print(os.listdir('/run'))
        "
    );
    (directory, listener, Attack::new(code))
}

const NO_PATHS: [&str; 7] = [
    "ENOENT",
    "/run/docker.sock absent",
    "/var/run/docker.sock absent",
    "/run/dbus absent",
    "/run/systemd absent",
    "/run/user absent",
    "[]",
];

/// A memory segment of the host that anybody may read. Gone with the guard.
struct Segment(u32);

impl Segment {
    fn new() -> (Self, Attack) {
        let key = 0x4348_0000 | (std::process::id() & 0xFFFF);
        let segment = Self(key);
        segment.on_host("ctypes.memmove(libc.shmat(number, None, 0), b'canary', 6)");
        let code = format!(
            "
            libc.shmat.restype = ctypes.c_void_p
            print('shmget', call('shmget', {key}, 0, 0))
            number = libc.shmget({key}, 0, 0)
            print(ctypes.string_at(libc.shmat(number, None, 0o10000), 6) if number >= 0 else None)
            print('semget', call('semget', {key}, 0, 0))
            print('msgget', call('msgget', {key}, 0))
            print('mq_open', call('mq_open', b'queue', 0o102, 0o600, None))
            "
        );
        (segment, Attack::new(code))
    }

    fn on_host(&self, then: &str) {
        let code = format!(
            "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\n\
             number = libc.shmget({}, 4096, 0o1666)\nassert number >= 0\n{then}",
            self.0
        );
        host::python(&code);
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.on_host("libc.shmctl(number, 0, None)");
    }
}

#[test]
fn t24_a_server_of_the_host_is_not_reached() {
    let (_listener, attack) = loopback();
    block_on(contained(Setup::sealed(), &attack, &["EAFNOSUPPORT"]));
}

#[test]
fn t26_an_abstract_socket_of_the_host_is_not_reached() {
    let (_listener, attack) = abstract_server();
    block_on(contained(Setup::sealed(), &attack, &["ECONNREFUSED"]));
}

#[test]
fn t27_memory_and_queues_of_the_host_are_not_reached() {
    let (_segment, attack) = Segment::new();
    let none = [
        "shmget ENOSYS",
        "None",
        "semget ENOSYS",
        "msgget ENOSYS",
        "mq_open ENOSYS",
    ];
    block_on(contained(Setup::sealed(), &attack, &none));
}

#[test]
fn t28_a_socket_at_a_path_of_the_host_is_not_reached() {
    let (_directory, _listener, attack) = path_server();
    block_on(contained(Setup::sealed(), &attack, &NO_PATHS));
}

#[cfg(feature = "weaken")]
mod noticed {
    use codehatch_local::{Protection, Weaken};

    use super::{NO_PATHS, Segment, abstract_server, loopback, path_server};
    use crate::support::{Setup, block_on, noticed};

    #[test]
    fn t24_a_server_of_the_host() {
        let (_listener, attack) = loopback();
        let setup = Setup::weakened(Weaken {
            protections: vec![Protection::Network, Protection::Landlock],
            calls: vec!["socket"],
            ..Weaken::default()
        });
        block_on(noticed(setup, &attack, &["EAFNOSUPPORT"], &["done"]));
    }

    #[test]
    fn t24_a_server_of_the_host_where_the_filter_fails() {
        let (_listener, attack) = loopback();
        let setup = Setup::weakened(Weaken {
            calls: vec!["socket"],
            ..Weaken::default()
        });
        // Landlock refuses from Linux 6.7 on, and there is no network anyway.
        block_on(noticed(
            setup,
            &attack,
            &["EAFNOSUPPORT"],
            &["EACCES|ENETUNREACH"],
        ));
    }

    #[test]
    fn t26_an_abstract_socket_of_the_host() {
        let (_listener, attack) = abstract_server();
        let setup = Setup::weakened(Weaken {
            protections: vec![Protection::Network, Protection::Landlock],
            ..Weaken::default()
        });
        block_on(noticed(setup, &attack, &["ECONNREFUSED"], &["done"]));
    }

    #[test]
    fn t27_memory_and_queues_of_the_host() {
        let (_segment, attack) = Segment::new();
        let setup = Setup::weakened(Weaken {
            protections: vec![Protection::Ipc],
            calls: vec!["shmget", "shmat", "shmctl", "semget", "msgget", "mq_open"],
            ..Weaken::default()
        });
        let open = [
            "shmget done",
            "b'canary'",
            "semget ENOENT",
            "msgget ENOENT",
            // By the limit on the bytes of queues.
            "mq_open EMFILE",
        ];
        block_on(noticed(setup, &attack, &[], &open));
    }

    #[test]
    fn t28_a_socket_at_a_path_of_the_host() {
        let (directory, _listener, attack) = path_server();
        let setup = Setup::weakened(Weaken {
            shown: vec![directory.path().to_owned()],
            ..Weaken::default()
        });
        let mut open = NO_PATHS;
        open[0] = "done";
        block_on(noticed(setup, &attack, &NO_PATHS, &open));
    }
}

threat! { t29_signals_to_others {
    attack: "
        reached = []
        for pid in [int(name) for name in os.listdir('/proc') if name.isdigit()]:
            if pid != os.getpid() and outcome(os.kill, pid, 0) == 'done':
                reached.append(open(f'/proc/{pid}/comm').read().strip())
        print(len(reached), 'codehatch-init' in reached)
        # The kernel ignores it for the first process; those of others are not in sight.
        print('kill', outcome(os.kill, 1, signal.SIGKILL))
        print(outcome(os.kill, -1, signal.SIGURG), os.getppid() == 1)
        ",
    contained: ["1 True", "kill done", "ESRCH True"],
    without: [Processes, Landlock],
    // The zygote is in sight. The kernel itself spares it, as the first process of its own namespace.
    open: ["2 True", "kill done", "done False"],
} }

threat! { t30_locks_leases_and_notices_on_shared_files {
    attack: "
        import fcntl
        F_SETLEASE, F_NOTIFY, F_SETSIG, F_SETOWN = 1024, 1026, 10, 8
        LOCK_EX = 2
        shared = os.open('/etc/hosts', os.O_RDONLY)
        print('flock', outcome(fcntl.flock, shared, LOCK_EX))
        print('lease', outcome(fcntl.fcntl, shared, F_SETLEASE, fcntl.F_UNLCK))
        print('notice', outcome(fcntl.fcntl, os.open('/etc', os.O_RDONLY), F_NOTIFY, 0))
        print('signal', outcome(fcntl.fcntl, shared, F_SETSIG, 10))
        print('owner', outcome(fcntl.fcntl, shared, F_SETOWN, os.getpid()))
        print('inotify', call('inotify_init1', 0))
        print('fanotify', call('fanotify_init', 0x200, 0))
        ",
    then: "
        import fcntl
        shared = os.open('/etc/hosts', os.O_RDONLY)
        print('seen by another', outcome(fcntl.flock, shared, 2 | 4))
        ",
    contained: [
        "flock ENOSYS",
        "lease EPERM",
        "notice EPERM",
        "signal EPERM",
        "owner EPERM",
        "inotify ENOSYS",
        "fanotify ENOSYS",
        "seen by another ENOSYS",
    ],
    calls: ["flock", "fcntl", "inotify_init1", "fanotify_init"],
    open: [
        "flock done",
        "lease done|lease EACCES|lease EAGAIN",
        "notice done|notice EINVAL",
        "signal done",
        "owner done",
        "inotify done",
        "fanotify done|fanotify EPERM|fanotify ENOSYS",
        "seen by another EAGAIN",
    ],
} }

const NETWORK: &str = "print(os.readlink('/proc/self/ns/net'))";

#[test]
fn sessions_at_the_same_time_never_share_a_network() {
    block_on(async {
        let mut first = Setup::own(|local| local).start().await;
        let mut others: Vec<_> = (0..4).map(|_| first.another()).collect();
        let mut networks = first.attack(NETWORK).await;
        for other in &mut others {
            networks.extend(other.attack(NETWORK).await);
        }
        networks.sort();
        networks.dedup();
        assert_eq!(networks.len(), 5, "{networks:?}");
        for other in others {
            other.turn.close().await;
        }
        first.close().await;
    });
}

#[test]
fn a_session_after_another_finds_nothing_of_it_in_the_network_that_both_use() {
    block_on(async {
        let session = Setup::own(|local| local).start().await;
        let leave = format!(
            "{NETWORK}
server = socket.socket(socket.AF_UNIX)
server.bind('\\0left')
server.listen()
if os.fork() == 0:
    os.setsid()
    time.sleep(100)
print(outcome(lambda: socket.socket(socket.AF_UNIX).connect('\\0left')))"
        );
        let look = format!(
            "{NETWORK}
print(outcome(lambda: socket.socket(socket.AF_UNIX).connect('\\0left')))
print([line.split()[-1] for line in open('/proc/net/unix')] if os.path.exists('/proc/net') else None)"
        );
        let mut first = session.another();
        let before = first.attack(&leave).await;
        first.turn.close().await;
        let mut second = session.another();
        let after = second.attack(&look).await;
        second.turn.close().await;
        assert_eq!(before[1..], ["done"]);
        assert_eq!(after, [&*before[0], "ECONNREFUSED", "None"]);
        session.close().await;
    });
}
