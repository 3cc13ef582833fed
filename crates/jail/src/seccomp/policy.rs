//! The system calls that a session may not make, and why. A new one is one line here.
//!
//! Whatever is not listed and known to this release is allowed; a call newer than this release answers
//! `ENOSYS`, as on an older kernel. `ENOSYS` is also the answer wherever a program has a fallback for a
//! kernel without the call.

use syscalls::{aarch64, x86_64};

/// What the caller of a denied call sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `EPERM`: forbidden, and programs should say so.
    Forbidden,
    /// `ENOSYS`: as if the kernel had no such call, so that programs use what they used before it.
    Absent,
    /// `EAFNOSUPPORT`: no such kind of socket.
    NoSuchFamily,
    /// `EOPNOTSUPP`: not on this kind of socket.
    NotSupported,
}

impl Answer {
    /// The errno.
    pub fn errno(self) -> i32 {
        match self {
            Self::Forbidden => libc::EPERM,
            Self::Absent => libc::ENOSYS,
            Self::NoSuchFamily => libc::EAFNOSUPPORT,
            Self::NotSupported => libc::EOPNOTSUPP,
        }
    }
}

/// A call that is denied whatever its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Denied {
    /// Its name.
    pub call: &'static str,
    /// What its caller sees.
    pub answer: Answer,
    /// Why.
    pub reason: &'static str,
}

