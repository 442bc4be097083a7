//! How a connection comes to be: the link, the first words, the tools.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{APART, Key, Server, Watch, pause};
use crate::upstream::handshake::{self, Era, Face, Failed};
use crate::upstream::link::http::HttpLink;
use crate::upstream::link::sse::SseLink;
use crate::upstream::link::stdio::{Program, StdioLink};
use crate::upstream::link::{Broken, Ear, Link, Reached};
use crate::upstream::lists;
use crate::upstream::peer::{Heard, Peer, Whose};
use crate::upstream::settings::Reach;

/// How long to wait before a stream of notices is asked for again.
const AGAIN: Duration = Duration::from_secs(5);

type Apart = mpsc::Receiver<(String, Value)>;

impl Server {
    /// Starts, in the era that is wanted if it speaks it, in the other if not.
    pub(super) async fn start(
        self: &Arc<Self>,
        wanted: Option<Era>,
        session: Option<String>,
        capabilities: Option<Value>,
        watch: &Arc<dyn Watch>,
    ) -> Result<Arc<Peer>, Broken> {
        let limit = self.settings.rules.start_timeout;
        let starting = self.begin(wanted, capabilities, limit);
        let begun = timeout(limit, starting).await.unwrap_or_else(|_| {
            Err(Broken::new(
                format!("it was not ready within {limit:?}"),
                Reached::No,
            ))
        });
        let (peer, face, apart) = begun.map_err(|broken| self.with_last_words(broken))?;
        if let Some(wanted) = wanted
            && wanted != face.era
        {
            self.now().without = Some(wanted);
            // It speaks as it did before: one such connection is enough.
            if let Some(standing) = self.standing(Some(face.era), session.as_deref()) {
                peer.close().await;
                return Ok(standing);
            }
        }
        if face.has("tools") {
            let listed = timeout(limit, lists::tools(&peer, limit)).await;
            let listed =
                listed.map_err(|_| Broken::new("it did not say which tools it has", Reached::No));
            match listed.and_then(|listed| listed) {
                Ok((tools, problems)) => {
                    if let Some(link) = peer.link() {
                        link.tools(&tools);
                    }
                    self.now().face = Some(face.clone());
                    watch.listed(self, tools, problems).await;
                }
                Err(broken) => {
                    peer.close().await;
                    return Err(self.with_last_words(Broken {
                        reached: Reached::No,
                        ..broken
                    }));
                }
            }
        } else {
            self.now().face = Some(face.clone());
            watch.listed(self, Vec::new(), Vec::new()).await;
        }
        let key = Key {
            era: face.era,
            session,
        };
        {
            let mut live = self
                .live
                .write()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            live.insert(key.clone(), peer.clone());
        }
        self.tasks
            .spawn(self.clone().attend(key, peer.clone(), apart, watch.clone()));
        if face.era == Era::Modern && hears(&face) {
            self.tasks.spawn(listen(self.clone(), peer.clone(), face));
        }
        Ok(peer)
    }

    async fn begin(
        &self,
        wanted: Option<Era>,
        capabilities: Option<Value>,
        limit: Duration,
    ) -> Result<(Arc<Peer>, Face, Apart), Broken> {
        let without = self.now().without;
        let first = wanted.or(self.face().map(|f| f.era)).unwrap_or(Era::Modern);
        let first = match without == Some(first) {
            true => first.other(),
            false => first,
        };
        let shared = handshake::everything();
        let capabilities = capabilities.as_ref().unwrap_or(&shared);
        let (peer, apart) = self.dial().await?;
        let why = match handshake::begin(&peer, first, capabilities, limit).await {
            Ok(face) => return Ok((peer, face, apart)),
            Err(Failed::NotSo(why)) => {
                match handshake::begin(&peer, first.other(), capabilities, limit).await {
                    Ok(face) => return Ok((peer, face, apart)),
                    Err(failed) => {
                        let other = failed.into_broken().why;
                        let both = match other == why {
                            true => why,
                            false => format!("{other}; {why}"),
                        };
                        Broken::new(both, Reached::No)
                    }
                }
            }
            Err(Failed::Broken(broken)) => broken,
        };
        peer.close().await;
        // Some end when they hear what they do not know: once more, with the other first.
        let ended =
            peer.broken().is_some() && why.challenge.is_none() && why.reached == Reached::Maybe;
        if !ended || matches!(self.settings.reach, Reach::Sse { .. }) {
            return Err(why);
        }
        let (peer, apart) = self.dial().await?;
        match handshake::begin(&peer, first.other(), capabilities, limit).await {
            Ok(face) => Ok((peer, face, apart)),
            Err(_) => {
                peer.close().await;
                Err(why)
            }
        }
    }

