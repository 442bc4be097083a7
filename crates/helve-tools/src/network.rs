//! Requests to hosts that an operator has granted, and files from there.
//!
//! Both go through the guard: a host must be on the list, and the addresses that it stands
//! for are looked at as with every request, after redirects too.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use helve_http::{Guard, Outgoing, Web, failure};
use helve_kernel::{Ctx, ToolError, Toolset, ToolsetError, tool, toolset};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The set.
pub fn toolset() -> Result<Toolset, ToolsetError> {
    toolset! {
        name: "network",
        description: "Requests to granted hosts",
        tags: ["network", "http"],
        tools: [request, download],
    }
}

/// What the tools of this set reach the world by.
#[derive(Debug)]
pub struct Network(Web);

impl Network {
    /// A way to the places that this guard lets through.
    pub fn new(guard: Guard) -> Self {
        Self(Web::new(guard))
    }
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum Verb {
    /// To see.
    #[default]
    Get,
    /// To see without the body.
    Head,
    /// To see what can be done.
    Options,
    /// To add.
    Post,
    /// To put in place.
    Put,
    /// To change.
    Patch,
    /// To remove.
    Delete,
}

impl Verb {
    fn method(self) -> Method {
        match self {
            Verb::Get => Method::GET,
            Verb::Head => Method::HEAD,
            Verb::Options => Method::OPTIONS,
            Verb::Post => Method::POST,
            Verb::Put => Method::PUT,
            Verb::Patch => Method::PATCH,
            Verb::Delete => Method::DELETE,
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answered {
    /// Its status, like 200.
    pub status: u16,
    /// Where it came from in the end.
    pub url: String,
    /// Its headers, by their names in small letters.
    pub headers: BTreeMap<String, String>,
    /// Its body, where it is text.
    pub body: String,
    /// How many bytes the body has.
    pub bytes: usize,
    /// Whether the body is text; what is not is left out.
    pub text: bool,
}

/// A file that was fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Downloaded {
    /// Where it lies now.
    pub path: String,
    /// How many bytes it has.
    pub bytes: usize,
    /// What the server says that it is.
    pub content_type: String,
    /// Where it came from in the end.
    pub url: String,
}

/// Sends an HTTP request to a granted host. Use it when an API must be asked that no other tool covers.
///
/// - The host must be granted by an operator (`[toolsets]` `hosts`); private and link-local
///   addresses need a grant of their own (`[network]` `allow`), after redirects too.
/// - Secrets are not for arguments: an API that needs one is imported as a tool (`helve import`).
/// - A status of 400 or more is an answer, not an error.
#[tool(
    group = "network",
    title = "Send a request",
    category = "Network",
    risk = "exec_high",
    reversible = "no",
    output,
    timeout = "60s",
    aliases = ["http_request", "fetch_url"],
    triggers = ["When an API must be asked that no other tool covers"],
    warnings = ["What it changes on another system cannot be undone from here"],
    related = [("network_download", "keeps what comes as a file")],
    example(
        scenario = "Ask an API",
        params = {"url": "https://api.example.com/v1/status"},
        expected = "Status, headers and body"
    )
)]
async fn request(
    ctx: &Ctx,
    /// Where to, with https:// or http://.
    #[schemars(length(min = 1, max = 8192))]
    url: String,
    /// What is asked for.
    #[default(Verb::Get)]
    method: Verb,
    /// Headers by name; empty for none.
    #[default(BTreeMap::new())]
    headers: BTreeMap<String, String>,
    /// The body; empty for none.
    #[default("")]
    body: String,
    /// The most bytes of an answer.
    #[default(1_000_000)]
    #[schemars(range(min = 1, max = 20_000_000))]
    max_bytes: u64,
) -> Result<Answered, ToolError> {
    let network = ctx.service::<Network>()?;
    let method = method.method();
    let outgoing = Outgoing {
        method: method.clone(),
        url: address(&url)?,
        headers: named(&headers)?,
        body: (!body.is_empty()).then(|| body.into_bytes()),
        max_bytes,
    };
    let fetched = network.0.fetch(outgoing).await;
    let fetched = fetched.map_err(|e| failure(&e, &method))?;
    let bytes = fetched.body.len();
    let text = String::from_utf8(fetched.body)
        .ok()
        .filter(|t| !t.contains('\0'));
    Ok(Answered {
        status: fetched.status.as_u16(),
        url: fetched.url.to_string(),
        headers: shown(&fetched.headers),
        text: text.is_some(),
        body: text.unwrap_or_default(),
        bytes,
    })
}

/// Fetches a file from a granted host into the workspace. Use it when data is needed as a file.
///
/// - The host must be granted by an operator (`[toolsets]` `hosts`).
/// - `content_type` refuses what is something else: `application/pdf`, `image/*`.
/// - The file can be looked at before it is there, and taken away again, like any change.
#[tool(
    group = "network",
    title = "Fetch a file",
    category = "Network",
    risk = "write",
    held,
    paths = ["."],
    idempotent,
    output,
    timeout = "5m",
    aliases = ["download_file"],
    triggers = ["When a file from the web is needed in the workspace"],
    warnings = ["What comes from elsewhere is not to be trusted; look before it is run"],
    related = [("network_request", "asks without keeping a file")],
    example(
        scenario = "A table of data",
        params = {"url": "https://data.example.com/rates.csv", "path": "data/rates.csv", "content_type": "text/*"},
        expected = "The path of the file and its size"
    )
)]
async fn download(
    ctx: &Ctx,
    /// Where from, with https:// or http://.
    #[schemars(length(min = 1, max = 8192))]
    url: String,
    /// Where to put it.
    #[path]
    path: String,
    /// What it must be, like `image/*`; empty for anything.
    #[default("")]
    content_type: String,
    /// Whether a file that is there is replaced.
    #[default(false)]
    overwrite: bool,
    /// The most bytes.
    #[default(50_000_000)]
    #[schemars(range(min = 1, max = 500_000_000))]
    max_bytes: u64,
) -> Result<Downloaded, ToolError> {
    if ctx.files().look(&path).await?.is_some() && !overwrite {
        return Err(ToolError::conflict(format!("`{path}` is there already"))
            .with_hint("choose another path, or say `overwrite`"));
    }
    let network = ctx.service::<Network>()?;
    let fetched = network
        .0
        .fetch(Outgoing::get(address(&url)?, max_bytes))
        .await;
    let fetched = fetched.map_err(|e| failure(&e, &Method::GET))?;
    if !fetched.status.is_success() {
        let status = fetched.status;
        return Err(ToolError::dependency(format!(
            "the server answered {status}; nothing was kept"
        ))
        .with_hint("is the address right?"));
    }
    let kind = shown(&fetched.headers)
        .remove("content-type")
        .unwrap_or_default();
    if !is_kind(&kind, &content_type) {
        let problem = format!("it is `{kind}`, not `{content_type}`; nothing was kept");
        return Err(
            ToolError::validation(problem).with_hint("leave `content_type` out to take anything")
        );
    }
    let bytes = fetched.body.len();
    if let Some(folder) = Path::new(&path).parent() {
        ctx.files().create_dir_all(folder).await?;
    }
    ctx.files().write(&path, fetched.body).await?;
    Ok(Downloaded {
        path,
        bytes,
        content_type: kind,
        url: fetched.url.to_string(),
    })
}

