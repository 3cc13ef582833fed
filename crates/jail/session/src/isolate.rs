//! Builds one session's isolation, in the process that becomes its init. The order matters.

use core::ffi::CStr;

use crate::{
    message::{Request, Step, wanted},
    sys::{self, Result},
};

/// New namespaces of a session: user, pid, mount, ipc, uts, cgroup.
pub(crate) const NAMESPACES: u64 =
    0x1000_0000 | PROCESSES | 0x2_0000 | IPC | 0x0400_0000 | 0x0200_0000;
/// A namespace of processes.
pub(crate) const PROCESSES: u64 = 0x2000_0000;
/// An IPC namespace.
pub(crate) const IPC: u64 = 0x0800_0000;
/// A new network namespace, where [`crate::network`] has none ready.
pub(crate) const NETWORK: u64 = 0x4000_0000;

/// A failed step and its errno.
pub(crate) struct Failure(pub(crate) Step, pub(crate) i32);

trait At<T> {
    fn at(self, step: Step) -> core::result::Result<T, Failure>;
}

impl<T> At<T> for Result<T> {
    fn at(self, step: Step) -> core::result::Result<T, Failure> {
        self.map_err(|errno| Failure(step, errno))
    }
}

/// Descriptors of a session as they arrived from the host.
#[derive(Clone, Copy)]
pub(crate) struct Descriptors {
    pub(crate) control: i32,
    pub(crate) stdout: i32,
    pub(crate) stderr: i32,
    pub(crate) status: i32,
}

/// What init keeps when isolation is complete.
pub(crate) struct Isolated {
    /// A descriptor of the workspace, for the host.
    pub(crate) workspace: i32,
    /// The listening socket from which a process of the session gets its descriptors back.
    pub(crate) listener: i32,
    /// Readable when a child has ended.
    pub(crate) children: i32,
}

/// Isolates this process, which `clone3` has just put into new namespaces.
pub(crate) fn isolate(
    request: &Request,
    fds: Descriptors,
    landlock_abi: usize,
    program: &[u8],
    listener_name: &[u8],
) -> core::result::Result<Isolated, Failure> {
    const PR_SET_PDEATHSIG: usize = 1;
    const PR_SET_DUMPABLE: usize = 4;
    // First of all, so that nothing of a session can outlive its zygote.
    sys::prctl(PR_SET_PDEATHSIG, sys::SIGKILL, 0).at(Step::ParentDeath)?;
    map_ids(request).at(Step::IdMap)?;
    // Before capabilities go: these files need CAP_SYS_RESOURCE in this namespace.
    if wanted!(request, NamespaceLimits) {
        limit_namespaces().at(Step::NamespaceLimits)?;
    }
    sys::set_host_name(b"sandbox").at(Step::HostName)?;
    mount_all(request)?;
    // The interpreter starts in the workspace; the host reads it through this descriptor.
    sys::change_dir(c"/workspace").at(Step::Workspace)?;
    let workspace =
        sys::open(c"/workspace", sys::O_PATH | sys::O_DIRECTORY, 0).at(Step::Workspace)?;
    place_descriptors(request, fds).at(Step::Descriptors)?;
    // Before the limit on processes, which would count against the signal descriptor's user.
    let children = sys::child_signal_fd().at(Step::Descriptors)?;
    if wanted!(request, Limits) {
        set_limits(request).at(Step::Limits)?;
    }
    if wanted!(request, Capabilities) {
        sys::drop_capabilities().at(Step::Capabilities)?;
    }
    // Neither core dumps nor ptrace by a sibling; the filter forbids to set it back.
    if wanted!(request, Undumpable) {
        sys::prctl(PR_SET_DUMPABLE, 0, 0).at(Step::Capabilities)?;
    }
    // Landlock and seccomp want it, and it makes setuid programs harmless.
    if wanted!(request, NoNewPrivileges) {
        sys::forbid_new_privileges().at(Step::NoNewPrivileges)?;
    }
    // After all mounts, since it forbids mounting.
    if wanted!(request, Landlock) {
        restrict_files(landlock_abi).at(Step::Landlock)?;
    }
    // Inside the landlock domain, or the session could not connect to it.
    let listener = sys::listen_abstract(listener_name).at(Step::Listener)?;
    // Last: it forbids most of the above.
    if wanted!(request, Seccomp) {
        sys::install_filter(program).at(Step::Seccomp)?;
    }
    Ok(Isolated {
        workspace,
        listener,
        children,
    })
}

