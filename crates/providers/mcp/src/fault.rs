//! What a failed request means to the model's program.

use codehatch_tools::ToolFault;

use crate::{connect::ConnectError, connection::RequestFault};

/// The fault of a call to `server`.
pub(crate) fn of_call(server: &str, fault: RequestFault) -> ToolFault {
    match fault {
        RequestFault::Refused(error) => ToolFault::Failed {
            kind: "McpError".to_owned(),
            message: format!("{} (MCP error {})", error.message, error.code.0),
        },
        RequestFault::Answer(fault) => ToolFault::Failed {
            kind: "McpProtocolError".to_owned(),
            message: format!("MCP server `{server}`: {fault}"),
        },
        RequestFault::Lost {
            may_have_run: true,
            end,
        } => ToolFault::OutcomeUnknown {
            message: format!(
                "MCP server `{server}` {}. The call was on its way: it may have been carried out{}",
                end.how, end.last_words
            ),
        },
        RequestFault::Lost { end, .. } => ToolFault::Unavailable {
            message: format!(
                "MCP server `{server}` {}. The call was not sent{}",
                end.how, end.last_words
            ),
        },
        RequestFault::Http {
            may_have_run: true,
            fault,
            ..
        } => ToolFault::OutcomeUnknown {
            message: format!(
                "MCP server `{server}`: {fault}. The call was on its way: it may have been carried out"
            ),
        },
        RequestFault::Http { fault, .. } => ToolFault::Unavailable {
            message: format!("MCP server `{server}`: {fault}. The call was not carried out"),
        },
    }
}

/// What went wrong with a request for the tool list, after "MCP server `x` …".
pub(crate) fn of_list(fault: RequestFault) -> String {
    match fault {
        RequestFault::Refused(error) => {
            format!(
                "refused to list its tools: {} (MCP error {})",
                error.message, error.code.0
            )
        }
        RequestFault::Answer(fault) => format!("sent a tool list that cannot be read: {fault}"),
        RequestFault::Lost { end, .. } => end.how + &end.last_words,
        RequestFault::Http { fault, .. } => format!("cannot be reached: {fault}"),
    }
}

/// The fault of a call that found no connection.
pub(crate) fn of_connect(server: &str, error: &ConnectError) -> ToolFault {
    ToolFault::Unavailable {
        message: format!("MCP server `{server}` {error}"),
    }
}
