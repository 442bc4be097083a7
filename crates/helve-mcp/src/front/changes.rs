//! Word of changed lists, to every client that listens.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use helve_core::audit::Hash;
use helve_kernel::Principal;
use rmcp::model::{CustomNotification, ServerNotification};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::{Front, Session};
use crate::upstream::Event;

/// How long changes are gathered before anybody is told.
const PAUSE: Duration = Duration::from_millis(50);

/// What is told to whoever listens.
#[derive(Debug, Clone)]
pub(crate) enum Note {
    /// The tools may be others.
    Tools,
    /// A server elsewhere said something that belongs to no call.
    Said(Event),
}

pub(crate) struct Changes(broadcast::Sender<Note>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::channel(256).0)
    }
}

impl Front {
    /// Tells clients of changes until the hub closes; drops what nobody came back for.
    pub async fn watch(&self, closing: CancellationToken) {
        let mut news = self.kernel().tool_news();
        let mut events = self.elsewhere().map(crate::Upstreams::events);
        let mut known = self.kernel().tool_changes();
        let mut sweep = tokio::time::interval(Duration::from_secs(30));
        // When to look whether tools are others; what servers say does not wait for it.
        let mut look: Option<Instant> = None;
        loop {
            tokio::select! {
                () = closing.cancelled() => return,
                changed = news.changed() => match changed {
                    Ok(()) => {
                        look.get_or_insert_with(|| Instant::now() + PAUSE);
                    }
                    Err(_) => return,
                },
                () = at(look) => {
                    look = None;
                    let now = self.kernel().tool_changes();
                    if now != known {
                        known = now;
                        let _ = self.0.changes.0.send(Note::Tools);
                    }
                }
                event = next(&mut events) => {
                    let _ = self.0.changes.0.send(Note::Said(event));
                }
                _ = sweep.tick() => self.0.suspended.sweep(),
            }
        }
    }

    /// What is told from now on.
    pub(crate) fn notes(&self) -> broadcast::Receiver<Note> {
        self.0.changes.0.subscribe()
    }

    /// Tells every client of this hub that its tools may be others.
    pub(crate) fn tools_changed(&self) {
        let _ = self.0.changes.0.send(Note::Tools);
    }
}

/// How long after a call a server may still speak about it.
const ECHO: Duration = Duration::from_secs(5);

/// The sessions that have called a server lately, by their ids.
pub(crate) type Lately = HashMap<String, Recent>;

/// A session that has called a server.
pub(crate) struct Recent {
    owner: String,
    at: Instant,
}

impl Recent {
    fn is_fresh(&self, now: Instant) -> bool {
        now.duration_since(self.at) < ECHO
    }
}

impl Front {
    /// Remembers that a session calls a server, or has just done so.
    pub(crate) fn calls(&self, server: &str, session: &str, owner: &str) {
        let at = Instant::now();
        let mut lately = super::lock(&self.0.lately);
        let known = lately.get_mut(server).and_then(|all| all.get_mut(session));
        if let Some(recent) = known.filter(|recent| recent.owner == owner) {
            recent.at = at;
            return;
        }
        let sessions = lately.entry(server.to_owned()).or_default();
        sessions.retain(|_, recent| recent.is_fresh(at));
        let owner = owner.to_owned();
        sessions.insert(session.to_owned(), Recent { owner, at });
    }

    /// The session that a word of a server must be meant for: the last that has called it,
    /// as long as nobody else has lately. Otherwise one would be told of another.
    fn sole_caller(&self, server: &str) -> Option<String> {
        let now = Instant::now();
        let lately = super::lock(&self.0.lately);
        let fresh = || {
            lately
                .get(server)
                .into_iter()
                .flatten()
                .filter(|(_, r)| r.is_fresh(now))
        };
        let (session, last) = fresh().max_by_key(|(_, recent)| recent.at)?;
        let alone = fresh().all(|(_, recent)| recent.owner == last.owner);
        alone.then(|| session.clone())
    }
}

/// Waits until then; for ever, where there is no then.
async fn at(then: Option<Instant>) {
    match then {
        Some(then) => tokio::time::sleep_until(then.into()).await,
        None => std::future::pending().await,
    }
}

