//! What can go wrong with an HTTP request, and whether the server may have acted on it all the same.

/// Bytes of an error body that are shown.
pub(crate) const SHOWN_BYTES: usize = 300;

/// Why a request got no MCP answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpFault {
    /// No connection came about.
    #[error(
        "cannot connect to it{}; check that it runs and that its `url` is right",
        root(source)
    )]
    NoConnection {
        /// What the client said. Without the address, which may hold a token.
        source: reqwest::Error,
    },
    /// The connection broke after the request was on its way.
    #[error("the connection broke{}", root(source))]
    Broken {
        /// What the client said. Without the address, which may hold a token.
        source: reqwest::Error,
    },
    /// The server answered with an error status and no MCP error.
    #[error("it answered HTTP {status}{}{}", hint(*status), shown(body))]
    Status {
        /// The status.
        status: u16,
        /// The start of the body.
        body: String,
    },
    /// The answer is neither JSON nor an event stream.
    #[error(
        "it answered with `{content_type}` instead of JSON or an event stream; check that its `url` is an MCP endpoint"
    )]
    NotMcp {
        /// The content type.
        content_type: String,
    },
    /// The answer is no message.
    #[error("its answer is not an MCP message{}", shown(body))]
    Unreadable {
        /// The start of the body.
        body: String,
    },
    /// The message could not be written.
    #[error("the request cannot be written as JSON")]
    Unwritable {
        /// What the writer said.
        source: serde_json::Error,
    },
}

impl HttpFault {
    /// Sorts an error of the HTTP client.
    pub(crate) fn of(error: reqwest::Error) -> Self {
        let source = error.without_url();
        if source.is_connect() || source.is_builder() || source.is_redirect() {
            Self::NoConnection { source }
        } else {
            Self::Broken { source }
        }
    }

    /// Whether the server may have carried the request out.
    pub(crate) fn may_have_run(&self) -> bool {
        match self {
            Self::NoConnection { .. } | Self::Unwritable { .. } => false,
            // 503 is what stands in front of a server that is down or full.
            Self::Status { status, .. } => *status >= 500 && *status != 503,
            Self::Broken { .. } | Self::NotMcp { .. } | Self::Unreadable { .. } => true,
        }
    }

    /// Whether the same request may succeed in a moment.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, Self::NoConnection { source } if source.is_connect())
    }
}

/// The innermost cause, in brackets.
fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    format!(" ({cause})")
}

fn hint(status: u16) -> &'static str {
    match status {
        401 => " (it wants credentials: set its `Authorization` header)",
        403 => " (it refuses the credentials: check its `Authorization` header)",
        404 | 405 => " (there is no MCP endpoint: check its `url`)",
        429 => " (too many requests: call it less often)",
        503 => " (it is down or overloaded: try again later)",
        _ => "",
    }
}

fn shown(body: &str) -> String {
    let text = body.trim();
    if text.is_empty() {
        return String::new();
    }
    let end = text.floor_char_boundary(SHOWN_BYTES);
    format!(": {}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(status: u16) -> HttpFault {
        HttpFault::Status {
            status,
            body: " no\n".to_owned(),
        }
    }

    #[test]
    fn a_status_says_what_to_do_and_what_the_server_said() {
        insta::assert_snapshot!(
            status(401),
            @"it answered HTTP 401 (it wants credentials: set its `Authorization` header): no"
        );
    }

    #[test]
    fn only_failures_inside_the_server_leave_the_outcome_open() {
        let open: Vec<_> = [400, 401, 404, 429, 500, 502, 503, 504]
            .into_iter()
            .filter(|code| status(*code).may_have_run())
            .collect();
        assert_eq!(open, [500, 502, 504]);
    }
}
