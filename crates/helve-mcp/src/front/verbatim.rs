//! Results that leave word for word.
//!
//! The handler of the protocol library gives typed results, which would drop every key that
//! the types do not know. So a result travels through them inside `_meta` of an empty one,
//! and is taken out on the last step: from the message where there is one ([`Verbatim`] for
//! sessions, [`super::stdio`] for connections), otherwise from the bytes of the body.

use std::future::Future;
use std::sync::LazyLock;

use rmcp::RoleServer;
use rmcp::model::{CustomResult, MetaObject, ServerJsonRpcMessage, ServerResult};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Where in `_meta` it stands.
const KEY: &str = "helve/verbatim";

/// Where the mark stands by which it is known as ours.
const MARK: &str = "helve/mark";

/// A word of chance. Whatever a server elsewhere says under our keys is its own, and is not
/// taken for something wrapped, however often a message is looked at on its way out.
fn mark() -> &'static str {
    static CHOSEN: LazyLock<String> = LazyLock::new(|| {
        let mut bytes = [0; 16];
        // Without chance nothing else here works either: there are no handles.
        let _ = getrandom::fill(&mut bytes);
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    });
    &CHOSEN
}

/// Wraps a result.
pub(crate) fn wrap(result: Map<String, Value>) -> MetaObject {
    let mut meta = Map::new();
    meta.insert(MARK.to_owned(), mark().into());
    meta.insert(KEY.to_owned(), Value::Object(result));
    MetaObject(meta)
}

/// Takes out what a message wraps.
pub(crate) fn unwrap(message: &mut ServerJsonRpcMessage) {
    let ServerJsonRpcMessage::Response(response) = message else {
        return;
    };
    let meta = match &mut response.result {
        ServerResult::CallToolResult(r) => &mut r.meta,
        ServerResult::ListToolsResult(r) => &mut r.meta,
        ServerResult::ListPromptsResult(r) => &mut r.meta,
        ServerResult::ListResourcesResult(r) => &mut r.meta,
        ServerResult::ListResourceTemplatesResult(r) => &mut r.meta,
        ServerResult::GetPromptResult(r) => &mut r.meta,
        ServerResult::ReadResourceResult(r) => &mut r.meta,
        ServerResult::CompleteResult(r) => &mut r.meta,
        ServerResult::GetTaskResult(r) => &mut r.meta,
        _ => return,
    };
    let ours = meta.as_mut().map(|m| &mut m.0);
    let ours = ours.filter(|m| m.get(MARK).is_some_and(|found| found == mark()));
    if let Some(result) = ours.and_then(|m| m.shift_remove(KEY)) {
        response.result = ServerResult::CustomResult(CustomResult::new(result));
    }
}

/// A transport that takes out what its messages wrap.
pub(crate) struct Verbatim<T>(pub(crate) T);

impl<T: Transport<RoleServer>> Transport<RoleServer> for Verbatim<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        mut item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        unwrap(&mut item);
        self.0.send(item)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleServer>>> + Send {
        self.0.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.0.close()
    }
}

#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    result: Wrapping<'a>,
}

#[derive(Deserialize)]
struct Wrapping<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Wrapped<'a>,
}

#[derive(Deserialize)]
struct Wrapped<'a> {
    #[serde(rename = "helve/mark")]
    mark: &'a str,
    #[serde(borrow, rename = "helve/verbatim")]
    verbatim: &'a RawValue,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: &'a RawValue,
}

/// The same for the bytes of a message; `None` where they wrap nothing.
pub(crate) fn unwrap_bytes(message: &[u8]) -> Option<Vec<u8>> {
    let sent: Sent<'_> = serde_json::from_slice(message).ok()?;
    if sent.result.meta.mark != mark() {
        return None;
    }
    let answer = Answer {
        jsonrpc: "2.0",
        id: sent.id,
        result: sent.result.meta.verbatim,
    };
    serde_json::to_vec(&answer).ok()
}

/// The same for a piece of a stream of events.
pub(crate) fn unwrap_events(piece: &[u8]) -> Option<Vec<u8>> {
    const DATA: &[u8] = b"data:";
    let mut out = Vec::with_capacity(piece.len());
    let mut changed = false;
    for line in piece.split_inclusive(|b| *b == b'\n') {
        let data = line.strip_prefix(DATA).map(<[u8]>::trim_ascii);
        match data.and_then(unwrap_bytes) {
            Some(message) => {
                changed = true;
                out.extend_from_slice(b"data: ");
                out.extend_from_slice(&message);
                out.push(b'\n');
            }
            None => out.extend_from_slice(line),
        }
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::{mark, unwrap_bytes, unwrap_events};

    /// A message in which a `$` stands for our mark.
    fn sent(text: &str) -> Vec<u8> {
        text.replace('$', mark()).into_bytes()
    }

    #[test]
    fn what_is_wrapped_leaves_as_it_is() {
        let sent = sent(
            r#"{"jsonrpc":"2.0","id":"a","result":{"content":[],"_meta":{"helve/mark":"$","helve/verbatim":{"z":1,"a":{"_meta":{"helve/verbatim":0}},"n":1.50}}}}"#,
        );
        let left = unwrap_bytes(&sent).unwrap();
        assert_eq!(
            String::from_utf8(left).unwrap(),
            r#"{"jsonrpc":"2.0","id":"a","result":{"z":1,"a":{"_meta":{"helve/verbatim":0}},"n":1.50}}"#
        );
    }

    #[test]
    fn all_else_stays() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"_meta":{"helve/mark":"$","helve/verbatim":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"helve/verbatim":{"a":1}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"helve/mark":"guessed","helve/verbatim":{"a":1}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"_meta helve/verbatim"}}"#,
            "not json",
        ] {
            assert_eq!(unwrap_bytes(&sent(text)), None, "{text}");
        }
    }

    #[test]
    fn events_keep_their_other_lines() {
        let piece = "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"_meta\":{\"helve/mark\":\"$\",\"helve/verbatim\":{\"a\":1}}}}\n\n";
        let left = unwrap_events(&sent(piece)).unwrap();
        assert_eq!(
            String::from_utf8(left).unwrap(),
            "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n\n"
        );
        assert_eq!(unwrap_events(b": ping\n\n"), None);
    }
}
