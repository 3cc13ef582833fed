//! Secrets by reference: a configuration says where one is, not what it is.

use std::{env, fs, path::Path};

use anyhow::{Context, anyhow};

/// Resolves `env:NAME` and `file:PATH`, and the variables in any other text. What follows `text:` stands for itself.
///
/// Relative paths start at `directory`. Values never appear in errors.
pub(crate) fn resolve(text: &str, directory: &Path) -> anyhow::Result<String> {
    if let Some(name) = text.strip_prefix("env:") {
        return env::var(name).map_err(|_| {
            anyhow!("the environment variable `{name}` is not set; set it, or change `{text}`")
        });
    }
    if let Some(path) = text.strip_prefix("file:") {
        let secret = fs::read_to_string(directory.join(path))
            .with_context(|| format!("cannot read the secret from `{path}`"))?;
        return Ok(secret.trim_end_matches(['\n', '\r']).to_owned());
    }
    match text.strip_prefix("text:") {
        Some(text) => Ok(text.to_owned()),
        None => expand(text, directory),
    }
}

/// Replaces `${NAME}`, `${env:NAME}`, `${NAME:-default}` and the names of places, as other MCP clients do in their
/// files. A value that is put in is not looked at again. `folder` is the project that the file is for.
pub(crate) fn expand(text: &str, folder: &Path) -> anyhow::Result<String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        let Some(end) = from.find('}') else {
            break;
        };
        expanded.push_str(before);
        let inside = from.get(2..end).unwrap_or_default();
        match variable(inside, folder)? {
            Some(value) => expanded.push_str(&value),
            None => return Err(unknown(inside)),
        }
        rest = from.get(end + 1..).unwrap_or_default();
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn variable(inside: &str, folder: &Path) -> anyhow::Result<Option<String>> {
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    Ok(match inside {
        "workspaceFolder" => Some(shown(&std::path::absolute(folder)?)),
        "workspaceFolderBasename" => std::path::absolute(folder)?
            .file_name()
            .map(|name| name.to_string_lossy().into_owned()),
        "userHome" => env::var("HOME").ok(),
        "pathSeparator" | "/" => Some("/".to_owned()),
        _ => {
            let inside = inside.strip_prefix("env:").unwrap_or(inside);
            match inside.split_once(":-") {
                Some((name, default)) => {
                    Some(env::var(name).unwrap_or_else(|_| default.to_owned()))
                }
                None => env::var(inside).ok(),
            }
        }
    })
}

fn unknown(inside: &str) -> anyhow::Error {
    if let Some(asked) = inside.strip_prefix("input:") {
        return anyhow!(
            "`${{{inside}}}` would be asked of a user, and nobody can be asked here: put the value of \
             `{asked}` into an environment variable, and write `${{NAME}}`"
        );
    }
    let name = inside.strip_prefix("env:").unwrap_or(inside);
    anyhow!("the environment variable `{name}` is not set; set it, or write `${{{name}:-default}}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_and_plain_text_is_kept() {
        let directory = tempfile::TempDir::new().expect("a directory");
        fs::write(directory.path().join("token"), "from a file\n").expect("written");
        let resolve = |text| resolve(text, directory.path()).expect("there");
        assert_eq!(resolve("file:token"), "from a file");
        let absolute = format!("file:{}/token", directory.path().display());
        assert_eq!(resolve(&absolute), "from a file");
        // Cargo sets it.
        assert_eq!(resolve("env:CARGO_PKG_NAME"), "codehatch-cli");
        assert_eq!(resolve("plain"), "plain");
        assert_eq!(resolve("text:file:dev.db"), "file:dev.db");
        assert_eq!(resolve("Bearer ${CARGO_PKG_NAME}"), "Bearer codehatch-cli");
        assert_eq!(resolve("text:${CARGO_PKG_NAME}"), "${CARGO_PKG_NAME}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let resolve = |text| {
            resolve(text, Path::new(""))
                .expect_err("missing")
                .to_string()
        };
        insta::assert_snapshot!(resolve("env:CODEHATCH_NO_SUCH"), @"the environment variable `CODEHATCH_NO_SUCH` is not set; set it, or change `env:CODEHATCH_NO_SUCH`");
        insta::assert_snapshot!(resolve("file:/no/such"), @"cannot read the secret from `/no/such`");
    }

    #[test]
    fn variables_are_expanded_as_other_clients_do() {
        let expand = |text| expand(text, Path::new("/srv/project"));
        let expanded = expand("a ${CARGO_PKG_NAME} ${env:CARGO_PKG_NAME} ${NO_SUCH_X:-d} $x ${")
            .expect("known");
        assert_eq!(expanded, "a codehatch-cli codehatch-cli d $x ${");
        let places = expand("${workspaceFolder}${/}a ${workspaceFolderBasename}").expect("known");
        assert_eq!(places, "/srv/project/a project");
        let error = |text| expand(text).expect_err("unknown").to_string();
        insta::assert_snapshot!(error("${NO_SUCH_X}"), @"the environment variable `NO_SUCH_X` is not set; set it, or write `${NO_SUCH_X:-default}`");
        insta::assert_snapshot!(error("${input:token}"), @"`${input:token}` would be asked of a user, and nobody can be asked here: put the value of `token` into an environment variable, and write `${NAME}`");
    }
}
