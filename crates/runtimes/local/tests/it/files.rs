//! Rows 1 to 14: the files of the host, and the view of them.

threat! { t01_secrets_of_the_host {
    attack: "
        for path in ('/etc/shadow', '/home', '/root', '/var', '/boot', '/sys', '/etc/hostname', '/etc/ssh'):
            print(path, exists(path))
        ",
    contained: [
        "/etc/shadow absent",
        "/home absent",
        "/root absent",
        "/var absent",
        "/boot absent",
        "/sys absent",
        "/etc/hostname absent",
        "/etc/ssh absent",
    ],
    shown: ["/etc/shadow", "/home"],
    open: [
        "/etc/shadow present",
        "/home present",
        "/root absent",
        "/var absent",
        "/boot absent",
        "/sys absent",
        "/etc/hostname absent",
        "/etc/ssh absent",
    ],
} }

threat! { t02_writing_to_what_is_shared {
    attack: "
        for path in ('/usr/bin/x', '/etc/x', '/opt/codehatch/x', '/dev/x', '/tools/x', '/x'):
            print(path, outcome(open, path, 'w'))
        print('truncate', outcome(os.truncate, '/etc/passwd', 0))
        print('chmod', outcome(os.chmod, '/etc/passwd', 0o666))
        print('unlink', outcome(os.unlink, '/etc/passwd'))
        ",
    contained: [
        "/usr/bin/x EROFS",
        "/etc/x EROFS",
        "/opt/codehatch/x EROFS",
        "/dev/x EROFS",
        "/tools/x EROFS",
        "/x EROFS",
        "truncate EACCES|truncate EROFS",
        "chmod EROFS",
        "unlink EROFS",
    ],
    without: [ReadOnlyRoot, Landlock],
    // Where the host is root, so is what it has built, and nobody in a sandbox is root: EACCES and EPERM. The
    // stubs of tools are on a read-only mount of their own.
    open: [
        "/usr/bin/x EACCES",
        "/etc/x done|/etc/x EACCES",
        "/opt/codehatch/x done|/opt/codehatch/x EACCES",
        "/dev/x done|/dev/x EACCES",
        "/tools/x EROFS",
        "/x done|/x EACCES",
        "truncate done|truncate EACCES",
        "chmod done|chmod EPERM",
        "unlink done|unlink EACCES",
    ],
} }

threat! { t03_mounts {
    attack: "
        os.mkdir('/tmp/at')
        BIND_REMOUNT = 0x1020
        print('mount', in_child(call, 'mount', b'none', b'/tmp/at', b'tmpfs', 0, b''))
        print('remount', in_child(call, 'mount', b'', b'/workspace', b'', BIND_REMOUNT, b''))
        print('umount', in_child(call, 'umount2', b'/dev/shm', 2))
        print('chroot', in_child(call, 'chroot', b'/tmp/at'))
        print('pivot_root', in_child(call, 'pivot_root', b'/tmp/at', b'/tmp/at'))
        ",
    contained: [
        "mount EPERM",
        "remount EPERM",
        "umount EPERM",
        "chroot EPERM",
        "pivot_root EPERM",
    ],
    without: [Capabilities, Landlock],
    calls: ["mount", "umount2", "pivot_root", "chroot"],
    open: [
        "mount done",
        "remount done",
        "umount done",
        "chroot done",
        "pivot_root done",
    ],
} }

threat! { t04_mounts_by_descriptor {
    attack: "
        AT_FDCWD = -100
        OPEN_TREE_CLONE = 1
        print('open_tree', call('open_tree', AT_FDCWD, b'/usr', OPEN_TREE_CLONE))
        print('fsopen', call('fsopen', b'tmpfs', 0))
        print('fspick', call('fspick', AT_FDCWD, b'/workspace', 0))
        print('move_mount', call('move_mount', AT_FDCWD, b'/dev/shm', AT_FDCWD, b'/tmp/home', 0))
        print('mount_setattr', call('mount_setattr', AT_FDCWD, b'/workspace', 0, bytes(32), 32))
        ",
    contained: [
        "open_tree EPERM",
        "fsopen EPERM",
        "fspick EPERM",
        "move_mount EPERM",
        "mount_setattr EPERM",
    ],
    without: [Capabilities, Landlock],
    calls: ["open_tree", "fsopen", "fspick", "move_mount", "mount_setattr"],
    open: [
        "open_tree done",
        "fsopen done",
        "fspick done",
        "move_mount done",
        "mount_setattr done",
    ],
} }

