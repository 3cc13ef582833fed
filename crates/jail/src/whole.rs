//! What every build but those with the feature `weaken` does: nothing is left out.

use std::io;

use crate::{
    child,
    launch::ZygoteConfig,
    root::{self, Plan},
    seccomp::{Arch, Program},
    sys::Namespaces,
};

pub(crate) fn planned(config: &ZygoteConfig) -> io::Result<Plan> {
    let filter = Program::new(Arch::NATIVE).to_bytes();
    root::plan(&config.interpreter, &config.guest, &filter)
}

pub(crate) fn namespaces(_config: &ZygoteConfig) -> Namespaces {
    child::NAMESPACES
}

pub(crate) fn read_only_root(_config: &ZygoteConfig) -> bool {
    true
}
