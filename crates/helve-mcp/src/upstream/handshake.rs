//! The first words on a connection: in which era, and who is there.
//!
//! Until 2025-11-25 a client begins with `initialize`. Since 2026-07-28 there is no
//! beginning: `server/discover` asks what there is, and every request says who it is from.
//! Many servers know one of the two, some both.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::link::{Broken, Message, Reached};
use super::peer::Peer;

/// How a server is spoken with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// With a handshake, up to 2025-11-25.
    Legacy,
    /// Without, since 2026-07-28.
    Modern,
}

impl Era {
    /// The era of a revision.
    pub fn of(protocol: &str) -> Self {
        match protocol >= MODERN {
            true => Era::Modern,
            false => Era::Legacy,
        }
    }

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Era::Legacy => Era::Modern,
            Era::Modern => Era::Legacy,
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Era::Legacy => "legacy",
            Era::Modern => "modern",
        }
    }
}

/// The first revision without a handshake, and the last with one.
pub(crate) const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// The revisions with a handshake that are understood here.
const KNOWN: &[&str] = &[LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"];

/// The error code of a revision that a server does not speak.
const UNSUPPORTED: i64 = -32022;

const META: &str = "io.modelcontextprotocol/";

/// How long a server may think about a question that it may not know.
const PROBE: Duration = Duration::from_secs(4);

/// Who a server said that it is, word for word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Face {
    pub(crate) era: Era,
    pub(crate) protocol: String,
    pub(crate) capabilities: Value,
    #[serde(default)]
    pub(crate) instructions: Option<String>,
    #[serde(default)]
    pub(crate) server_info: Value,
}

impl Face {
    /// Whether it says that it has this.
    pub(crate) fn has(&self, capability: &str) -> bool {
        self.capabilities
            .get(capability)
            .is_some_and(|c| !c.is_null() && c != &Value::Bool(false))
    }
}

/// Why there is no way to speak with a server.
#[derive(Debug)]
pub(crate) enum Failed {
    /// It does not speak so; the connection can still be used.
    NotSo(String),
    /// The connection is of no use any more.
    Broken(Broken),
}

/// Who this is.
pub(crate) fn client_info() -> Value {
    json!({"name": "helve", "title": "Helve", "version": env!("CARGO_PKG_VERSION")})
}

/// What a connection that several clients share may be asked: whatever one of them can do.
/// A question that the one whom it is for cannot answer is answered with an error.
pub(crate) fn everything() -> Value {
    json!({"roots": {}, "sampling": {"context": {}, "tools": {}}, "elicitation": {"form": {}, "url": {}}})
}

/// What a request says about itself in the modern era.
pub(crate) fn put_meta(meta: &mut Map<String, Value>, protocol: &str, capabilities: &Value) {
    let mut put = |key: &str, value: Value| meta.insert(format!("{META}{key}"), value);
    put("protocolVersion", protocol.into());
    put("clientInfo", client_info());
    put("clientCapabilities", capabilities.clone());
}

/// Whether a key of `_meta` is between two neighbours only.
pub(crate) fn is_per_hop(key: &str) -> bool {
    let known = ["protocolVersion", "clientInfo", "clientCapabilities"];
    key == "progressToken" || key.strip_prefix(META).is_some_and(|k| known.contains(&k))
}

/// Begins in that era.
pub(crate) async fn begin(
    peer: &Arc<Peer>,
    era: Era,
    capabilities: &Value,
    limit: Duration,
) -> Result<Face, Failed> {
    match era {
        Era::Legacy => initialize(peer, capabilities, limit).await,
        Era::Modern => discover(peer, limit.min(PROBE)).await,
    }
}