threat! { t05_files_by_handle {
    attack: "
        AT_FDCWD = -100
        handle = ctypes.create_string_buffer((128).to_bytes(4, sys.byteorder) + bytes(132))
        mount = ctypes.c_int()
        open('file', 'w').close()
        print('name_to_handle_at', call('name_to_handle_at', AT_FDCWD, b'file', handle, ctypes.byref(mount), 0))
        directory = os.open('.', os.O_RDONLY)
        print('open_by_handle_at', call('open_by_handle_at', directory, handle, os.O_RDONLY))
        ",
    contained: ["name_to_handle_at EPERM", "open_by_handle_at EPERM"],
    without: [Capabilities],
    calls: ["name_to_handle_at", "open_by_handle_at"],
    // Before Linux 6.11 only the host's root may.
    open: ["name_to_handle_at done", "open_by_handle_at done|open_by_handle_at EPERM"],
} }

threat! { t06_device_nodes {
    attack: "
        import stat
        memory, whiteout = os.makedev(1, 1), os.makedev(0, 0)
        print('memory', outcome(os.mknod, '/tmp/memory', stat.S_IFCHR | 0o666, memory))
        print('disk', outcome(os.mknod, '/tmp/disk', stat.S_IFBLK | 0o666, os.makedev(8, 0)))
        print('whiteout', outcome(os.mknod, '/tmp/whiteout', stat.S_IFCHR | 0o666, whiteout))
        print(sorted(os.listdir('/dev')))
        ",
    contained: [
        "memory EACCES",
        "disk EACCES",
        "whiteout EACCES",
        "['fd', 'full', 'null', 'random', 'shm', 'stderr', 'stdin', 'stdout', 'urandom', 'zero']",
    ],
    without: [Landlock],
    shown: ["/dev/tty"],
    open: [
        "memory EPERM",
        "disk EPERM",
        "whiteout done",
        "['fd', 'full', 'null', 'random', 'shm', 'stderr', 'stdin', 'stdout', 'tty', 'urandom', 'zero']",
    ],
} }

threat! { t07_hard_links_to_files_of_the_host {
    attack: "
        print('program', outcome(os.link, '/usr/bin/env', '/workspace/program'))
        print('user list', outcome(os.link, '/etc/passwd', '/tmp/users'))
        print('in place', outcome(os.link, '/etc/passwd', '/etc/users'))
        ",
    contained: ["program EXDEV", "user list EXDEV", "in place EROFS"],
    without: [ReadOnlyRoot, Landlock],
    // What a session may write lies on file systems of its own, whatever else there is.
    open: ["program EXDEV", "user list EXDEV", "in place done|in place EPERM"],
} }

threat! { t08_setuid_programs {
    attack: "
        import shutil, subprocess
        mounts = [line.split() for line in open('/proc/self/mountinfo')]
        print('no nosuid:', sorted({m[4] for m in mounts if 'nosuid' not in m[5].split(',')}))
        print([line.strip() for line in open('/proc/self/status') if line.startswith('NoNewPrivs')])
        shutil.copy('/usr/bin/id', 'id')
        os.chmod('id', 0o6755)
        print(subprocess.run(['./id', '-u'], capture_output=True, text=True).stdout.strip())
        ",
    contained: ["no nosuid: []", "['NoNewPrivs:\\t1']", "1000"],
    without: [MountFlags, NoNewPrivileges, Capabilities],
    open: [
        "no nosuid: ['/dev/shm', '/proc', '/run', '/tmp', '/workspace']",
        "['NoNewPrivs:\\t0']",
        "1000",
    ],
} }

threat! { t09_overwriting_the_interpreter {
    attack: "
        print('open', outcome(open, '/proc/self/exe', 'r+b'))
        print('from init', outcome(open, '/proc/1/exe', 'r+b'))
        print('read-only', bool(os.statvfs('/proc/self/exe').f_flag & os.ST_RDONLY))
        print('guest', outcome(open, '/opt/codehatch/codehatch_guest/zygote.py', 'r+b'))
        ",
    contained: ["open EACCES", "from init EACCES", "read-only True", "guest EACCES|guest EROFS"],
    without: [ReadOnlyRoot, Landlock],
    // Of the system's interpreter nobody in a sandbox is the owner; of the guest, where the host is not root.
    open: [
        "open EACCES",
        "from init EACCES",
        "read-only False",
        "guest done|guest EACCES",
    ],
} }