/// The session's only user, 1000, is the zygote's user 0.
fn map_ids(request: &Request) -> Result<()> {
    let map: &[u8] = if wanted!(request, UserId) {
        b"1000 0 1"
    } else {
        b"0 0 1"
    };
    sys::write_file(c"/proc/self/setgroups", b"deny")?;
    sys::write_file(c"/proc/self/uid_map", map)?;
    sys::write_file(c"/proc/self/gid_map", map)
}

fn limit_namespaces() -> Result<()> {
    // No user namespace means no new capability, whatever the filter misses.
    sys::write_file(c"/proc/sys/user/max_user_namespaces", b"0")?;
    // Otherwise a session uses up the watches of the developer's own programs.
    sys::write_file(c"/proc/sys/user/max_inotify_instances", b"16")?;
    sys::write_file(c"/proc/sys/user/max_inotify_watches", b"4096")
}

fn mount_all(request: &Request) -> core::result::Result<(), Failure> {
    let none = c"";
    let tmpfs = c"tmpfs";
    let safe = if wanted!(request, MountFlags) {
        sys::MS_NOSUID | sys::MS_NODEV
    } else {
        0
    };
    let mount = |target, flags, bytes, inodes, mode: &[u8]| {
        let mut text = [0; 96];
        let options = tmpfs_options(&mut text, bytes, inodes, mode).ok_or(sys::EINVAL)?;
        let options = if wanted!(request, Quotas) {
            options
        } else {
            c"mode=1777"
        };
        sys::mount(tmpfs, target, tmpfs, flags, options)
    };
    mount(
        c"/workspace",
        safe,
        request.workspace_bytes,
        request.inodes,
        b"755",
    )
    .at(Step::Workspace)?;
    for target in [c"/tmp", c"/dev/shm"] {
        mount(
            target,
            safe,
            request.temporary_bytes,
            request.inodes,
            b"1777",
        )
        .at(Step::Temporary)?;
    }
    sys::make_dir(c"/tmp/home", 0o700).at(Step::Temporary)?;
    let mut slot = [0; 32];
    if let Some(tree) = crate::tools::slot_path(&mut slot, request.slot) {
        sys::mount(tree, c"/tools", none, sys::MS_BIND, none).at(Step::Tools)?;
    }
    if wanted!(request, HiddenTrees) {
        // Hides the trees of other sessions.
        let flags = safe | sys::MS_RDONLY | sys::MS_NOEXEC;
        mount(c"/run", flags, 4096, 2, b"755").at(Step::Tools)?;
    }
    if !wanted!(request, Processes) {
        // The kernel shows processes of the session's own namespace only.
        return Ok(());
    }
    let only = if wanted!(request, ProcessesOnly) {
        c"subset=pid"
    } else {
        c""
    };
    sys::mount(c"proc", c"/proc", c"proc", safe | sys::MS_NOEXEC, only).at(Step::Proc)
}

/// `size=…,nr_inodes=…,mode=…`, or `None` if `text` is too short.
fn tmpfs_options<'a>(text: &'a mut [u8], bytes: u64, inodes: u64, mode: &[u8]) -> Option<&'a CStr> {
    let mut writer = Writer { text, at: 0 };
    writer.put(b"size=")?;
    writer.put_number(bytes)?;
    writer.put(b",nr_inodes=")?;
    writer.put_number(inodes)?;
    writer.put(b",mode=")?;
    writer.put(mode)?;
    writer.finish()
}

/// Standard streams at 0 to 2, the control socket just above the limit, the rest where it is.
fn place_descriptors(request: &Request, fds: Descriptors) -> Result<()> {
    if wanted!(request, Streams) {
        let null = sys::open(c"/dev/null", sys::O_RDONLY, 0)?;
        sys::dup3(null, 0, 0)?;
        sys::close(null);
    }
    sys::dup3(fds.stdout, 1, 0)?;
    sys::dup3(fds.stderr, 2, 0)?;
    // No descriptor that model code opens can ever get this number.
    let control = i32::try_from(request.open_files).map_err(|_| sys::EINVAL)?;
    sys::dup3(fds.control, control, sys::O_CLOEXEC)
}

