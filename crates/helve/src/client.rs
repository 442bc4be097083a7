//! How commands talk to a hub: over HTTP to one that runs, or in this process to
//! one that they open for themselves. Both ways lead through the same routes, with
//! the same tokens, the same checks and the same record.

use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Method, Request, header};
use clap::Args;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use serde_json::Value;
use tower::ServiceExt as _;

use crate::exit::{Exit, Failure};
use crate::hub::{Open, TERMINAL, Walls};
use crate::state::State;
use crate::{env, workspace};

/// Which hub, and as whom.
#[derive(Debug, Clone, Args)]
pub(crate) struct Target {
    /// The hub to talk to [default: the one of this workspace].
    #[arg(long, value_name = "URL", help_heading = "Hub")]
    url: Option<String>,
    /// Act with the saved token of that name (`.helve/tokens/<NAME>`) instead of the terminal's.
    #[arg(long = "as", value_name = "NAME", help_heading = "Hub")]
    acting: Option<String>,
    /// What a hub that the command opens for itself lets programs do.
    #[arg(skip)]
    walls: Walls,
}

impl Target {
    /// The same, with a say in what a hub that is opened for it lets programs do.
    pub(crate) fn with_walls(&self, walls: Walls) -> Self {
        Self {
            walls,
            ..self.clone()
        }
    }

    /// Whether a hub was named that need not be the one of this workspace.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.url.is_some() || env::url().is_some()
    }
}

/// The host name under which a hub in this process is called.
const IN_PROCESS: &str = "helve.internal";

/// How long a hub may take to say that it is there.
const PROBE: Duration = Duration::from_secs(5);

/// A hub that can be asked.
pub(crate) struct Client {
    way: Way,
    token: String,
}

enum Way {
    Http {
        url: String,
        client: reqwest::Client,
    },
    Here(Box<Open>),
}

type Bytestream = Pin<Box<dyn Stream<Item = Result<Bytes, String>> + Send>>;

/// An answer that is still coming.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Bytestream,
}

impl Client {
    /// Finds the hub, or opens it.
    pub(crate) async fn open(target: &Target) -> Result<Self, Failure> {
        let root = workspace::root();
        let state = State::of(&root);
        let named = target.url.clone().or_else(env::url);
        if let Some(url) = named {
            // The terminal's token is for the hub of this workspace and for no other.
            let own = state
                .running()
                .is_some_and(|running| running == url.trim_end_matches('/'));
            let token = match own || target.acting.is_some() {
                true => token(target, &state)?,
                false => env::token(),
            };
            let token = token.ok_or_else(|| {
                Failure::usage("a hub elsewhere needs a token of its own")
                    .hint("set `HELVE_TOKEN`, or name a saved one with `--as`")
            })?;
            return Self::http(&url, token);
        }
        if let Some(running) = Self::running(target, &state).await? {
            return Ok(running);
        }
        let open = match Open::open(&root, vec![IN_PROCESS.to_owned()], target.walls, None).await {
            Ok(open) => open,
            // What has the store may be a hub that began in the meantime.
            Err(failure) => match Self::running(target, &state).await? {
                Some(running) => return Ok(running),
                None => return Err(failure),
            },
        };
        let Some(token) = token(target, &open.state)? else {
            open.close().await?;
            return Err(Failure::input("there is no token for the terminal"));
        };
        Ok(Self {
            way: Way::Here(Box::new(open)),
            token,
        })
    }

    /// The hub of this workspace that runs, if one does.
    async fn running(target: &Target, state: &State) -> Result<Option<Self>, Failure> {
        let Some(url) = state.running() else {
            return Ok(None);
        };
        if !Self::answers(&url).await {
            return Ok(None);
        }
        let token = token(target, state)?
            .ok_or_else(|| Failure::input("the running hub has left no token for the terminal"))?;
        Self::http(&url, token).map(Some)
    }

    /// Whether a hub runs in the workspace with that state.
    pub(crate) async fn runs(state: &State) -> bool {
        match state.running() {
            Some(url) => Self::answers(&url).await,
            None => false,
        }
    }