async fn initialize(
    peer: &Arc<Peer>,
    capabilities: &Value,
    limit: Duration,
) -> Result<Face, Failed> {
    let mut params = Map::new();
    params.insert("protocolVersion".to_owned(), LEGACY.into());
    params.insert("capabilities".to_owned(), capabilities.clone());
    params.insert("clientInfo".to_owned(), client_info());
    let result = match asked(peer, "initialize", params, limit).await? {
        Ok(result) => result,
        Err(error) => {
            return Err(Failed::NotSo(format!(
                "it refused `initialize`: {}",
                said(&error)
            )));
        }
    };
    let protocol = result
        .get("protocolVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !KNOWN.contains(&protocol) {
        let shown: String = protocol.chars().take(40).collect();
        return Err(Failed::NotSo(format!(
            "it wants revision `{}` of the protocol, which is not known here",
            shown.escape_debug()
        )));
    }
    let face = Face {
        era: Era::Legacy,
        protocol: protocol.to_owned(),
        capabilities: result
            .get("capabilities")
            .cloned()
            .unwrap_or_else(|| json!({})),
        instructions: text(&result, "instructions"),
        server_info: result.get("serverInfo").cloned().unwrap_or_default(),
    };
    peer.set_face(face.clone());
    let told = peer.notify("notifications/initialized", None).await;
    told.map_err(Failed::Broken)?;
    Ok(face)
}

async fn discover(peer: &Arc<Peer>, limit: Duration) -> Result<Face, Failed> {
    let mut meta = Map::new();
    put_meta(&mut meta, MODERN, &json!({}));
    let mut params = Map::new();
    params.insert("_meta".to_owned(), Value::Object(meta));
    let mut answer = asked(peer, "server/discover", params.clone(), limit).await;
    // A refusal names the revisions to try instead. Of those that go without a handshake
    // only one is known here: if it is among them, it is worth asking once more.
    if let Ok(Err(error)) = &answer
        && error.get("code").and_then(Value::as_i64) == Some(UNSUPPORTED)
        && lists_modern(error.get("data").and_then(|data| data.get("supported")))
    {
        answer = asked(peer, "server/discover", params, limit).await;
    }
    let result = match answer {
        Ok(Ok(result)) => result,
        Ok(Err(error)) => {
            return Err(Failed::NotSo(format!(
                "it refused `server/discover`: {}",
                said(&error)
            )));
        }
        // An old server may be silent about what it does not know, and is well otherwise.
        Err(Failed::Broken(broken)) if peer.broken().is_none() && broken.challenge.is_none() => {
            return Err(Failed::NotSo(broken.why));
        }
        Err(failed) => return Err(failed),
    };
    // Some old servers answer whatever they do not know with an empty result: only one that
    // names the revision speaks it.
    if !lists_modern(result.get("supportedVersions")) {
        return Err(Failed::NotSo(format!(
            "it does not speak revision {MODERN}"
        )));
    }
    let info = result
        .get("_meta")
        .and_then(|m| m.get(format!("{META}serverInfo")));
    let face = Face {
        era: Era::Modern,
        protocol: MODERN.to_owned(),
        capabilities: result
            .get("capabilities")
            .cloned()
            .unwrap_or_else(|| json!({})),
        instructions: text(&result, "instructions"),
        server_info: info.cloned().unwrap_or_default(),
    };
    peer.set_face(face.clone());
    Ok(face)
}

fn lists_modern(versions: Option<&Value>) -> bool {
    let versions = versions.and_then(Value::as_array);
    versions.is_some_and(|list| list.iter().any(|v| v.as_str() == Some(MODERN)))
}

async fn asked(
    peer: &Arc<Peer>,
    method: &str,
    params: Map<String, Value>,
    limit: Duration,
) -> Result<Result<Message, Message>, Failed> {
    peer.ask(method, params, limit)
        .await
        .map_err(Failed::Broken)
}

fn text(result: &Message, key: &str) -> Option<String> {
    result.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// What an error says, in one line.
pub(crate) fn said(error: &Message) -> String {
    let message = error
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or("it did not say why");
    let message: String = message.chars().take(500).collect();
    match error.get("code").and_then(Value::as_i64) {
        Some(code) => format!("{message} ({code})"),
        None => message,
    }
}

impl Failed {
    pub(crate) fn into_broken(self) -> Broken {
        match self {
            Failed::NotSo(why) => Broken::new(why, Reached::No),
            Failed::Broken(broken) => broken,
        }
    }
}

/// The smallest question that a server of its era answers.
pub(crate) fn smallest(peer: &Peer) -> (&'static str, Map<String, Value>) {
    let mut params = Map::new();
    match peer.face() {
        Some(face) if face.era == Era::Modern => {
            let mut meta = Map::new();
            put_meta(&mut meta, &face.protocol, &json!({}));
            params.insert("_meta".to_owned(), Value::Object(meta));
            ("server/discover", params)
        }
        _ => ("ping", params),
    }
}
