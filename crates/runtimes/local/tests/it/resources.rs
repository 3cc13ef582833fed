//! Rows 31 to 39: memory, processes and everything else that there is only so much of.

use std::time::{Duration, Instant};

use codehatch_engine::{Ending, LossCause, StopReason, TurnLimits};
use codehatch_runtime::Limits;

use crate::support::{Setup, block_on, host, session::quick};

fn sandbox(change: impl FnOnce(Limits) -> Limits) -> TurnLimits {
    quick().with_sandbox(change(Limits::default()))
}

threat! { t31_fork_bomb {
    attack: "
        import threading
        pids, stopped_by = [], 'nothing'
        while len(pids) < 300:
            try:
                pid = os.fork()
            except OSError as error:
                stopped_by = NAMES[error.errno]
                break
            if pid == 0:
                signal.pause()
            pids.append(pid)
        print('processes', stopped_by, len(pids) <= 128)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        threads, stop = [], threading.Event()
        try:
            while len(threads) < 300:
                thread = threading.Thread(target=stop.wait)
                thread.start()
                threads.append(thread)
        except RuntimeError:
            pass
        stop.set()
        print('threads', len(threads) <= 128)
        for thread in threads:
            thread.join()
        ",
    contained: ["processes EAGAIN True", "threads True"],
    without: [Limits],
    open: ["processes nothing False", "threads False"],
} }

threat! { t32_memory_that_no_limit_counts {
    attack: "
        print('memfd', call('memfd_create', b'x', 0))
        print('secret', call('memfd_secret', 0))
        # Nor is what is shared without a file: it stays as a whole while one page of it is mapped.
        import mmap
        print('shared', outcome(mmap.mmap, -1, 1 << 20))
        print('validated', outcome(mmap.mmap, -1, 1 << 20, flags=3 | mmap.MAP_ANONYMOUS))
        for name in sorted(set(os.listdir('/dev')) - {'fd', 'shm', 'stderr', 'stdin', 'stdout'}):
            print(name, outcome(mmap.mmap, os.open('/dev/' + name, os.O_RDWR), 1 << 20))
        ",
    contained: [
        "memfd ENOSYS",
        "secret ENOSYS",
        "shared EPERM",
        "validated EPERM",
        "full ENODEV",
        "null ENODEV",
        "random ENODEV",
        "urandom ENODEV",
        "zero ENODEV",
    ],
    calls: ["memfd_create", "memfd_secret", "mmap"],
    open: [
        "memfd done",
        "secret done|secret ENOSYS",
        "shared done",
        "validated done|validated EINVAL|validated EOPNOTSUPP",
        "full ENODEV",
        "null ENODEV",
        "random ENODEV",
        "urandom ENODEV",
        "zero ENODEV",
    ],
} }

threat! { t33_watches_of_the_user {
    attack: "
        instances = 0
        while instances < 40 and libc.inotify_init1(0) >= 0:
            instances += 1
        print(instances)
        ",
    contained: ["0"],
    without: [NamespaceLimits],
    calls: ["inotify_init1"],
    open: ["40"],
} }

threat! { t33_watches_of_the_user_where_the_filter_fails {
    attack: "
        instances = 0
        while instances < 40 and libc.inotify_init1(0) >= 0:
            instances += 1
        print(instances)
        ",
    contained: ["0"],
    calls: ["inotify_init1"],
    // The limit of the session's own namespace holds by itself.
    open: ["16"],
} }

threat! { t33_contexts_of_asynchronous_input_and_output {
    attack: "
        context = ctypes.c_ulong()
        print(call('io_setup', 128, ctypes.byref(context)))
        ",
    contained: ["ENOSYS"],
    calls: ["io_setup", "io_submit"],
    open: ["done"],
} }

threat! { t34_big_pipes {
    attack: "
        import fcntl
        F_SETPIPE_SZ = 1031
        read, write = os.pipe()
        print(outcome(fcntl.fcntl, write, F_SETPIPE_SZ, 1 << 20))
        ",
    contained: ["EPERM"],
    calls: ["fcntl"],
    open: ["done"],
} }