    fn http(url: &str, token: String) -> Result<Self, Failure> {
        let url = url.trim_end_matches('/').to_owned();
        let client = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(5))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|e| Failure::output(format!("HTTP cannot be spoken here: {e}")))?;
        let way = Way::Http { url, client };
        Ok(Self { way, token })
    }

    /// Whether a hub answers at that address. It is shown no token.
    pub(crate) async fn answers(url: &str) -> bool {
        let Ok(client) = Self::http(url, String::new()) else {
            return false;
        };
        let asked = client.send(Method::GET, "/healthz", None, &[]);
        let answer = tokio::time::timeout(PROBE, asked).await;
        answer.is_ok_and(|answer| answer.is_ok_and(|reply| reply.status == 200))
    }

    /// Whether the hub is in this process and ends with the command.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.way, Way::Here(_))
    }

    /// What a hub in this process could not load; one elsewhere has told its own terminal.
    pub(crate) fn problems(&self) -> &[String] {
        match &self.way {
            Way::Http { .. } => &[],
            Way::Here(open) => &open.synced.problems,
        }
    }

    /// Where the hub is.
    pub(crate) fn place(&self) -> String {
        match &self.way {
            Way::Http { url, .. } => url.clone(),
            Way::Here(open) => open.root.display().to_string(),
        }
    }

    /// Asks, and gives the answer as it comes.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Result<Reply, Failure> {
        let mut all = vec![(
            header::AUTHORIZATION.as_str(),
            format!("Bearer {}", self.token),
        )];
        if body.is_some() {
            all.push((header::CONTENT_TYPE.as_str(), "application/json".to_owned()));
        }
        all.extend(
            headers
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned())),
        );
        let text = body.map(ToString::to_string).unwrap_or_default();
        match &self.way {
            Way::Http { url, client } => {
                let mut request = client.request(method, format!("{url}{path}")).body(text);
                for (name, value) in all {
                    request = request.header(name, value);
                }
                let sent = request.send().await.map_err(|e| unreachable(url, &e))?;
                Ok(Reply {
                    status: sent.status().as_u16(),
                    body: Box::pin(sent.bytes_stream().map_err(|e| e.to_string())),
                })
            }
            Way::Here(open) => {
                let mut request = Request::builder()
                    .method(method)
                    .uri(path)
                    .header(header::HOST, IN_PROCESS);
                for (name, value) in all {
                    request = request.header(name, value);
                }
                let request = request
                    .body(Body::from(text))
                    .map_err(|e| Failure::usage(format!("the request cannot be made: {e}")))?;
                let Ok(answer) = open.hub.router().oneshot(request).await;
                Ok(Reply {
                    status: answer.status().as_u16(),
                    body: Box::pin(
                        answer
                            .into_body()
                            .into_data_stream()
                            .map_err(|e| e.to_string()),
                    ),
                })
            }
        }
    }

    /// Asks for JSON; a refusal is a failure with its hint.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        let accept = [(header::ACCEPT.as_str(), "application/json")];
        self.send(method, path, body, &accept).await?.json().await
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.ask(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.ask(Method::POST, path, Some(body)).await
    }

    /// All items of a list, page by page, up to `most`.
    pub(crate) async fn items(
        &self,
        path: &str,
        cursor: &str,
        most: usize,
    ) -> Result<Vec<Value>, Failure> {
        let mut items = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut parts = vec![format!("limit={}", (most - items.len()).clamp(1, 200))];
            parts.extend(next.map(|n| format!("{cursor}={}", escaped(&n))));
            let join = if path.contains('?') { '&' } else { '?' };
            let mut page = self
                .get(&format!("{path}{join}{}", parts.join("&")))
                .await?;
            if let Some(Value::Array(found)) = page.get_mut("items").map(Value::take) {
                items.extend(found);
            }
            next = page["next"].as_str().map(str::to_owned);
            if next.is_none() || items.len() >= most {
                items.truncate(most);
                return Ok(items);
            }
        }
    }

    /// Lets go of a hub that was opened for this command.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        match self.way {
            Way::Http { .. } => Ok(()),
            Way::Here(open) => open.close().await,
        }
    }
}

impl Reply {
    /// The whole body.
    pub(crate) async fn bytes(mut self) -> Result<Vec<u8>, Failure> {
        let mut all = Vec::new();
        while let Some(part) = self.body.next().await {
            let part = part.map_err(|e| Failure::hub(format!("the answer was cut off: {e}")))?;
            all.extend_from_slice(&part);
        }
        Ok(all)
    }

    /// The body as JSON; a refusal is a failure with its hint.
    pub(crate) async fn json(self) -> Result<Value, Failure> {
        let status = self.status;
        let bytes = self.bytes().await?;
        let value = match bytes.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&bytes)
                .map_err(|e| Failure::hub(format!("the hub did not answer in JSON: {e}")))?,
        };
        match status {
            200..=299 => Ok(value),
            _ => Err(refusal(status, &value)),
        }
    }
}

/// A refusal of the hub, as a failure of the command.
pub(crate) fn refusal(status: u16, problem: &Value) -> Failure {
    let exit = match status {
        401 | 403 | 429 => Exit::Refused,
        500.. => Exit::Hub,
        _ => Exit::Input,
    };
    let mut text = problem["detail"]
        .as_str()
        .unwrap_or("the hub refused")
        .to_owned();
    for error in problem["errors"].as_array().into_iter().flatten() {
        let message = error["message"].as_str().unwrap_or_default();
        let code = error["code"].as_str().unwrap_or_default();
        text.push_str(&format!("\n  {message} [{code}]"));
    }
    let failure = Failure::new(exit, crate::out::visible_lines(&text));
    match problem["hint"].as_str() {
        Some(hint) => {
            // The hub speaks of its routes; here there are commands.
            let hint = hint.replace("`GET /catalog`", "`helve tools`");
            failure.hint(crate::out::visible_lines(&hint))
        }
        None => failure,
    }
}

fn unreachable(url: &str, error: &reqwest::Error) -> Failure {
    let why = if error.is_connect() {
        "nobody answers there"
    } else {
        "the request failed"
    };
    let failure = Failure::hub(format!("the hub at {url} cannot be reached: {why}"));
    failure.hint("start one with `helve up`, or check `--url` and `HELVE_URL`")
}

/// The token to show.
fn token(target: &Target, state: &State) -> Result<Option<String>, Failure> {
    if let Some(name) = &target.acting {
        let plain = name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        let kept = state
            .read_token(name)
            .filter(|_| plain && !name.starts_with('.'));
        let missing = || {
            Failure::input(format!(
                "there is no saved token `{}`",
                crate::out::visible(name)
            ))
            .hint(match plain {
                true => format!("`helve token create {name} --save` makes one"),
                false => "a saved token has a name of letters, digits and `._-`".to_owned(),
            })
        };
        return kept.map(Some).ok_or_else(missing);
    }
    Ok(env::token().or_else(|| state.read_token(TERMINAL)))
}

/// Text as it stands in an address.
pub(crate) fn escaped(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(byte.into());
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}
