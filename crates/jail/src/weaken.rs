//! What a build with the feature `weaken` can leave out.

use std::{io, path::PathBuf};

use crate::{
    child,
    launch::ZygoteConfig,
    root::{self, GuestFile, Plan},
    seccomp::{Arch, Program},
    sys::Namespaces,
};

#[path = "../session/src/weaken.rs"]
mod protection;

pub use protection::Protection;

/// What a zygote and its sessions do without.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weaken {
    /// Parts of the isolation.
    pub protections: Vec<Protection>,
    /// Calls whose rows of the seccomp policy are left out.
    pub calls: Vec<&'static str>,
    /// Files and directories of the host that are shown at their own paths.
    pub shown: Vec<PathBuf>,
    /// Lines of the guest's own code, and what stands there instead.
    pub guest: Vec<(&'static str, &'static str)>,
}

impl Weaken {
    pub(crate) fn bits(&self) -> u64 {
        self.protections
            .iter()
            .fold(0, |bits, &protection| bits | protection as u64)
    }

    /// The guest's files with other lines in place of some.
    fn change(&self, (path, contents): GuestFile) -> GuestFile {
        let text = String::from_utf8_lossy(contents);
        let changed = self
            .guest
            .iter()
            .fold(text.into_owned(), |text, (line, instead)| {
                text.replace(line, instead)
            });
        // Plans are made of what programs embed, so this stays for good, as those do.
        (path, Box::leak(changed.into_bytes().into_boxed_slice()))
    }

    pub(crate) fn lacks(&self, protection: Protection) -> bool {
        self.protections.contains(&protection)
    }
}

pub(crate) fn planned(config: &ZygoteConfig) -> io::Result<Plan> {
    let filter = Program::without(Arch::NATIVE, &config.weaken.calls).to_bytes();
    let guest: Vec<GuestFile> = config
        .guest
        .iter()
        .map(|&file| config.weaken.change(file))
        .collect();
    let mut plan = root::plan(&config.interpreter, &guest, &filter)?;
    for path in &config.weaken.shown {
        plan.show(path);
    }
    Ok(plan)
}

pub(crate) fn namespaces(config: &ZygoteConfig) -> Namespaces {
    let mut namespaces = child::NAMESPACES;
    for (protection, namespace) in [
        (Protection::Network, libc::CLONE_NEWNET),
        (Protection::Ipc, libc::CLONE_NEWIPC),
    ] {
        if config.weaken.lacks(protection) {
            namespaces &= !namespace;
        }
    }
    namespaces
}

pub(crate) fn read_only_root(config: &ZygoteConfig) -> bool {
    !config.weaken.lacks(Protection::ReadOnlyRoot)
}
