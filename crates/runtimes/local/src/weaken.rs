//! What a build with the feature `weaken` can leave out on the host's side.

use codehatch_jail::{Protection, ZygoteConfig};

use crate::workspace::Resolution;

pub(crate) fn resolution(config: &ZygoteConfig) -> Resolution {
    if config.weaken.protections.contains(&Protection::Beneath) {
        Resolution::ANYWHERE
    } else {
        Resolution::BENEATH
    }
}