threat! { t10_leaked_descriptors {
    attack: "
        limit = __import__('resource').getrlimit(7)[0]
        own = os.open('/proc/self/fd', os.O_RDONLY)
        fds = {int(fd) for fd in os.listdir(own)} - {own, 0, 1, 2, sys.stdin.fileno(), limit}
        kinds = set()
        for fd in fds:
            if os.path.lexists(f'/proc/self/fd/{fd}'):
                kinds.add(os.readlink(f'/proc/self/fd/{fd}').split(':')[0])
        print(sorted(kinds))
        print(os.getcwd(), os.readlink('/proc/self/cwd'))
        os.chdir('../' * 50)
        print(os.path.samefile('.', '/'), exists('/proc/self/root/home'))
        os.chdir('/workspace')
        ",
    contained: ["[]", "/workspace /workspace", "True absent"],
    without: [Descriptors],
    open: ["['anon_inode', 'pipe', 'socket']", "/workspace /workspace", "True absent"],
} }

threat! { t11_links_where_the_next_session_mounts {
    attack: "
        for path in ('/workspace', '/tmp', '/dev/shm', '/proc', '/tools', '/opt/codehatch'):
            print(path, outcome(os.rename, path, path + '-moved'))
        print('link', outcome(os.symlink, '/etc', '/opt/codehatch'))
        os.rename('/tmp/home', '/tmp/moved')
        os.symlink('/etc', '/tmp/home')
        ",
    then: "
        print('next', os.path.islink('/opt/codehatch'), os.path.islink('/tmp/home'), os.listdir('/tmp'))
        ",
    contained: [
        "/workspace EROFS",
        "/tmp EROFS",
        "/dev/shm EROFS",
        "/proc EROFS",
        "/tools EROFS",
        "/opt/codehatch EROFS",
        "link EEXIST",
        "next False False ['home']",
    ],
    without: [ReadOnlyRoot, Landlock],
    // What is mounted in a session stays where it is.
    open: [
        "/workspace EBUSY|/workspace EACCES",
        "/tmp EBUSY|/tmp EACCES",
        "/dev/shm EBUSY|/dev/shm EACCES",
        "/proc EBUSY|/proc EACCES",
        "/tools EBUSY|/tools EACCES",
        "/opt/codehatch done|/opt/codehatch EACCES",
        "link done|link EEXIST",
        "next True False ['home']|next False False ['home']",
    ],
} }

threat! { t12_files_that_speak_to_the_kernel {
    attack: "
        for name in ('sys/kernel/core_pattern', 'kallsyms', 'cmdline', 'sysrq-trigger', 'kcore', 'keys'):
            print(name, exists('/proc/' + name))
        print('beside processes', len([name for name in os.listdir('/proc') if not name.isdigit()]) > 2)
        ",
    contained: [
        "sys/kernel/core_pattern absent",
        "kallsyms absent",
        "cmdline absent",
        "sysrq-trigger absent",
        "kcore absent",
        "keys absent",
        "beside processes False",
    ],
    without: [ProcessesOnly],
    open: [
        "sys/kernel/core_pattern present",
        "kallsyms present",
        "cmdline present",
        "sysrq-trigger present|sysrq-trigger absent",
        "kcore present|kcore absent",
        "keys present|keys absent",
        "beside processes True",
    ],
} }

threat! { t13_the_first_process {
    attack: "
        print('root', outcome(os.listdir, '/proc/1/root/'))
        print('environment', outcome(lambda: open('/proc/1/environ').read()))
        print('descriptors', outcome(lambda: [os.readlink(f'/proc/1/fd/{fd}') for fd in os.listdir('/proc/1/fd')]))
        print('map', outcome(lambda: open('/proc/1/maps').read()))
        print('memory', outcome(open, '/proc/1/mem', 'rb'))
        print('processes', len([name for name in os.listdir('/proc') if name.isdigit()]))
        ",
    contained: [
        "root EACCES",
        "environment EACCES",
        "descriptors EACCES",
        "map EACCES",
        "memory EACCES",
        "processes 2",
    ],
    without: [Undumpable],
    // Yama may forbid writing to others' memory, but not this reading.
    open: [
        "root done",
        "environment done",
        "descriptors done",
        "map done",
        "memory done|memory EACCES",
        "processes 2",
    ],
} }

threat! { t14_paths_of_the_host {
    attack: "
        neutral = ('/bin', '/dev', '/etc', '/lib', '/opt', '/proc', '/run', '/sbin', '/tmp', '/tools', '/usr', '/workspace')
        mounts = [line.split()[4] for line in open('/proc/self/mountinfo')]
        print([mount for mount in mounts if mount != '/' and not mount.startswith(neutral)])
        print(open('/proc/self/cgroup').read().splitlines()[-1])
        ",
    contained: ["[]", "0::/"],
    shown: ["/home"],
    open: ["['/home']", "0::/"],
} }
