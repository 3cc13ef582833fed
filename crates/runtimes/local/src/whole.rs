//! What every build but those with the feature `weaken` does: nothing is left out.

use codehatch_jail::ZygoteConfig;

use crate::workspace::Resolution;

pub(crate) fn resolution(_config: &ZygoteConfig) -> Resolution {
    Resolution::BENEATH
}
