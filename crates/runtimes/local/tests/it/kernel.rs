//! Rows 15 to 23: interfaces of the kernel that widen what can be attacked.

threat! { t15_new_namespaces {
    attack: "
        NEWUSER, NEWNET, NEWUTS, SIGCHLD = 0x10000000, 0x40000000, 0x04000000, 17
        def clone(flags):
            pid = libc.syscall(NUMBERS['clone'], flags | SIGCHLD, 0, 0, 0, 0)
            if pid == 0:
                os._exit(0)
            return 'done' if pid > 0 else errno.errorcode[ctypes.get_errno()]
        def clone3(flags):
            arguments = (ctypes.c_uint64 * 11)(flags, 0, 0, 0, SIGCHLD)
            pid = libc.syscall(NUMBERS['clone3'], arguments, ctypes.sizeof(arguments))
            if pid == 0:
                os._exit(0)
            return 'done' if pid > 0 else errno.errorcode[ctypes.get_errno()]
        print('unshare user', in_child(call, 'unshare', NEWUSER))
        print('unshare net', in_child(call, 'unshare', NEWNET))
        print('setns', in_child(lambda: call('setns', os.open('/proc/self/ns/uts', os.O_RDONLY), NEWUTS)))
        print('clone user', in_child(clone, NEWUSER))
        print('clone3', in_child(clone3, 0))
        ",
    contained: [
        "unshare user EPERM",
        "unshare net EPERM",
        "setns EPERM",
        "clone user EPERM",
        "clone3 ENOSYS",
    ],
    without: [NamespaceLimits, Capabilities],
    calls: ["unshare", "setns", "clone", "clone3"],
    open: [
        "unshare user done",
        "unshare net done",
        "setns done",
        "clone user done",
        "clone3 done",
    ],
} }

threat! { t15_new_user_namespaces_where_the_filter_fails {
    attack: "print(in_child(call, 'unshare', 0x10000000))",
    contained: ["EPERM"],
    calls: ["unshare"],
    // The limit of the session's own namespace holds by itself.
    open: ["ENOSPC"],
} }

threat! { t16_io_uring {
    attack: "
        print('setup', call('io_uring_setup', 0, bytes(120)))
        print('enter', call('io_uring_enter', 0, 0, 0, 0, None, 0))
        print('register', call('io_uring_register', 0, 0, None, 0))
        ",
    contained: ["setup ENOSYS", "enter ENOSYS", "register ENOSYS"],
    calls: ["io_uring_setup", "io_uring_enter", "io_uring_register"],
    // Some systems turn it off for everybody: EPERM.
    open: [
        "setup EINVAL|setup EPERM",
        "enter EOPNOTSUPP|enter EPERM",
        "register EOPNOTSUPP|register EINVAL|register EPERM",
    ],
} }

threat! { t17_programs_in_the_kernel {
    attack: "
        print('bpf', call('bpf', 0, bytes(8192), 8192))
        print('perf_event_open', call('perf_event_open', bytes(128), 0, -1, -1, -1))
        print('userfaultfd', call('userfaultfd', 1))
        ",
    contained: ["bpf EPERM", "perf_event_open EPERM", "userfaultfd ENOSYS"],
    calls: ["bpf", "perf_event_open", "userfaultfd"],
    // The kernel's own checks answer: it has looked at the arguments.
    open: ["bpf E2BIG", "perf_event_open EINVAL", "userfaultfd done"],
} }

threat! { t18_keys {
    attack: "
        GET_KEYRING_ID, PROCESS_KEYRING = 0, -2
        print('keyctl', call('keyctl', GET_KEYRING_ID, PROCESS_KEYRING, 1))
        print('add_key', call('add_key', b'user', b'threat', b'x', 1, PROCESS_KEYRING))
        print('request_key', call('request_key', b'user', b'threat', None, 0))
        ",
    contained: ["keyctl EPERM", "add_key EPERM", "request_key EPERM"],
    calls: ["keyctl", "add_key", "request_key"],
    open: ["keyctl done", "add_key done", "request_key done"],
} }