    async fn dial(&self) -> Result<(Arc<Peer>, Apart), Broken> {
        let (tell, apart) = mpsc::channel(APART);
        let peer = Peer::new(tell, self.tail.clone());
        let ear: Arc<dyn Ear> = peer.clone();
        let limit = self.settings.rules.message_limit;
        let link: Arc<dyn Link> = match &self.settings.reach {
            Reach::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                let program = Program {
                    command,
                    args,
                    env,
                    cwd: cwd.as_deref(),
                    limit,
                };
                StdioLink::start(&program, ear, &self.tail)?
            }
            Reach::Http { url, headers } => {
                HttpLink::new(url, headers, self.login.clone(), limit, &ear)?
            }
            Reach::Sse { url, headers } => SseLink::open(url, headers, limit, ear).await?,
        };
        peer.link_to(link);
        Ok((peer, apart))
    }

    fn with_last_words(&self, mut broken: Broken) -> Broken {
        if let Some(line) = self.tail.last_line()
            && !broken.why.contains(&line)
        {
            broken.why.push_str(&format!("; its last words: {line}"));
        }
        Broken {
            reached: Reached::No,
            ..broken
        }
    }
}

/// Whether it would tell of changes.
fn hears(face: &Face) -> bool {
    let changed = |what: &str| face.capabilities[what]["listChanged"] == true;
    changed("tools") || changed("prompts") || changed("resources")
}

/// Keeps a modern server's stream of notices open.
async fn listen(server: Arc<Server>, peer: Arc<Peer>, face: Face) {
    let gone = peer.gone().clone();
    loop {
        let changed = |what: &str| face.capabilities[what]["listChanged"] == true;
        let params = |_| {
            let mut meta = Map::new();
            handshake::put_meta(&mut meta, &face.protocol, &json!({}));
            let mut wanted = Map::new();
            for (what, key) in [
                ("tools", "toolsListChanged"),
                ("prompts", "promptsListChanged"),
                ("resources", "resourcesListChanged"),
            ] {
                if changed(what) {
                    wanted.insert(key.to_owned(), true.into());
                }
            }
            let uris = server.lists.subscribed();
            if !uris.is_empty() {
                wanted.insert("resourceSubscriptions".to_owned(), json!(uris));
            }
            let mut params = Map::new();
            params.insert("_meta".to_owned(), Value::Object(meta));
            params.insert("notifications".to_owned(), Value::Object(wanted));
            params
        };
        let again = server.lists.resubscribe();
        let Ok(mut exchange) = peer.begin("subscriptions/listen", Whose::Hub, params).await else {
            return;
        };
        let ended = loop {
            tokio::select! {
                () = gone.cancelled() => return,
                () = server.closing.cancelled() => return,
                () = again.notified() => {
                    exchange.cancel("it listens for something else").await;
                    break Ended::Other;
                }
                heard = exchange.next() => match heard {
                    // It does not do that.
                    Heard::Answer(Err(_)) => return,
                    Heard::Answer(Ok(_)) | Heard::Broken(_) => break Ended::Again,
                    Heard::Told { .. } | Heard::Asked { .. } | Heard::Withdrawn { .. } => {}
                },
            }
        };
        if ended == Ended::Again {
            tokio::select! {
                () = gone.cancelled() => return,
                () = server.closing.cancelled() => return,
                () = pause(AGAIN) => {}
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum Ended {
    Again,
    Other,
}
