//! Signed checkpoints of the record, kept beside the database and not in it.
//!
//! Whoever puts an older copy of the database in place is found out at the next
//! start, and whoever rewrites the record at the next `helve audit verify`. The last
//! checkpoint stands once more beside the key: without the others, or with fewer of
//! them, the hub does not start either. It is written after them, so that a crash in
//! between leaves only more checkpoints than it knows of.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use helve_core::audit::{Checkpoint, Head, PublicKey, SigningKey};
use helve_kernel::store::AuditFilter;
use helve_kernel::{Kernel, Store};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::exit::Failure;
use crate::state::State;

/// After so many entries, or so long.
const ENTRIES: u64 = 1000;
const SECONDS: Duration = Duration::from_secs(60);

/// The checkpoints of a hub.
pub(crate) struct Checkpoints {
    path: PathBuf,
    state: State,
    key: SigningKey,
    last: Mutex<u64>,
}

/// The key by which a workspace's checkpoints are verified.
pub(crate) fn public_key(state: &State) -> Result<PublicKey, Failure> {
    Ok(state.signing_key()?.public())
}

impl Checkpoints {
    pub(crate) fn open(state: &State) -> Result<Self, Failure> {
        let checkpoints = Self {
            path: state.checkpoints(),
            state: state.clone(),
            key: state.signing_key()?,
            last: Mutex::new(0),
        };
        let last = checkpoints.all()?.last().map_or(0, |c| c.seq);
        *checkpoints.last() = last;
        Ok(checkpoints)
    }

    fn last(&self) -> std::sync::MutexGuard<'_, u64> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that were kept. A last line that a crash cut off is passed over.
    pub(crate) fn all(&self) -> Result<Vec<Checkpoint>, Failure> {
        read(&self.path)
    }

    /// Refuses a record that is not the one that was signed last.
    pub(crate) async fn hold_against(&self, store: &dyn Store) -> Result<(), Failure> {
        let mut all = self.all()?;
        let signed = self.state.signed()?;
        if let Some(missing) = missing(&self.state, signed.as_deref(), &all) {
            return Err(Failure::input(missing).hint(
                "restore `.helve/checkpoints.jsonl` from a copy, or move `.helve/` away to begin anew",
            ));
        }
        let Some(last) = all.pop() else {
            return Ok(());
        };
        let damaged = |what: &str| {
            Failure::input(format!("the record is not the one that was signed: {what}"))
                .hint("an older copy of the database is in place; restore the right one, or move `.helve/` away to begin anew")
        };
        if !last.verify(&self.key.public()) {
            return Err(damaged("the last checkpoint carries another signature"));
        }
        let filter = AuditFilter {
            after: last.seq.saturating_sub(1),
            ..AuditFilter::default()
        };
        let found = store
            .audit(filter, 1)
            .await
            .map_err(|e| Failure::input(&e))?;
        match found.first() {
            _ if last.seq == 0 => Ok(()),
            Some(entry) if entry.seq == last.seq && entry.hash == last.hash => Ok(()),
            Some(entry) if entry.seq == last.seq => Err(damaged("it says something else")),
            _ => Err(damaged(&format!("it ends before entry {}", last.seq))),
        }
    }

    /// Signs where the record stands, if it has grown.
    pub(crate) async fn sign(&self, kernel: &Kernel) -> Result<(), Failure> {
        let head = kernel
            .store()
            .audit_head()
            .await
            .map_err(|e| Failure::output(&e))?;
        self.keep(head, &kernel.now().to_string())
    }

    fn keep(&self, head: Head, at: &str) -> Result<(), Failure> {
        let mut last = self.last();
        if head.seq <= *last {
            return Ok(());
        }
        let signed = Checkpoint::sign("local", head, at, &self.key).map_err(Failure::output)?;
        append(&self.path, &signed.to_line())
            .map_err(|e| Failure::output(format!("a checkpoint cannot be kept: {e}")))?;
        *last = head.seq;
        self.state.set_signed(&signed.to_line())?;
        Ok(())
    }
}

/// What is wrong if the checkpoint that was signed last is not among these.
///
/// A workspace that never signed, or signed before this was kept, knows of none.
pub(crate) fn missing(state: &State, signed: Option<&str>, kept: &[Checkpoint]) -> Option<String> {
    let Some(signed) = Checkpoint::from_line(signed?.trim_end()) else {
        return Some("`.helve/keys/signed` is damaged: it is no checkpoint".to_owned());
    };
    let same = |c: &Checkpoint| c.seq == signed.seq && c.hash == signed.hash;
    (!kept.iter().any(same)).then(|| {
        format!(
            "checkpoints are missing: entry {} was signed, and `{}` does not say so",
            signed.seq,
            state.checkpoints().display()
        )
    })
}

/// Adds a line, so that it is there after a crash.
fn append(path: &Path, line: &str) -> std::io::Result<()> {
    mend(path)?;
    let is_new = !path.exists();
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_all()?;
    match path.parent().filter(|_| is_new) {
        Some(folder) => fs::File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Ends a last line that a crash or a full disk cut off, so that the next one stands on its own.
fn mend(path: &Path) -> std::io::Result<()> {
    let text = match fs::read_to_string(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        text => text?,
    };
    if text.is_empty() || text.ends_with('\n') {
        return Ok(());
    }
    let start = text.rfind('\n').map_or(0, |i| i + 1);
    let mut file = fs::OpenOptions::new().append(true).open(path)?;
    match Checkpoint::from_line(&text[start..]) {
        Some(_) => file.write_all(b"\n")?,
        None => file.set_len(start as u64)?,
    }
    file.sync_data()
}

/// The checkpoints of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<Checkpoint>, Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => {
            return Err(Failure::input(format!(
                "`{}` cannot be read: {e}",
                path.display()
            )));
        }
    };
    let mut found = Vec::new();
    let lines: Vec<&str> = text.lines().filter(|l| !l.is_empty()).collect();
    for (i, line) in lines.iter().enumerate() {
        match Checkpoint::from_line(line) {
            Some(checkpoint) => found.push(checkpoint),
            None if i + 1 == lines.len() && !text.ends_with('\n') => {}
            None => {
                let shown = path.display();
                return Err(Failure::input(format!(
                    "line {} of `{shown}` is no checkpoint",
                    i + 1
                )));
            }
        }
    }
    Ok(found)
}

/// Once a second: what expired, and whether it is time to sign.
pub(crate) async fn tick(kernel: Kernel, kept: Arc<Checkpoints>, closing: CancellationToken) {
    let mut signed = Instant::now();
    loop {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
            () = closing.cancelled() => return,
        }
        // What fails now is tried again in a second; callers are told by their calls.
        let _ = kernel.expire().await;
        let Ok(head) = kernel.store().audit_head().await else {
            continue;
        };
        let new = head.seq.saturating_sub(*kept.last());
        if new >= ENTRIES || (new > 0 && signed.elapsed() >= SECONDS) {
            let _ = kept.keep(head, &kernel.now().to_string());
            signed = Instant::now();
        }
    }
}
