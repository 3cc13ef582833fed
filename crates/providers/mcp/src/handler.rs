//! Answers what a server asks of its client: pings. Everything else is refused in plain words.
#![expect(
    deprecated,
    reason = "servers of the older era still ask for sampling and roots"
)]

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
        ElicitRequestParams, ElicitResult, ErrorCode, Implementation, ListRootsResult,
        ProtocolVersion,
    },
    service::{NotificationContext, RequestContext},
};
use tokio::sync::watch;

/// The client's side of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    changes: watch::Sender<u64>,
}

impl Handler {
    pub(crate) fn new(changes: watch::Sender<u64>) -> Self {
        Self { changes }
    }
}

#[expect(
    deprecated,
    reason = "servers of the older era still ask for sampling and roots"
)]
impl ClientHandler for Handler {
    async fn create_message(
        &self,
        _params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(refusal("sampling"))
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Err(refusal("roots"))
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(refusal("elicitation"))
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("codehatch", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), client)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// A program calls tools here, and no person or model can be asked in mid-call.
fn refusal(what: &str) -> ErrorData {
    let message = format!("this client does not offer {what}; answer without it");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}
