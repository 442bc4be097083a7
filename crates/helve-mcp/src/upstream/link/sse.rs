//! A server over HTTP with server-sent events, as it was in 2024: one stream for all that
//! it says, which begins with the address for all that it is told.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use http_body_util::BodyExt as _;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::events::Events;
use super::http::{content_type, header_map, parsed, unsent};
use super::wire::{Response, Target, Wire};
use super::{Broken, Ear, Link, Message, Origin, Reached, messages, too_large};

const SHORT: Duration = Duration::from_secs(10);

/// A server over HTTP with server-sent events.
pub(crate) struct SseLink {
    wire: Wire,
    endpoint: Target,
    headers: HeaderMap,
    closing: CancellationToken,
    tasks: TaskTracker,
}

impl SseLink {
    /// Opens the stream, and waits for the address.
    pub(crate) async fn open(
        url: &str,
        given: &[(String, String)],
        limit: usize,
        ear: Arc<dyn Ear>,
    ) -> Result<Arc<Self>, Broken> {
        let never = |why: String| Broken::new(why, Reached::No);
        let url = parsed(url).map_err(never)?;
        let headers = header_map(given).map_err(never)?;
        let wire = Wire::new(&url).map_err(never)?;
        let target = Target::new(&url).map_err(never)?;
        let mut asking = headers.clone();
        asking.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let asked = wire.send(Method::GET, &target, asking, Bytes::new());
        let response = asked.await.map_err(|e| unsent(&e))?;
        if !response.status().is_success() {
            return Err(never(format!("it refused with {}", response.status())));
        }
        if content_type(&response) != "text/event-stream" {
            let why = "it gives no stream of events; is it a server of `type` `http`?";
            return Err(never(why.to_owned()));
        }
        let (tell, told) = oneshot::channel();
        let (closing, tasks) = (CancellationToken::new(), TaskTracker::new());
        let until = closing.clone();
        tasks.spawn(async move {
            let reading = read(response, limit, ear.clone(), tell);
            let broken = tokio::select! {
                () = until.cancelled() => Broken::new("the connection was closed", Reached::Maybe),
                broken = reading => broken,
            };
            ear.closed(broken);
        });
        let endpoint = timeout(SHORT, told).await.ok().and_then(Result::ok);
        let endpoint = endpoint.ok_or_else(|| never("it did not say where it listens".to_owned()));
        let endpoint = endpoint.and_then(|place| {
            let endpoint = url
                .join(&place)
                .map_err(|e| never(format!("where it listens cannot be read: {e}")))?;
            // Headers hold what only this server may see.
            match endpoint.origin() == url.origin() {
                true => Target::new(&endpoint).map_err(never),
                false => Err(never(
                    "it says that it listens on another server".to_owned(),
                )),
            }
        });
        match endpoint {
            Ok(endpoint) => Ok(Arc::new(Self {
                wire,
                endpoint,
                headers,
                closing,
                tasks,
            })),
            Err(broken) => {
                closing.cancel();
                Err(broken)
            }
        }
    }
}

async fn read(
    response: Response,
    limit: usize,
    ear: Arc<dyn Ear>,
    tell: oneshot::Sender<String>,
) -> Broken {
    let mut tell = Some(tell);
    let mut events = Events::new(limit);
    let mut body = response.into_body();
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(part) = frame.into_data() else {
            continue;
        };
        let Ok(found) = events.feed(&part) else {
            return too_large(limit);
        };
        for event in found {
            let Some(data) = event.data else { continue };
            match event.kind.as_deref() {
                Some("endpoint") => {
                    if let Some(tell) = tell.take() {
                        let _ = tell.send(data.trim().to_owned());
                    }
                }
                None | Some("message") => {
                    for message in messages(data.as_bytes()).unwrap_or_default() {
                        ear.heard(message, Origin::Shared);
                    }
                }
                Some(_) => {}
            }
        }
    }
    Broken::new("the stream has ended", Reached::Maybe)
}

#[async_trait]
impl Link for SseLink {
    async fn send(&self, message: Message) -> Result<(), Broken> {
        let body = serde_json::to_vec(&message)
            .map_err(|e| Broken::new(format!("the message cannot be written: {e}"), Reached::No))?;
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let sent = self.wire.send(Method::POST, &self.endpoint, headers, body);
        let late = |_| Broken::new("it took no notice of a message", Reached::Maybe);
        let response = timeout(SHORT, sent)
            .await
            .map_err(late)?
            .map_err(|e| unsent(&e))?;
        match response.status().is_success() {
            true => Ok(()),
            false => Err(Broken::new(
                format!("it refused with {}", response.status()),
                Reached::No,
            )),
        }
    }

    async fn close(&self) {
        self.closing.cancel();
        self.tasks.close();
        let _ = timeout(SHORT, self.tasks.wait()).await;
    }
}

impl Drop for SseLink {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}