threat! { t19_other_processes {
    attack: "
        TRACEME, ATTACH = 0, 16
        print('ptrace', in_child(call, 'ptrace', TRACEME, 0, 0, 0))
        def victim(action):
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.read(read, 1)
                os._exit(0)
            result = action(pid)
            os.write(write, b'.')
            os.waitpid(pid, 0)
            return result
        there = ctypes.create_string_buffer(b'theirs')
        here = ctypes.create_string_buffer(6)
        def read_of(name):
            vector = lambda buffer: (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 6)
            return lambda pid: call(name, pid, vector(here), 1, vector(there), 1, 0)
        print('process_vm_readv', victim(read_of('process_vm_readv')))
        print('process_vm_writev', victim(read_of('process_vm_writev')))
        print('pidfd_getfd', victim(lambda pid: call('pidfd_getfd', os.pidfd_open(pid), 0, 0)))
        print('kcmp', victim(lambda pid: call('kcmp', os.getpid(), pid, 0, 0, 0)))
        ",
    contained: [
        "ptrace EPERM",
        "process_vm_readv EPERM",
        "process_vm_writev EPERM",
        "pidfd_getfd EPERM",
        "kcmp EPERM",
    ],
    without: [Undumpable],
    calls: ["ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp"],
    open: [
        "ptrace done",
        "process_vm_readv done",
        "process_vm_writev done",
        "pidfd_getfd done",
        "kcmp done",
    ],
} }

#[cfg(target_arch = "x86_64")]
threat! { t20_calls_of_other_architectures {
    attack: "
        import mmap
        rights = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=rights)
        # mov eax, 20 (getpid of i386); int 0x80; ret
        code.write(bytes.fromhex('b814000000cd80c3'))
        enter = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
        print('i386', in_child(lambda: enter() == os.getpid() or enter()))
        X32 = 0x40000000
        print('x32', call(X32 | 39))
        print('x32 ptrace', call(X32 | 521, 0, 0, 0, 0))
        ",
    contained: ["i386 SIGSYS", "x32 ENOSYS", "x32 ptrace ENOSYS"],
    without: [Seccomp],
    // Few kernels have either; one without the first ends the process by another signal.
    open: [
        "i386 True|i386 SIGSEGV",
        "x32 ENOSYS|x32 done",
        "x32 ptrace ENOSYS|x32 ptrace done",
    ],
} }

threat! { t21_typing_into_terminals {
    attack: "
        import fcntl
        for name, number in (('TIOCSTI', 0x5412), ('TIOCLINUX', 0x541C), ('TIOCSETD', 0x5423)):
            print(name, outcome(fcntl.ioctl, 0, number, b'x'))
        # The kernel reads 32 bits of the number.
        print('high bits', call('ioctl', 0, 0x100005412, b'x'))
        print('terminal', exists('/dev/tty'), exists('/dev/ptmx'))
        ",
    contained: [
        "TIOCSTI EPERM",
        "TIOCLINUX EPERM",
        "TIOCSETD EPERM",
        "high bits EPERM",
        "terminal absent absent",
    ],
    calls: ["ioctl"],
    open: [
        "TIOCSTI ENOTTY",
        "TIOCLINUX ENOTTY",
        "TIOCSETD ENOTTY",
        "high bits ENOTTY",
        "terminal absent absent",
    ],
} }

threat! { t22_the_kernel_itself {
    attack: "
        ADDR_NO_RANDOMIZE = 0x40000
        print('personality', in_child(call, 'personality', ADDR_NO_RANDOMIZE))
        print('syslog', call('syslog', 11, None, 0))
        print('init_module', call('init_module', None, 0, b''))
        print('delete_module', call('delete_module', b'no-such-module', 0))
        print('kexec_load', call('kexec_load', 0, 17, None, 0))
        print('modify_ldt', call('modify_ldt', 0, bytes(16), 16))
        ",
    contained: [
        "personality EPERM",
        "syslog EPERM",
        "init_module EPERM",
        "delete_module EPERM",
        "kexec_load EPERM",
        // Of x86 only.
        "modify_ldt EPERM|modify_ldt ENOSYS",
    ],
    calls: [
        "personality",
        "syslog",
        "init_module",
        "delete_module",
        "kexec_load",
        "modify_ldt",
    ],
    // For most the kernel itself wants the host's root as well.
    open: [
        "personality done",
        "syslog EINVAL|syslog EPERM",
        "init_module EPERM|init_module ENOSYS",
        "delete_module EPERM|delete_module ENOSYS",
        "kexec_load EPERM|kexec_load ENOSYS",
        "modify_ldt done|modify_ldt ENOSYS",
    ],
} }

threat! { t23_out_of_band_data {
    attack: "
        one, other = socket.socketpair()
        print('send', outcome(one.send, b'x', socket.MSG_OOB))
        print('message', outcome(one.sendmsg, [b'x'], [], socket.MSG_OOB))
        other.setblocking(False)
        print('receive', outcome(other.recv, 1, socket.MSG_OOB))
        ",
    contained: ["send EOPNOTSUPP", "message EOPNOTSUPP", "receive EOPNOTSUPP"],
    calls: ["sendto", "sendmsg", "recvfrom"],
    open: ["send done", "message done", "receive done"],
} }
