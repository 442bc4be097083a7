//! Who is signed in, and the links by which one does so.
//!
//! A session remembers the token itself and shows it again at every request: one that
//! is revoked or has run out ends its sessions with it. Sessions and links are in
//! memory only; after a restart people sign in again.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, StatusCode};
use helve_kernel::{Principal, PrincipalKind};

use super::cookie;
use crate::Hub;
use crate::guard::shows;
use crate::problem::Problem;
use crate::rate::Rates;

/// The cookie.
pub(super) const COOKIE: &str = "helve_session";

/// How long a session lasts without a request, and a link that nobody follows.
const IDLE: Duration = Duration::from_secs(12 * 60 * 60);
const LINK: Duration = Duration::from_secs(10 * 60);

/// The most of each; beyond it, the oldest goes.
const MOST: usize = 1000;

/// How many may fail to sign in: so many at once, then one a second.
const TRIES: u32 = 10;

/// Everybody who is signed in.
pub(crate) struct Sessions {
    kept: Mutex<Kept>,
    tries: Rates,
}

#[derive(Default)]
struct Kept {
    sessions: HashMap<String, Session>,
    links: HashMap<String, Link>,
}

struct Session {
    secret: Arc<str>,
    csrf: Arc<str>,
    seen: Instant,
}

struct Link {
    secret: Arc<str>,
    made: Instant,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            tries: Rates::new(1, TRIES),
        }
    }
}

impl Sessions {
    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A link's word: whoever follows it within ten minutes is signed in with that token, once.
    pub(crate) fn invite(&self, secret: &str) -> Result<String, Problem> {
        let code = random()?;
        let now = Instant::now();
        let mut kept = self.kept();
        kept.links.retain(|_, l| now - l.made < LINK);
        if kept.links.len() >= MOST {
            let oldest = kept.links.iter().min_by_key(|(_, l)| l.made);
            if let Some(code) = oldest.map(|(code, _)| code.clone()) {
                kept.links.remove(&code);
            }
        }
        let secret = secret.into();
        kept.links.insert(code.clone(), Link { secret, made: now });
        Ok(code)
    }

    /// The token behind a link, which is gone after that.
    pub(super) fn follow(&self, code: &str) -> Option<Arc<str>> {
        let link = self.kept().links.remove(code)?;
        (link.made.elapsed() < LINK).then_some(link.secret)
    }

    /// A try that failed. Only those are counted, so that nobody who guesses keeps others out.
    pub(super) fn failed(&self, problem: Problem) -> Problem {
        match self.tries.take("", Instant::now()) {
            Ok(()) => problem,
            Err(wait) => crate::guard::too_many("too many attempts to sign in", wait),
        }
    }

    /// Begins a session with a token of a person; the cookie's value.
    pub(super) fn begin(
        &self,
        hub: &Hub,
        secret: &str,
    ) -> Result<(String, Arc<Principal>), Problem> {
        let unknown = || crate::guard::unauthorized("the token is unknown, expired or revoked");
        let who = shows(hub, secret).ok_or_else(unknown)?;
        if who.kind != PrincipalKind::Person {
            let detail = "this token is an agent's; these pages are for people";
            let hint = "`helve token create --kind person` makes one for a person";
            return Err(Problem::new(StatusCode::FORBIDDEN, "permission", detail).hint(hint));
        }
        let (id, csrf) = (random()?, random()?);
        let now = Instant::now();
        let mut kept = self.kept();
        kept.sessions.retain(|_, s| now - s.seen < IDLE);
        if kept.sessions.len() >= MOST {
            let oldest = kept.sessions.iter().min_by_key(|(_, s)| s.seen);
            if let Some(id) = oldest.map(|(id, _)| id.clone()) {
                kept.sessions.remove(&id);
            }
        }
        let session = Session {
            secret: secret.into(),
            csrf: csrf.into(),
            seen: now,
        };
        kept.sessions.insert(id.clone(), session);
        Ok((id, who))
    }

    /// Who sent a request, and the word of their forms; their token still counts.
    pub(super) fn of(&self, hub: &Hub, headers: &HeaderMap) -> Option<(Arc<Principal>, Arc<str>)> {
        let id = cookie(headers, COOKIE)?;
        let (secret, csrf) = {
            let mut kept = self.kept();
            let session = kept.sessions.get_mut(id)?;
            if session.seen.elapsed() >= IDLE {
                kept.sessions.remove(id);
                return None;
            }
            session.seen = Instant::now();
            (session.secret.clone(), session.csrf.clone())
        };
        let Some(who) = shows(hub, &secret) else {
            self.kept().sessions.remove(id);
            return None;
        };
        Some((who, csrf))
    }

    /// Ends a session.
    pub(super) fn end(&self, headers: &HeaderMap) {
        if let Some(id) = cookie(headers, COOKIE) {
            self.kept().sessions.remove(id);
        }
    }
}

/// 128 bits that nobody can guess.
fn random() -> Result<String, Problem> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| crate::problem::crashed())?;
    let mut word = String::with_capacity(32);
    for byte in bytes {
        // To write into memory does not fail.
        let _ = write!(word, "{byte:02x}");
    }
    Ok(word)
}
