//! The part of the catalog that describes the sandbox.

use super::options::Environment;
use crate::text::{clip, push_line};

/// Characters of one name or version.
const MAX_WORD_CHARS: usize = 100;
/// Modules that are listed.
const MAX_MODULES: usize = 1_000;

/// Appends the tags for the Python version and the packages; what is not known gets no tag.
pub(super) fn push_environment(out: &mut String, environment: &Environment) {
    if !environment.python_version.is_empty() {
        out.push_str("  <python-version>");
        push_word(out, &environment.python_version);
        out.push_str("</python-version>\n");
    }
    let mut modules: Vec<_> = environment
        .packages
        .iter()
        .filter(|(_, distributions)| !distributions.is_empty())
        .collect();
    if modules.is_empty() {
        return;
    }
    modules.sort_by_cached_key(|(module, _)| module.to_lowercase());
    out.push_str("  <installed-packages>\n");
    for (module, distributions) in modules.iter().take(MAX_MODULES) {
        let is_namesake = distributions.len() == 1 && distributions.contains_key(*module);
        if !is_namesake {
            push_word(out, module);
            out.push_str(": ");
        }
        let mut distributions: Vec<_> = distributions.iter().collect();
        distributions.sort_by_cached_key(|(name, _)| name.to_lowercase());
        for (index, (name, version)) in distributions.into_iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            push_word(out, name);
            out.push(' ');
            push_word(out, version);
        }
        out.push('\n');
    }
    if modules.len() > MAX_MODULES {
        out.push_str("… and more\n");
    }
    out.push_str("  </installed-packages>\n");
}

fn push_word(out: &mut String, text: &str) {
    push_line(out, clip(text, MAX_WORD_CHARS).0);
}
