//! What a process may still do: `no_new_privs`, seccomp and landlock.

use super::{
    EINVAL, LANDLOCK_ADD_RULE, LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF, Result, call, nr,
    prctl,
};

pub(crate) fn forbid_new_privileges() -> Result<()> {
    const PR_SET_NO_NEW_PRIVS: usize = 38;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0)
}

/// Installs a seccomp program of `instructions` entries of eight bytes.
pub(crate) fn install_filter(program: &[u8]) -> Result<()> {
    #[repr(C)]
    struct FilterProgram {
        length: u16,
        instructions: *const u8,
    }
    const SET_MODE_FILTER: usize = 1;
    let program = FilterProgram {
        length: u16::try_from(program.len() / 8).map_err(|_| EINVAL)?,
        instructions: program.as_ptr(),
    };
    // SAFETY: points to a struct sock_fprog whose program outlives the call.
    unsafe {
        call(
            nr::SECCOMP,
            [SET_MODE_FILTER, 0, (&raw const program) as usize, 0, 0, 0],
        )
    }
    .map(drop)
}

/// The landlock ABI that the kernel speaks, from 1.
pub(crate) fn landlock_abi() -> Result<usize> {
    const VERSION: usize = 1;
    // SAFETY: a null pointer with length 0 asks for the version.
    unsafe { call(LANDLOCK_CREATE_RULESET, [0, 0, VERSION, 0, 0, 0]) }
}

pub(crate) fn landlock_ruleset(fs: u64, net: u64, scoped: u64, bytes: usize) -> Result<i32> {
    let attributes = [fs, net, scoped];
    let bytes = bytes.min(size_of_val(&attributes));
    // SAFETY: points to a struct landlock_ruleset_attr of at least `bytes` bytes.
    let fd = unsafe {
        call(
            LANDLOCK_CREATE_RULESET,
            [attributes.as_ptr() as usize, bytes, 0, 0, 0, 0],
        )
    }?;
    i32::try_from(fd).map_err(|_| EINVAL)
}

/// Allows `access` below the file or directory that `parent` is open on.
pub(crate) fn landlock_allow(ruleset: i32, access: u64, parent: i32) -> Result<()> {
    #[repr(C, packed)]
    struct PathBeneath {
        access: u64,
        parent: i32,
    }
    const RULE_PATH_BENEATH: usize = 1;
    let rule = PathBeneath { access, parent };
    let args = [
        ruleset as usize,
        RULE_PATH_BENEATH,
        (&raw const rule) as usize,
        0,
        0,
        0,
    ];
    // SAFETY: points to a struct landlock_path_beneath_attr.
    unsafe { call(LANDLOCK_ADD_RULE, args) }.map(drop)
}

pub(crate) fn landlock_restrict(ruleset: i32) -> Result<()> {
    // SAFETY: takes integers only.
    unsafe { call(LANDLOCK_RESTRICT_SELF, [ruleset as usize, 0, 0, 0, 0, 0]) }.map(drop)
}
