//! What a server has to offer, page by page, and what of it is remembered.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::handshake::{self, Era, said};
use super::link::{Broken, Reached};
use super::peer::Peer;

/// The most items of one list, and the most pages.
const ITEMS: usize = 20_000;
const PAGES: usize = 2_000;

/// A kind of list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum List {
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
    /// `prompts/list`.
    Prompts,
}

impl List {
    /// The method, the key of its result, and the capability behind it.
    pub(crate) fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            List::Resources => ("resources/list", "resources", "resources"),
            List::Templates => ("resources/templates/list", "resourceTemplates", "resources"),
            List::Prompts => ("prompts/list", "prompts", "prompts"),
        }
    }
}

/// What is remembered of a server's lists.
#[derive(Default)]
pub(crate) struct Lists(Mutex<Known>);

#[derive(Default)]
struct Known {
    kept: HashMap<List, Arc<Vec<Value>>>,
    /// Grows whenever something is no longer true.
    turn: u64,
    subscribed: BTreeSet<String>,
    again: Arc<Notify>,
}

impl Lists {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn kept(&self, what: List) -> (Option<Arc<Vec<Value>>>, u64) {
        let known = self.known();
        (known.kept.get(&what).cloned(), known.turn)
    }

    /// Keeps a list, if nothing changed while it was read.
    pub(crate) fn keep(&self, what: List, items: Arc<Vec<Value>>, turn: u64) {
        let mut known = self.known();
        if known.turn == turn {
            known.kept.insert(what, items);
        }
    }

    /// Something was told: what is no longer true is forgotten.
    pub(crate) fn told(&self, method: &str) {
        let over: &[List] = match method {
            "notifications/resources/list_changed" => &[List::Resources, List::Templates],
            "notifications/prompts/list_changed" => &[List::Prompts],
            _ => return,
        };
        let mut known = self.known();
        known.turn += 1;
        for list in over {
            known.kept.remove(list);
        }
    }

    pub(crate) fn forget(&self) {
        let mut known = self.known();
        known.turn += 1;
        known.kept.clear();
    }

    /// The resources of which changes are to be told.
    pub(crate) fn subscribed(&self) -> Vec<String> {
        self.known().subscribed.iter().cloned().collect()
    }

    /// Told when that changes.
    pub(crate) fn resubscribe(&self) -> Arc<Notify> {
        self.known().again.clone()
    }

    pub(crate) fn subscribe(&self, uri: &str, wanted: bool) {
        let mut known = self.known();
        let changed = match wanted {
            true => known.subscribed.insert(uri.to_owned()),
            false => known.subscribed.remove(uri),
        };
        if changed {
            known.again.notify_one();
        }
    }
}

/// All tools, as they are, and what was wrong with the list.
pub(crate) async fn tools(
    peer: &Arc<Peer>,
    limit: Duration,
) -> Result<(Vec<Value>, Vec<String>), Broken> {
    all(peer, "tools/list", "tools", limit).await
}

/// All items of a list, page by page.
pub(crate) async fn all(
    peer: &Arc<Peer>,
    method: &str,
    key: &str,
    limit: Duration,
) -> Result<(Vec<Value>, Vec<String>), Broken> {
    let mut items = Vec::new();
    let mut problems = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    let mut cursor: Option<Value> = None;
    for _ in 0..PAGES {
        let mut params = Map::new();
        if let Some(face) = peer.face().filter(|f| f.era == Era::Modern) {
            let mut meta = Map::new();
            handshake::put_meta(&mut meta, &face.protocol, &json!({}));
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        if let Some(cursor) = cursor.take() {
            params.insert("cursor".to_owned(), cursor);
        }
        let mut result = match peer.ask(method, params, limit).await? {
            Ok(result) => result,
            Err(error) => {
                return Err(Broken::new(
                    format!("it refused `{method}`: {}", said(&error)),
                    Reached::Maybe,
                ));
            }
        };
        match result.shift_remove(key) {
            Some(Value::Array(page)) => items.extend(page),
            _ => problems.push(format!("a page of `{method}` has no `{key}`")),
        }
        if items.len() > ITEMS {
            items.truncate(ITEMS);
            problems.push(format!(
                "`{method}` gives more than {ITEMS} items; the rest is left out"
            ));
            break;
        }
        match result.shift_remove("nextCursor") {
            None | Some(Value::Null) => return Ok((items, problems)),
            Some(next) => {
                if !seen.insert(next.to_string()) {
                    problems.push(format!(
                        "`{method}` goes round in circles; what came until then counts"
                    ));
                    break;
                }
                cursor = Some(next);
            }
        }
    }
    Ok((items, problems))
}
