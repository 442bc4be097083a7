//! The door through which MCP clients come in.
//!
//! One [`Front`] is one hub. A client has a [`Session`]: a connection of its own, an HTTP
//! session of the older revisions, or a single request of the newer ones. Each call goes to
//! the kernel with a [`talk::Talk`] beside it, through which whatever runs can tell the
//! client of progress, and ask it.

mod answer;
mod approval;
mod changes;
mod client;
mod direct;
mod disclose;
mod drive;
mod handler;
mod http;
mod list;
mod owners;
mod passing;
mod session;
mod stdio;
mod suspended;
mod talk;
mod tasks;
mod verbatim;
mod views;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use helve_kernel::{Entry, Kernel, Principal};
use tokio_util::sync::CancellationToken;

pub use disclose::{Disclose, GET_TOOL_INFO, RUN_RESULT, SEARCH_TOOLS};
pub use http::{Answer as HttpAnswer, HttpOptions, Service as HttpService};
pub use session::Session;
pub use views::{Names, View};

use crate::upstream::Upstreams;
use suspended::Suspended;
use views::Snapshot;

/// How a front door behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// What a client sees that asks for no view by name.
    pub default: View,
    /// Views by name: virtual servers, each with a chosen set of tools.
    pub views: BTreeMap<String, View>,
    /// How long a call waits for people before it comes back as pending.
    pub wait: Duration,
    /// Whether the person behind an agent may decide in the agent's own client.
    pub elicit: bool,
    /// The most tools on one page of a list.
    pub page: usize,
    /// The name and version by which it introduces itself.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            default: View::default(),
            views: BTreeMap::new(),
            wait: Duration::from_secs(50),
            elicit: true,
            page: 500,
            name: "helve".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// The door of one hub. A clone is the same door.
#[derive(Clone)]
pub struct Front(Arc<Inner>);

/// Tools by name, and the state of the registry that they are of.
#[derive(Default)]
struct Headers {
    changes: Option<u64>,
    tools: HashMap<String, Arc<Entry>>,
}

struct Inner {
    kernel: Kernel,
    elsewhere: Option<Upstreams>,
    options: Options,
    suspended: Suspended,
    snapshots: Mutex<HashMap<views::Key, Arc<Snapshot>>>,
    changes: changes::Changes,
    /// The tools whose arguments travel in headers, as of a state of the registry.
    headers: Mutex<Headers>,
    /// Which sessions have called which server lately.
    lately: Mutex<HashMap<String, changes::Lately>>,
    /// Cancelled when nobody is told anything more.
    silent: CancellationToken,
}

impl Front {
    /// Opens a door to a kernel, and through it to servers elsewhere.
    pub fn new(kernel: Kernel, elsewhere: Option<Upstreams>, options: Options) -> Self {
        let changes = changes::Changes::default();
        Self(Arc::new(Inner {
            kernel,
            elsewhere,
            options,
            suspended: Suspended::default(),
            snapshots: Mutex::default(),
            changes,
            headers: Mutex::default(),
            lately: Mutex::default(),
            silent: CancellationToken::new(),
        }))
    }

    /// Ends what clients hold open only to hear of changes, so that the hub can stop: such
    /// a stream has no end of its own. Calls get their answers.
    pub fn fall_silent(&self) {
        self.0.silent.cancel();
    }

    pub(crate) fn silent(&self) -> &CancellationToken {
        &self.0.silent
    }

    /// A session of one principal, as the view of that name shows it; `None` if there is no
    /// such view.
    pub fn session(&self, view: Option<&str>, who: Arc<Principal>) -> Option<Session> {
        Session::new(self.clone(), view, Some(who))
    }

    pub(crate) fn kernel(&self) -> &Kernel {
        &self.0.kernel
    }

    pub(crate) fn elsewhere(&self) -> Option<&Upstreams> {
        self.0.elsewhere.as_ref()
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.options
    }

    pub(crate) fn view(&self, name: Option<&str>) -> Option<&View> {
        match name {
            None => Some(&self.0.options.default),
            Some(name) => self.0.options.views.get(name),
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What panicked while holding it left whole values: each change is one step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