threat! { t35_filling_the_workspace {
    attack: "
        def fill(directory):
            written = 0
            try:
                for number in range(8):
                    with open(f'{directory}/{number}', 'wb') as file:
                        for _ in range(4):
                            written += file.write(bytes(1 << 20))
                            file.flush()
            except OSError as error:
                return f'{NAMES[error.errno]} {written <= 9 << 20}'
            finally:
                for name in os.listdir(directory):
                    if name.isdigit():
                        os.unlink(f'{directory}/{name}')
            return f'nothing {written >> 20} MiB'
        print('workspace', fill('/workspace'))
        print('temporary', fill('/tmp'))
        print('shared', fill('/dev/shm'))
        ",
    limits: super::sandbox(|limits| {
        limits.with_workspace_bytes(8 << 20).with_temporary_bytes(6 << 20)
    }),
    contained: ["workspace ENOSPC True", "temporary ENOSPC True", "shared ENOSPC True"],
    without: [Quotas],
    open: ["workspace nothing 32 MiB", "temporary nothing 32 MiB", "shared nothing 32 MiB"],
} }

threat! { t35_using_up_inodes {
    attack: "
        made, stopped_by = 0, 'nothing'
        try:
            while made < 20_000:
                os.mkdir(f'/tmp/{made}')
                made += 1
        except OSError as error:
            stopped_by = NAMES[error.errno]
        print(stopped_by, made <= 16_384)
        for name in os.listdir('/tmp'):
            if name.isdigit():
                os.rmdir('/tmp/' + name)
        ",
    contained: ["ENOSPC True"],
    without: [Quotas],
    open: ["nothing False"],
} }

threat! { t36_socket_buffers_and_descriptors_under_way {
    attack: "
        import array
        SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
        one, other = socket.socketpair()
        print('send buffer', outcome(one.setsockopt, socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 30))
        print('receive buffer', outcome(one.setsockopt, socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 30))
        pairs, sent, stopped_by = [], 0, 'nothing'
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0] * 100))]
        while sent < 1000 and stopped_by == 'nothing':
            pairs.append(socket.socketpair())
            stopped_by = outcome(pairs[-1][0].sendmsg, [b'x'], rights)
            if stopped_by == 'done':
                sent, stopped_by = sent + 100, 'nothing'
        print(stopped_by, sent <= 700)
        ",
    contained: ["send buffer EPERM", "receive buffer EPERM", "ETOOMANYREFS True"],
    without: [Limits],
    // Only the host's root has a right to more than the system's own sizes.
    open: ["send buffer EPERM", "receive buffer EPERM", "nothing False"],
} }

/// Descriptors that are under way count for all sessions together, since they are one user on the host.
#[test]
fn t36_descriptors_under_way_in_one_session_do_not_stop_another_from_starting() {
    block_on(async {
        let mut session = Setup::own(|local| local).start().await;
        let flood = "
            import array
            pairs = [socket.socketpair() for _ in range(20)]
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0] * 100))]
            # Others may have used some up already.
            print([outcome(one.sendmsg, [b'x'], rights) for one, _ in pairs][-1])
            ";
        assert_eq!(session.attack(flood).await, ["ETOOMANYREFS"]);
        let mut another = session.another();
        assert_eq!(another.attack("print('started')").await, ["started"]);
        // And gets its own descriptors back from its first process.
        another.run("import os; os.close(1); os.close(2)").await;
        assert_eq!(another.attack("print('heard')").await, ["heard"]);
        another.turn.close().await;
        session.close().await;
    });
}

threat! { t37_core_dumps_and_their_helpers {
    attack: "
        import resource
        PR_SET_DUMPABLE, PR_GET_DUMPABLE = 4, 3
        def end():
            pid = os.fork()
            if pid == 0:
                os.abort()
            return os.WCOREDUMP(os.waitpid(pid, 0)[1])
        print('dumped', end())
        print('limit', resource.getrlimit(resource.RLIMIT_CORE))
        print('dumpable', libc.prctl(PR_GET_DUMPABLE), in_child(call, 'prctl', PR_SET_DUMPABLE, 1))
        ",
    contained: ["dumped False", "limit (1, 1)", "dumpable 0 EPERM"],
    without: [Limits, Undumpable],
    calls: ["prctl"],
    open: [
        "dumped False",
        "limit (0, -1)",
        "dumpable 1 done",
    ],
} }