fn address(text: &str) -> Result<Url, ToolError> {
    Url::parse(text.trim()).map_err(|e| {
        ToolError::validation(format!("`{}` is no address: {e}", text.escape_debug()))
            .with_hint("write it like `https://api.example.com/v1`")
    })
}

/// Headers, without those that belong to the connection or carry secrets.
fn named(headers: &BTreeMap<String, String>) -> Result<Vec<(HeaderName, HeaderValue)>, ToolError> {
    let read = headers.iter().map(|(name, value)| {
        let lower = name.to_ascii_lowercase();
        if helve_kernel::helve_core::openapi::is_fixed_header(&lower) {
            let problem = format!("the header `{lower}` is not for arguments");
            return Err(ToolError::validation(problem)
                .with_hint("an API that needs a secret is imported with `helve import`"));
        }
        let wrong = |_| ToolError::validation(format!("`{}` is no header", name.escape_debug()));
        let found = HeaderName::from_bytes(lower.as_bytes()).map_err(wrong)?;
        let wrong = |_| {
            ToolError::validation(format!(
                "the header `{lower}` has a value that cannot be sent"
            ))
        };
        Ok((found, HeaderValue::from_str(value).map_err(wrong)?))
    });
    read.collect()
}

fn shown(headers: &HeaderMap) -> BTreeMap<String, String> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let all = headers
        .iter()
        .map(|(name, value)| (name.to_string(), text(value)));
    // What a server sets in a client is not for a model.
    all.filter(|(name, _)| name != "set-cookie").collect()
}

/// Whether something is of a kind: `image/png` is `image/*`.
fn is_kind(found: &str, wanted: &str) -> bool {
    let wanted = wanted.trim().to_ascii_lowercase();
    let found = found
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match wanted.strip_suffix("/*") {
        _ if wanted.is_empty() || wanted == "*/*" => true,
        Some(kind) => found.split('/').next() == Some(kind),
        None => found == wanted,
    }
}