fn set_limits(request: &Request) -> Result<()> {
    const CPU: usize = 0;
    const FSIZE: usize = 1;
    const DATA: usize = 2;
    const CORE: usize = 4;
    const NPROC: usize = 6;
    const MEMLOCK: usize = 8;
    const AS: usize = 9;
    const SIGPENDING: usize = 11;
    const MSGQUEUE: usize = 12;
    const NICE: usize = 13;
    const RTPRIO: usize = 14;
    // One byte, not none: only this value also stops core_pattern's pipe helpers, see core(5).
    sys::set_limit(CORE, 1)?;
    sys::set_limit(MSGQUEUE, 0)?;
    sys::set_limit(MEMLOCK, 0)?;
    sys::set_limit(NICE, 0)?;
    sys::set_limit(RTPRIO, 0)?;
    sys::set_limit(SIGPENDING, 256)?;
    sys::set_limit(FSIZE, request.file_bytes)?;
    sys::set_limit(DATA, request.data_bytes)?;
    sys::set_limit(AS, request.address_bytes)?;
    if request.cpu_seconds > 0 {
        sys::set_limit(CPU, u64::from(request.cpu_seconds))?;
    }
    // Init and the interpreter count as well.
    sys::set_limit(NPROC, u64::from(request.processes).saturating_add(1))
}

/// The limit on open files: for the interpreter, not for init. It bounds descriptors under way in sockets as well,
/// of all sessions of a user together, and init must be able to send some whatever other sessions do.
pub(crate) fn limit_files(request: &Request) -> Result<()> {
    const NOFILE: usize = 7;
    if wanted!(request, Limits) {
        sys::set_limit(NOFILE, u64::from(request.open_files))?;
    }
    Ok(())
}

/// Reading and executing everywhere, writing in the private places and to the harmless devices.
fn restrict_files(abi: usize) -> Result<()> {
    const EXECUTE: u64 = 1;
    const WRITE_FILE: u64 = 1 << 1;
    const READ_FILE: u64 = 1 << 2;
    const READ_DIR: u64 = 1 << 3;
    const MAKE_CHAR: u64 = 1 << 6;
    const MAKE_BLOCK: u64 = 1 << 11;
    const TRUNCATE: u64 = 1 << 14;
    const IOCTL_DEV: u64 = 1 << 15;
    let (rights, net, scoped, bytes) = match abi {
        1 => (13, 0, 0, 8),
        2 => (14, 0, 0, 8),
        3 => (15, 0, 0, 8),
        4 => (15, 3, 0, 16),
        5 => (16, 3, 0, 16),
        _ => (16, 3, 3, 24),
    };
    let all = (1u64 << rights) - 1;
    let ruleset = sys::landlock_ruleset(all, net, scoped, bytes)?;
    let allow = |path, access: u64, kind| {
        let fd = sys::open(path, sys::O_PATH | kind, 0)?;
        let result = sys::landlock_allow(ruleset, access & all, fd);
        sys::close(fd);
        result
    };
    allow(c"/", EXECUTE | READ_FILE | READ_DIR, sys::O_DIRECTORY)?;
    for private in [c"/workspace", c"/tmp", c"/dev/shm"] {
        allow(private, all & !(MAKE_CHAR | MAKE_BLOCK), sys::O_DIRECTORY)?;
    }
    let device = READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV;
    for harmless in [
        c"/dev/null",
        c"/dev/zero",
        c"/dev/full",
        c"/dev/random",
        c"/dev/urandom",
    ] {
        allow(harmless, device, 0)?;
    }
    let result = sys::landlock_restrict(ruleset);
    sys::close(ruleset);
    result
}

/// Writes a short NUL-terminated text without an allocator.
pub(crate) struct Writer<'a> {
    pub(crate) text: &'a mut [u8],
    pub(crate) at: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.at.checked_add(bytes.len())?;
        self.text.get_mut(self.at..end)?.copy_from_slice(bytes);
        self.at = end;
        Some(())
    }

    pub(crate) fn put_number(&mut self, mut number: u64) -> Option<()> {
        let mut digits = [0u8; 20];
        let mut first = digits.len();
        loop {
            first = first.checked_sub(1)?;
            *digits.get_mut(first)? = b'0' + u8::try_from(number % 10).ok()?;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.put(digits.get(first..)?)
    }

    pub(crate) fn finish(mut self) -> Option<&'a CStr> {
        self.put(b"\0")?;
        CStr::from_bytes_with_nul(self.text.get(..self.at)?).ok()
    }
}
