//! Writes our messages, with the arguments of a tool call as the text that the model's program wrote.

use rmcp::model::{ClientJsonRpcMessage, GetExtensions, JsonRpcMessage, RequestId};

use super::{Codec, Exact};

/// Where the arguments of a tool call go. Inside a string the quotes would be escaped, so that this cannot
/// occur earlier.
const PARAMS: &str = "\"params\":{";

impl Codec {
    /// The message as one line of JSON without its newline, and what it carries beside rmcp's types.
    ///
    /// From here on the answer to an [`Exact`] request is taken as text.
    pub(crate) fn encode(
        &self,
        message: &ClientJsonRpcMessage,
    ) -> serde_json::Result<(Vec<u8>, Option<Exact>)> {
        let text = serde_json::to_string(message)?;
        let JsonRpcMessage::Request(request) = message else {
            return Ok((text.into_bytes(), None));
        };
        let RequestId::Number(id) = request.id else {
            return Ok((text.into_bytes(), None));
        };
        self.lifecycle.sending(id, request.request.method());
        let Some(exact) = request.request.extensions().get::<Exact>().cloned() else {
            return Ok((text.into_bytes(), None));
        };
        self.expect(id, &exact.slot);
        let line = match &exact.arguments {
            Some(arguments) => splice(&text, arguments.get()),
            None => text,
        };
        Ok((line.into_bytes(), Some(exact)))
    }
}

/// Puts `arguments` in front of the other parameters. Line breaks can only stand between tokens, where a
/// space means the same and does not end the line.
fn splice(text: &str, arguments: &str) -> String {
    let Some(at) = text.find(PARAMS).map(|at| at + PARAMS.len()) else {
        return text.to_owned();
    };
    let (head, tail) = text.split_at(at);
    let mut line = String::with_capacity(text.len() + arguments.len() + 16);
    line.push_str(head);
    line.push_str("\"arguments\":");
    if memchr::memchr2(b'\n', b'\r', arguments.as_bytes()).is_some() {
        line.push_str(&arguments.replace(['\n', '\r'], " "));
    } else {
        line.push_str(arguments);
    }
    if !tail.starts_with('}') {
        line.push(',');
    }
    line.push_str(tail);
    line
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use codehatch_protocol::RawJson;
    use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest};

    use super::*;
    use crate::wire::Slot;

    #[test]
    fn arguments_reach_the_wire_to_the_letter_and_on_one_line() {
        let mut request = CallToolRequest::new(CallToolRequestParams::new("a\"params\":{b"));
        request.extensions.insert(Exact {
            slot: Arc::new(Slot::default()),
            arguments: RawJson::parse("{\"n\":\n12345678901234567890123,\"x\":1.0,\"i\":NaN}").ok(),
            headers: Vec::new(),
        });
        let message = JsonRpcMessage::request(
            ClientRequest::CallToolRequest(request),
            RequestId::Number(7),
        );
        let (line, exact) = Codec::default().encode(&message).expect("serializes");
        assert!(exact.is_some());
        assert_eq!(
            String::from_utf8(line).expect("text"),
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{"n": 12345678901234567890123,"x":1.0,"i":NaN},"name":"a\"params\":{b"}}"#
        );
    }
}
