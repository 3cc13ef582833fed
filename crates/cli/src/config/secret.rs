//! Secrets by reference: a configuration says where one is, not what it is.

use std::{env, fs};

use anyhow::{Context, anyhow};

/// Resolves `env:NAME` and `file:PATH`; any other text stands for itself.
///
/// `key` is what errors call the place, such as `mcp.github.env.TOKEN`. Values never appear in errors.
pub(crate) fn resolve(key: &str, text: &str) -> anyhow::Result<String> {
    if let Some(name) = text.strip_prefix("env:") {
        return env::var(name).map_err(|_| {
            anyhow!(
                "{key}: the environment variable `{name}` is not set; set it, or change `{text}`"
            )
        });
    }
    if let Some(path) = text.strip_prefix("file:") {
        let secret = fs::read_to_string(path)
            .with_context(|| format!("{key}: cannot read the secret from `{path}`"))?;
        return Ok(secret.trim_end_matches(['\n', '\r']).to_owned());
    }
    Ok(text.to_owned())
}

/// Replaces `${NAME}`, `${env:NAME}` and `${NAME:-default}`, as other MCP clients do in their files.
pub(crate) fn expand(key: &str, text: &str) -> anyhow::Result<String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        let Some(end) = from.find('}') else {
            break;
        };
        expanded.push_str(before);
        let inside = from.get(2..end).unwrap_or_default();
        let inside = inside.strip_prefix("env:").unwrap_or(inside);
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        match (env::var(name), default) {
            (Ok(value), _) => expanded.push_str(&value),
            (Err(_), Some(default)) => expanded.push_str(default),
            (Err(_), None) => {
                return Err(anyhow!(
                    "{key}: the environment variable `{name}` is not set"
                ));
            }
        }
        rest = from.get(end + 1..).unwrap_or_default();
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_and_plain_text_is_kept() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(&file, "from a file\n").expect("written");
        let reference = format!("file:{}", file.path().display());
        assert_eq!(resolve("k", &reference).expect("there"), "from a file");
        assert_eq!(
            resolve("k", "env:CARGO_PKG_NAME").expect("set by cargo"),
            "codehatch-cli"
        );
        assert_eq!(resolve("k", "plain").expect("plain"), "plain");
    }

    #[test]
    fn what_is_missing_is_named_with_its_place() {
        let error = resolve("mcp.x.env.TOKEN", "env:CODEHATCH_NO_SUCH").expect_err("not set");
        insta::assert_snapshot!(error, @"mcp.x.env.TOKEN: the environment variable `CODEHATCH_NO_SUCH` is not set; set it, or change `env:CODEHATCH_NO_SUCH`");
        let error = resolve("mcp.x.headers.Authorization", "file:/no/such").expect_err("no file");
        insta::assert_snapshot!(error, @"mcp.x.headers.Authorization: cannot read the secret from `/no/such`");
    }

    #[test]
    fn variables_are_expanded_as_other_clients_do() {
        let expanded = expand(
            "k",
            "a ${CARGO_PKG_NAME} ${env:CARGO_PKG_NAME} ${NO_SUCH_X:-d} $x ${",
        );
        assert_eq!(
            expanded.expect("all known"),
            "a codehatch-cli codehatch-cli d $x ${"
        );
        let error = expand("mcpServers.x.url", "${NO_SUCH_X}").expect_err("not set");
        insta::assert_snapshot!(error, @"mcpServers.x.url: the environment variable `NO_SUCH_X` is not set");
    }
}
