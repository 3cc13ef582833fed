//! What of an earlier set is still true.

use std::sync::Arc;

use super::{
    registry::Namespace,
    toolset::{Provider, ProviderTools},
};

/// Whether these are the very listings that `known` has.
pub(super) fn is_same(known: &[Provider], now: &[ProviderTools<'_>]) -> bool {
    known.len() == now.len()
        && known.iter().zip(now).all(|(known, now)| {
            known.namespace.as_deref() == now.namespace && Arc::ptr_eq(&known.listing, &now.listing)
        })
}

/// Takes over what was written about namespaces whose tools are still the same.
pub(super) fn take_over(
    (known, known_providers): (&[Namespace], &[Provider]),
    (now, now_providers): (&mut [Namespace], &[Provider]),
) {
    let same_names = known.len() == now.len()
        && known
            .iter()
            .zip(&*now)
            .all(|(old, new)| old.name == new.name);
    for namespace in now {
        // The package's own module lists the others.
        if namespace.name.is_none() && !same_names {
            continue;
        }
        let Some(old) = known.iter().find(|old| old.name == namespace.name) else {
            continue;
        };
        let same_tools = old.tools.len() == namespace.tools.len()
            && old.tools.iter().zip(&namespace.tools).all(|(old, new)| {
                let old_listing = &known_providers[old.provider].listing;
                let new_listing = &now_providers[new.provider].listing;
                let same_spec = Arc::ptr_eq(old_listing, new_listing) && old.index == new.index;
                old.path == new.path
                    && (same_spec || old_listing.tools[old.index] == new_listing.tools[new.index])
            });
        if same_tools {
            namespace.texts = Arc::clone(&old.texts);
        }
    }
}
