//! Who is told when a list changes: sessions of the older era, and the listeners of
//! the newer one.

use std::sync::Mutex;

use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::sync::broadcast;

/// What changed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Tools,
    Prompts,
}

/// Everybody who wants to know.
pub(crate) struct Changes {
    sessions: Mutex<Vec<Peer<RoleServer>>>,
    listeners: broadcast::Sender<Change>,
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            sessions: Mutex::default(),
            listeners: broadcast::Sender::new(16),
        }
    }
}

impl Changes {
    /// A session of the older era, from now on.
    pub(crate) fn tell(&self, peer: Peer<RoleServer>) {
        self.sessions
            .lock()
            .expect("nobody panics in here")
            .push(peer);
    }

    /// Passes changes on to one listener until it goes away.
    pub(crate) async fn listen(&self, context: &SubscriptionContext) {
        let mut changes = self.listeners.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return,
                change = changes.recv() => {
                    let Ok(change) = change else { return };
                    let sink = context.sink();
                    // The sink refuses what was not asked for; that is its part of the bargain.
                    let _ = match change {
                        Change::Tools => sink.notify_tool_list_changed().await,
                        Change::Prompts => sink.notify_prompt_list_changed().await,
                    };
                }
            }
        }
    }

    /// Tells everybody.
    pub(crate) async fn happened(&self, change: Change) {
        // An error means that nobody listens.
        let _ = self.listeners.send(change);
        let peers = self.sessions.lock().expect("nobody panics in here").clone();
        let mut gone = Vec::new();
        for (at, peer) in peers.iter().enumerate() {
            let told = match change {
                Change::Tools => peer.notify_tool_list_changed().await,
                Change::Prompts => peer.notify_prompt_list_changed().await,
            };
            if told.is_err() {
                gone.push(at);
            }
        }
        let mut sessions = self.sessions.lock().expect("nobody panics in here");
        for at in gone.into_iter().rev() {
            sessions.remove(at);
        }
    }
}