/// The next event; never, where there are no servers.
async fn next(events: &mut Option<broadcast::Receiver<Event>>) -> Event {
    loop {
        let Some(receiver) = events else {
            return std::future::pending().await;
        };
        match receiver.recv().await {
            Ok(event) => return event,
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => *events = None,
        }
    }
}

/// What a client was told last about its list of tools.
pub(crate) struct Listening {
    session: Arc<Session>,
    who: Arc<Principal>,
    listed: Hash,
}

impl Listening {
    pub(crate) fn new(session: Arc<Session>, who: Arc<Principal>) -> Self {
        let listed = session.list_print(&who);
        Self {
            session,
            who,
            listed,
        }
    }

    /// What this client hears of a note, if anything.
    pub(crate) fn hears(&mut self, note: &Note) -> Option<ServerNotification> {
        match note {
            Note::Tools => {
                let now = self.session.list_print(&self.who);
                let changed = now != self.listed;
                self.listed = now;
                changed.then(|| ServerNotification::ToolListChangedNotification(Default::default()))
            }
            Note::Said(event) => self.passed_on(event),
        }
    }

    fn passed_on(&self, event: &Event) -> Option<ServerNotification> {
        let params = &event.params;
        Some(match event.method.as_str() {
            "notifications/prompts/list_changed" => {
                ServerNotification::PromptListChangedNotification(Default::default())
            }
            "notifications/resources/list_changed" => {
                ServerNotification::ResourceListChangedNotification(Default::default())
            }
            "notifications/resources/updated" => {
                let uri = params["uri"].as_str()?;
                if !super::lock(&self.session.subscribed).contains(uri) {
                    return None;
                }
                let params = serde_json::from_value(params.clone()).ok()?;
                ServerNotification::ResourceUpdatedNotification(rmcp::model::Notification::new(
                    params,
                ))
            }
            "notifications/message" => {
                // It came apart from the call that it is about.
                let sole = self.session.front.sole_caller(&event.server);
                if sole.as_deref() != Some(self.session.id.as_str())
                    || !self.session.wants(params, None)
                {
                    return None;
                }
                let params = serde_json::from_value(params.clone()).ok()?;
                ServerNotification::LoggingMessageNotification(rmcp::model::Notification::new(
                    params,
                ))
            }
            // Its tools are compared first; what came of that is told by itself. But a client
            // that asked for word of lists hears what a server says of its own.
            "notifications/tools/list_changed" => {
                let snapshot = self.session.snapshot(&self.who);
                if self.session.is_lean(&snapshot) {
                    return None;
                }
                ServerNotification::ToolListChangedNotification(Default::default())
            }
            _ => ServerNotification::CustomNotification(CustomNotification::new(
                event.method.clone(),
                Some(params.clone()),
            )),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use helve_kernel::{Kernel, Tool, ToolDef};
    use serde_json::json;
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    use super::Note;
    use crate::upstream::Event;
    use crate::{Front, Options, Upstreams};

    #[tokio::test(start_paused = true)]
    async fn what_a_server_says_does_not_wait_for_lists() {
        let state = tempfile::tempdir().unwrap();
        let servers = Upstreams::open(Vec::new(), state.path()).unwrap();
        let kernel = Kernel::builder().open().await.unwrap();
        let front = Front::new(kernel.clone(), Some(servers.clone()), Options::default());
        let mut notes = front.notes();
        let watching = front.clone();
        tokio::spawn(async move { watching.watch(CancellationToken::new()).await });
        tokio::task::yield_now().await;
        for n in 0..500 {
            let def = json!({"name": format!("new_{n}"), "description": "Does nothing.",
                "input_schema": {"type": "object"}, "risk": "read"});
            let def = ToolDef::from_value(&def).unwrap();
            let tool = Tool::of_args(def, |args| async move { Ok(args) });
            kernel.add_tool(tool).unwrap();
        }
        let said = Event {
            server: "s".to_owned(),
            method: "notifications/message".to_owned(),
            params: json!({"level": "info", "data": "said"}),
        };
        let start = Instant::now();
        for _ in 0..100 {
            servers.say(said.clone());
            while !matches!(notes.recv().await.unwrap(), Note::Said(_)) {}
        }
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "{:?}",
            start.elapsed()
        );
    }
}