threat! { t38_priority_and_locked_memory {
    attack: "
        memory = ctypes.create_string_buffer(8192)
        print('mlock', 'done' if libc.mlock(memory, 4096) == 0 else NAMES[ctypes.get_errno()])
        print('real time', outcome(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1)))
        print('nice', outcome(os.setpriority, os.PRIO_PROCESS, 0, -5))
        print('others', outcome(os.setpriority, os.PRIO_PROCESS, 1, -5))
        ",
    contained: ["mlock EPERM", "real time EPERM", "nice EACCES", "others EACCES"],
    without: [Limits],
    // The other two need a right over the host.
    open: ["mlock done", "real time EPERM", "nice EACCES", "others EACCES"],
} }

/// Ignores every signal that it can, spins, and leaves a daemon with an argument of its own.
fn stubborn(marker: &str) -> String {
    format!(
        "
        import os, signal, subprocess
        subprocess.Popen(['/bin/sh', '-c', 'trap \"\" TERM INT HUP; sleep {marker}; sleep {marker}'],
                         start_new_session=True, stdin=0, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for number in set(signal.Signals) - {{signal.SIGKILL, signal.SIGSTOP}}:
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        while True:
            try:
                while True: pass
            except BaseException: pass
        "
    )
}

#[test]
fn t39_a_program_that_will_not_end_is_ended_with_all_that_it_has_started() {
    block_on(async {
        let time = Duration::from_millis(600);
        let limits = quick()
            .with_block_time(time)
            .with_grace(Duration::from_millis(300));
        let mut session = Setup::sealed().limits(limits).start().await;
        let marker = host::unique();
        let began = Instant::now();
        let outcome = session.outcome(&stubborn(&marker)).await;
        let Ending::SandboxLost { cause, .. } = outcome.ending else {
            panic!("{:?} {}", outcome.ending, outcome.stderr.text);
        };
        assert_eq!(cause, LossCause::NotStopped(StopReason::TimeLimit(time)));
        assert!(began.elapsed() < Duration::from_secs(10));
        assert_eq!(host::processes_with(&marker), 0);
        // The next block has a new sandbox.
        assert_eq!(session.attack("print('next')").await, ["next"]);
        session.close().await;
    });
}

/// A daemon, and whether it is there after its turn.
async fn daemon_outlives(setup: Setup) -> bool {
    let mut session = setup.start().await;
    let marker = host::unique();
    let program = format!(
        "import subprocess\nsubprocess.Popen(['sleep', '{marker}'], start_new_session=True)"
    );
    session.run(&program).await;
    let runs = || host::processes_with(&marker) == 1;
    host::until("the daemon runs", runs).await;
    let engine = session.engine.clone();
    session.turn.close().await;
    let outlives = host::processes_with(&marker) > 0;
    if outlives {
        engine.close().await;
        let ended = || host::processes_with(&marker) == 0;
        host::until("it ends with the zygote", ended).await;
    }
    outlives
}

#[test]
fn t39_a_daemon_ends_with_its_turn() {
    assert!(!block_on(daemon_outlives(Setup::sealed())));
}

#[cfg(feature = "weaken")]
#[test]
fn t39_a_daemon_without_a_namespace_of_processes_outlives_its_turn() {
    let setup = Setup::weakened(codehatch_local::Weaken {
        protections: vec![codehatch_local::Protection::Processes],
        ..Default::default()
    });
    assert!(block_on(daemon_outlives(setup)));
}

#[test]
fn t31_the_limit_on_processes_is_each_sessions_own() {
    block_on(async {
        let mut session = Setup::sealed().start().await;
        let take = "
            pids = []
            try:
                while len(pids) < 300:
                    pid = os.fork()
                    if pid == 0:
                        signal.pause()
                    pids.append(pid)
            except OSError:
                pass
            print(len(pids) > 100)
            ";
        assert_eq!(session.attack(take).await, ["True"]);
        let mut another = session.another();
        assert_eq!(another.attack(take).await, ["True"]);
        another.turn.close().await;
        session.close().await;
    });
}
