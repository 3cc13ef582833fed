//! Bounds on one sandbox. Each is kept by the kernel or the host, never by the guest.

/// Bounds on one sandbox, set when it starts.
///
/// Build with [`Limits::default`] and the `with_*` methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Memory of the whole sandbox, in bytes. Default 512 MiB.
    ///
    /// A control group keeps it where there is one; elsewhere each process may have this much private
    /// memory, and the host ends a sandbox whose processes together have more.
    pub memory_bytes: u64,
    /// Processes and threads. Default 128. The kernel keeps it.
    pub processes: u32,
    /// Open files of each process. Default 512. The kernel keeps it.
    pub open_files: u32,
    /// Size of the workspace, in bytes. Default 256 MiB. The kernel keeps it.
    pub workspace_bytes: u64,
    /// Size of `/tmp` and of `/dev/shm`, in bytes each. Default 64 MiB. The kernel keeps it.
    pub temporary_bytes: u64,
    /// Processors that a sandbox may use at once, in thousandths. `None`, the default, is all of them.
    /// A control group keeps it; without one it is not kept.
    pub cpu_milli: Option<u32>,
}

const MIB: u64 = 1024 * 1024;

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 512 * MIB,
            processes: 128,
            open_files: 512,
            workspace_bytes: 256 * MIB,
            temporary_bytes: 64 * MIB,
            cpu_milli: None,
        }
    }
}

impl Limits {
    /// Replaces the bound on memory.
    #[must_use]
    pub fn with_memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// Replaces the bound on processes and threads.
    #[must_use]
    pub fn with_processes(mut self, processes: u32) -> Self {
        self.processes = processes;
        self
    }

    /// Replaces the bound on open files.
    #[must_use]
    pub fn with_open_files(mut self, open_files: u32) -> Self {
        self.open_files = open_files;
        self
    }

    /// Replaces the size of the workspace.
    #[must_use]
    pub fn with_workspace_bytes(mut self, bytes: u64) -> Self {
        self.workspace_bytes = bytes;
        self
    }

    /// Replaces the size of `/tmp` and of `/dev/shm`.
    #[must_use]
    pub fn with_temporary_bytes(mut self, bytes: u64) -> Self {
        self.temporary_bytes = bytes;
        self
    }

    /// Replaces the bound on processors, in thousandths of one.
    #[must_use]
    pub fn with_cpu_milli(mut self, cpu_milli: Option<u32>) -> Self {
        self.cpu_milli = cpu_milli;
        self
    }
}