/// How an argument is tested. Only its lower 32 bits are, as the kernel itself reads these arguments.
#[derive(Clone, Copy, Debug)]
pub enum Test {
    /// Denied if any of these bits is set.
    AnyBit(u32),
    /// Denied if all of these bits are set.
    AllBits(u32),
    /// Denied if it is one of these.
    OneOf(&'static [u32]),
    /// Denied unless it is this.
    Not(u32),
}

/// A call that is denied for some values of one argument.
#[derive(Clone, Copy, Debug)]
pub struct DeniedArgument {
    /// Its name.
    pub call: &'static str,
    /// Which argument, from 0.
    pub argument: u8,
    /// The values that are denied.
    pub test: Test,
    /// What its caller sees.
    pub answer: Answer,
    /// Why.
    pub reason: &'static str,
}

const fn forbid(call: &'static str, reason: &'static str) -> Denied {
    Denied {
        call,
        answer: Answer::Forbidden,
        reason,
    }
}

const fn hide(call: &'static str, reason: &'static str) -> Denied {
    Denied {
        call,
        answer: Answer::Absent,
        reason,
    }
}

const MOUNTS: &str = "the file system view is fixed";
const KERNEL: &str = "changes the kernel itself";
const CLOCK: &str = "changes the host's clock";
const INSPECT: &str = "reads or changes another process";
const KEYS: &str = "keyrings are not fully namespaced";
const SYSV: &str = "memory and objects that outlive their process and escape its limits";
const ASYNC_IO: &str = "a second system call interface, beside this filter";
const HOST_BUDGET: &str = "takes from a budget that all of the host shares (fs.aio-max-nr)";
const NUMA: &str = "memory placement: attack surface without use here";
const NOTIFY: &str = "tells of other sessions by way of shared files, and takes the user's watches";
const HANDLES: &str = "opens files outside the root by handle (CVE-2014-3519 and kin)";
const NAMESPACES: &str = "new namespaces bring capabilities and their attack surface";

/// Calls denied whatever their arguments.
pub const DENIED: &[Denied] = &[
    forbid("mount", MOUNTS),
    forbid("umount2", MOUNTS),
    forbid("pivot_root", MOUNTS),
    forbid("chroot", MOUNTS),
    forbid("open_tree", MOUNTS),
    forbid("open_tree_attr", MOUNTS),
    forbid("move_mount", MOUNTS),
    forbid("mount_setattr", MOUNTS),
    forbid("fsopen", MOUNTS),
    forbid("fsconfig", MOUNTS),
    forbid("fsmount", MOUNTS),
    forbid("fspick", MOUNTS),
    hide("statmount", "shows paths of the host"),
    hide("listmount", "shows mounts of the host"),
    forbid("swapon", KERNEL),
    forbid("swapoff", KERNEL),
    forbid("quotactl", KERNEL),
    forbid("quotactl_fd", KERNEL),
    forbid("acct", KERNEL),
    forbid("reboot", KERNEL),
    forbid("syslog", "shows kernel addresses and the host's messages"),
    forbid("init_module", KERNEL),
    forbid("finit_module", KERNEL),
    forbid("delete_module", KERNEL),
    forbid("create_module", KERNEL),
    forbid("query_module", KERNEL),
    forbid("get_kernel_syms", KERNEL),
    forbid("kexec_load", KERNEL),
    forbid("kexec_file_load", KERNEL),
    forbid("bpf", KERNEL),
    forbid("perf_event_open", KERNEL),
    forbid("iopl", KERNEL),
    forbid("ioperm", KERNEL),
    forbid("modify_ldt", "x86 segments: a history of holes, no use"),
    forbid(
        "set_thread_area",
        "x86 segments: a history of holes, no use",
    ),
    forbid("personality", "turns address randomisation off"),
    forbid("uselib", "obsolete"),
    forbid("nfsservctl", "obsolete"),
    forbid("_sysctl", "obsolete"),
    forbid("lookup_dcookie", "obsolete profiling interface"),
    forbid("vhangup", "acts on the terminal of the host"),
    forbid("sethostname", "the host name is fixed"),
    forbid("setdomainname", "the domain name is fixed"),
    forbid("settimeofday", CLOCK),
    forbid("clock_settime", CLOCK),
    forbid("adjtimex", CLOCK),
    forbid("clock_adjtime", CLOCK),
    forbid("ptrace", INSPECT),
    forbid("process_vm_readv", INSPECT),
    forbid("process_vm_writev", INSPECT),
    forbid("process_madvise", INSPECT),
    forbid("process_mrelease", INSPECT),
    forbid("pidfd_getfd", INSPECT),
    forbid("kcmp", INSPECT),
    forbid("unshare", NAMESPACES),
    forbid("setns", NAMESPACES),
    hide(
        "clone3",
        "its flags are behind a pointer that a filter cannot read; libc falls back to clone",
    ),
    forbid("add_key", KEYS),
    forbid("request_key", KEYS),
    forbid("keyctl", KEYS),
    hide("io_uring_setup", ASYNC_IO),
    hide("io_uring_enter", ASYNC_IO),
    hide("io_uring_register", ASYNC_IO),
    hide("io_setup", HOST_BUDGET),
    hide("io_submit", HOST_BUDGET),
    hide("userfaultfd", "widens races in the kernel"),
    hide(
        "memfd_create",
        "memory that no limit on processes or file systems counts",
    ),
    hide(
        "memfd_secret",
        "memory that no limit on processes or file systems counts",
    ),
    hide(
        "vmsplice",
        "a history of page cache writes (CVE-2022-0847 and kin)",
    ),
    hide("remap_file_pages", "obsolete"),
    forbid("open_by_handle_at", HANDLES),
    forbid("name_to_handle_at", HANDLES),
    hide("inotify_init", NOTIFY),
    hide("inotify_init1", NOTIFY),
    hide("fanotify_init", NOTIFY),
    hide("fanotify_mark", NOTIFY),
    hide(
        "flock",
        "locks on files that sessions share carry messages between them",
    ),
    hide("mbind", NUMA),
    hide("set_mempolicy", NUMA),
    hide("set_mempolicy_home_node", NUMA),
    hide("migrate_pages", NUMA),
    hide("move_pages", NUMA),
    hide("shmget", SYSV),
    hide("shmat", SYSV),
    hide("shmctl", SYSV),
    hide("semget", SYSV),
    hide("msgget", SYSV),
    hide("mq_open", SYSV),
    forbid(
        "seccomp",
        "no filter on top of the filter: it could hide calls from children",
    ),
    hide("lsm_get_self_attr", "shows the host's security modules"),
    hide("lsm_set_self_attr", "the domain is fixed"),
    hide("lsm_list_modules", "shows the host's security modules"),
];

/// `CLONE_NEW*` of sched.h, all of them.
const CLONE_NEW: u32 = 0x7E02_0080;
const AF_UNIX: u32 = 1;
const MSG_OOB: u32 = 1;
/// `MAP_SHARED` (or `MAP_SHARED_VALIDATE`, which has its bit) with `MAP_ANONYMOUS`.
const SHARED_ANONYMOUS: u32 = 0x21;
const OOB: &str = "a history of holes on Unix sockets (CVE-2025-38236)";

const fn out_of_band(call: &'static str, argument: u8) -> DeniedArgument {
    DeniedArgument {
        call,
        argument,
        test: Test::AnyBit(MSG_OOB),
        answer: Answer::NotSupported,
        reason: OOB,
    }
}

const fn unix_only(call: &'static str) -> DeniedArgument {
    DeniedArgument {
        call,
        argument: 0,
        test: Test::Not(AF_UNIX),
        answer: Answer::NoSuchFamily,
        reason: "no network, and no kernel interface that is a socket; vsock is not even namespaced",
    }
}

/// Calls denied for some values of an argument. One row a call.
pub const DENIED_ARGUMENTS: &[DeniedArgument] = &[
    DeniedArgument {
        call: "clone",
        argument: 0,
        test: Test::AnyBit(CLONE_NEW),
        answer: Answer::Forbidden,
        reason: NAMESPACES,
    },
    unix_only("socket"),
    unix_only("socketpair"),
    DeniedArgument {
        call: "ioctl",
        argument: 1,
        // TIOCSTI, TIOCLINUX, TIOCSETD, FIOSETOWN, SIOCSPGRP
        test: Test::OneOf(&[0x5412, 0x541C, 0x5423, 0x8901, 0x8902]),
        answer: Answer::Forbidden,
        reason: "types into terminals, loads line disciplines, signals strangers",
    },
    DeniedArgument {
        call: "fcntl",
        argument: 1,
        // F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ
        test: Test::OneOf(&[8, 10, 15, 1024, 1026, 1031]),
        answer: Answer::Forbidden,
        reason: "leases and notices on shared files, signals to strangers, the user's budget of pipe memory",
    },
    DeniedArgument {
        call: "prctl",
        argument: 0,
        // PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_MM, PR_SET_PTRACER
        test: Test::OneOf(&[4, 22, 35, 0x5961_6d61]),
        answer: Answer::Forbidden,
        reason: "no core dumps, no tracing, no second filter",
    },
    DeniedArgument {
        call: "mmap",
        argument: 3,
        test: Test::AllBits(SHARED_ANONYMOUS),
        answer: Answer::Forbidden,
        reason: "memory that stays when all but one page is unmapped, so that no limit counts it",
    },
    out_of_band("sendto", 3),
    out_of_band("recvfrom", 3),
    out_of_band("sendmsg", 2),
    out_of_band("recvmsg", 2),
    out_of_band("sendmmsg", 3),
    out_of_band("recvmmsg", 3),
];

/// An architecture that programs are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// x86-64.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Arch {
    /// The one this code was compiled for.
    #[cfg(target_arch = "x86_64")]
    pub const NATIVE: Self = Self::X86_64;
    /// The one this code was compiled for.
    #[cfg(target_arch = "aarch64")]
    pub const NATIVE: Self = Self::Aarch64;

    /// `AUDIT_ARCH_*` of audit.h.
    pub(super) fn audit(self) -> u32 {
        match self {
            Self::X86_64 => 0xC000_003E,
            Self::Aarch64 => 0xC000_00B7,
        }
    }

    /// The number of a call, if the architecture has it.
    pub fn number(self, call: &str) -> Option<u32> {
        match self {
            Self::X86_64 => call.parse::<x86_64::Sysno>().ok().map(|nr| nr as u32),
            Self::Aarch64 => call.parse::<aarch64::Sysno>().ok().map(|nr| nr as u32),
        }
    }

    /// Whether `number` is a call that this release knows.
    pub(super) fn knows(self, number: u32) -> bool {
        match self {
            Self::X86_64 => x86_64::Sysno::new(number as usize).is_some(),
            Self::Aarch64 => aarch64::Sysno::new(number as usize).is_some(),
        }
    }

    /// The highest number that this release knows.
    pub(super) fn last(self) -> u32 {
        match self {
            Self::X86_64 => x86_64::Sysno::last().id().cast_unsigned(),
            Self::Aarch64 => aarch64::Sysno::last().id().cast_unsigned(),
        }
    }
}
