//! `helve audit verify`: whether the record is whole, and the one that was signed.

use std::fs::File;
use std::io::{BufRead as _, BufReader, IsTerminal as _};
use std::path::{Path, PathBuf};

use axum::http::Method;
use clap::Args;
use futures_util::StreamExt as _;
use helve_core::audit::{
    Broken, Checkpoint, Entry, Head, PublicKey, SigningKey, Verified, Verifier,
};
use helve_kernel::store::AuditFilter;
use helve_kernel::{Store as _, StoreError};
use helve_store::SqliteStore;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::key::nothing;
use crate::client::{Client, Target, refusal};
use crate::exit::{Done, Exit, Failure};
use crate::hub::{self, missing_checkpoints, public_key, read_checkpoints, unopened};
use crate::state::State;
use crate::{out, workspace};

/// Check that the record is whole: no entry changed, removed, added or swapped.
///
/// Without a file, the record of this workspace is held against the checkpoints that
/// it signed. With one, an exported record is checked on its own: no hub and no
/// workspace are needed, only the key from `helve audit key` to know who signed it.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// An exported record.
    file: Option<PathBuf>,
    /// The public key that must have signed the checkpoints.
    #[arg(long, value_name = "HEX", value_parser = key)]
    key: Option<PublicKey>,
    /// A file with checkpoints, beside those in the exported record.
    #[arg(long, value_name = "FILE")]
    checkpoints: Option<PathBuf>,
    /// Print what came of it as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

fn key(text: &str) -> Result<PublicKey, &'static str> {
    PublicKey::parse(text).ok_or("a key is 64 hexadecimal digits, as `helve audit key` prints it")
}

/// Whose key the checkpoints were held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Given,
    Workspace,
    /// The one that stands beside the signatures: it proves only that they fit.
    Found,
    /// There is nothing that was signed.
    None,
}

/// What the entries are held against.
struct Against {
    checkpoints: Vec<Checkpoint>,
    key: PublicKey,
    trust: Trust,
}

/// A record that holds, or where it does not.
pub(in crate::cmd) type Checked = Result<Verified, String>;

pub(super) async fn run(args: &VerifyArgs) -> Done {
    let extra = match &args.checkpoints {
        Some(path) if !path.exists() => {
            let path = path.display();
            return Err(Failure::input(format!("`{path}` is not there")));
        }
        Some(path) => kept(path)?,
        None => Vec::new(),
    };
    let (checked, against) = match &args.file {
        Some(path) => of_file(path, args.key, extra)?,
        None => of_hub(args, extra).await?,
    };
    report(args, &checked, &against)
}

/// Checkpoints of a file. One that cannot be read is a finding, like any other change.
fn kept(path: &Path) -> Result<Vec<Checkpoint>, Failure> {
    read_checkpoints(path).map_err(|failure| Failure {
        exit: Exit::Findings,
        ..failure
    })
}

/// The checkpoints of a workspace, none of which may be missing.
fn of_workspace(state: &State) -> Result<Vec<Checkpoint>, Failure> {
    // Read first: it is written after the others.
    let signed = state.signed()?;
    let checkpoints = kept(&state.checkpoints())?;
    match missing_checkpoints(state, signed.as_deref(), &checkpoints) {
        None => Ok(checkpoints),
        Some(missing) => Err(Failure::new(Exit::Findings, missing)
            .hint("without them a record that was cut off looks whole; restore them from a copy")),
    }
}

impl Against {
    fn new(checkpoints: Vec<Checkpoint>, key: Option<(PublicKey, Trust)>) -> Self {
        let found = checkpoints.first().map(|c| (c.key, Trust::Found));
        // Without checkpoints any key will do: nothing is held against it.
        let any = || (SigningKey::from_bytes(&[1; 32]).public(), Trust::None);
        let (key, trust) = key.or(found).unwrap_or_else(any);
        let trust = match checkpoints.is_empty() {
            true => Trust::None,
            false => trust,
        };
        Self {
            checkpoints,
            key,
            trust,
        }
    }

    fn verifier(&self) -> Result<Verifier, Broken> {
        Verifier::new(Head::START, &self.checkpoints, &self.key)
    }
}

/// An exported file, in two passes: what was signed, then what it was signed about.
fn of_file(
    path: &Path,
    key: Option<PublicKey>,
    mut checkpoints: Vec<Checkpoint>,
) -> Result<(Checked, Against), Failure> {
    each_line(path, None, |_, line| {
        checkpoints.extend(checkpoint(line));
        Ok(())
    })?
    .ok();
    let against = Against::new(checkpoints, key.map(|key| (key, Trust::Given)));
    let mut verifier = match against.verifier() {
        Ok(verifier) => verifier,
        Err(broken) => return Ok((Err(broken.to_string()), against)),
    };
    let size = std::fs::metadata(path).map_or(0, |m| m.len());
    let bar = bar(
        Some(size),
        "{spinner} {binary_bytes}/{binary_total_bytes} {wide_bar} {eta}",
    );
    let read = each_line(path, Some(&bar), |number, line| {
        if checkpoint(line).is_some() {
            return Ok(());
        }
        let Some(entry) = Entry::from_line(line) else {
            return Err(format!(
                "line {number} is neither an entry nor a checkpoint"
            ));
        };
        verifier.entry(&entry).map_err(|broken| match broken {
            Broken::Gap { .. } => format!("{broken} (line {number})"),
            _ => broken.to_string(),
        })
    });
    bar.finish_and_clear();
    let checked = match read? {
        Ok(()) => verifier.finish().map_err(|broken| broken.to_string()),
        Err(broken) => Err(broken),
    };
    Ok((checked, against))
}

/// A line that is a checkpoint. All of them begin alike, and no entry begins so.
fn checkpoint(line: &str) -> Option<Checkpoint> {
    line.starts_with("{\"at\":")
        .then(|| Checkpoint::from_line(line))
        .flatten()
}

/// The longest line that is read; an entry is far shorter.
const LONGEST: u64 = 64 * 1024 * 1024;

/// Reads a file line by line, until one is refused.
fn each_line(
    path: &Path,
    bar: Option<&ProgressBar>,
    mut take: impl FnMut(usize, &str) -> Result<(), String>,
) -> Result<Result<(), String>, Failure> {
    use std::io::Read as _;
    let failed =
        |e: std::io::Error| Failure::input(format!("`{}` cannot be read: {e}", path.display()));
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let read = reader.by_ref().take(LONGEST).read_until(b'\n', &mut bytes);
        let read = read.map_err(failed)?;
        if read == 0 {
            break;
        }
        if let Some(bar) = bar {
            bar.inc(read as u64);
        }
        let Ok(line) = std::str::from_utf8(&bytes) else {
            return Ok(Err(format!("line {number} is not text")));
        };
        let line = line.strip_suffix('\n').unwrap_or(line);
        if !line.is_empty()
            && let Err(broken) = take(number, line)
        {
            return Ok(Err(broken));
        }
    }
    Ok(Ok(()))
}

/// The record of a hub: of the one that runs, or out of the store of one that does not.
async fn of_hub(
    args: &VerifyArgs,
    mut checkpoints: Vec<Checkpoint>,
) -> Result<(Checked, Against), Failure> {
    let given = args.key.map(|key| (key, Trust::Given));
    if args.target.is_elsewhere() {
        let against = Against::new(checkpoints, given);
        return streamed(&args.target, against).await;
    }
    let state = State::of(&workspace::known()?);
    if !state.database().exists() {
        return Err(nothing());
    }
    // Read first: what is signed while the record is read must not be missing in it.
    checkpoints.extend(of_workspace(&state)?);
    let own = public_key(&state)?;
    let against = Against::new(checkpoints, given.or(Some((own, Trust::Workspace))));
    match Client::runs(&state).await {
        true => streamed(&args.target, against).await,
        false => {
            let checked = stored(&state, &against).await?;
            Ok((checked, against))
        }
    }
}

/// The record of a hub that runs, held against what this workspace signed. For
/// `helve doctor`.
pub(in crate::cmd) async fn running(target: &Target) -> Result<Checked, Failure> {
    let against = match target.is_elsewhere() {
        true => Against::new(Vec::new(), None),
        false => own_checkpoints(&State::of(&workspace::root()))?,
    };
    Ok(streamed(target, against).await?.0)
}

fn own_checkpoints(state: &State) -> Result<Against, Failure> {
    let checkpoints = of_workspace(state)?;
    let key = public_key(state)?;
    Ok(Against::new(checkpoints, Some((key, Trust::Workspace))))
}

/// The record of this workspace, held against what it signed. For `helve doctor`.
pub(in crate::cmd) async fn own(state: &State) -> Result<Checked, Failure> {
    stored(state, &own_checkpoints(state)?).await
}

/// Out of the store, without opening a hub: one that is damaged would not open.
async fn stored(state: &State, against: &Against) -> Result<Checked, Failure> {
    let store = match hub::store(state).await {
        Ok(store) => store,
        Err(e @ StoreError::Damaged(_)) => return Ok(Err(e.to_string())),
        Err(e) => return Err(unopened(&e)),
    };
    let checked = entries(&store, against).await;
    store.close().await;
    checked
}

async fn entries(store: &SqliteStore, against: &Against) -> Result<Checked, Failure> {
    let mut verifier = match against.verifier() {
        Ok(verifier) => verifier,
        Err(broken) => return Ok(Err(broken.to_string())),
    };
    let head = store.audit_head().await.map_err(|e| unopened(&e))?;
    let bar = bar(
        Some(head.seq),
        "{spinner} {pos}/{len} entries {wide_bar} {eta}",
    );
    loop {
        let filter = AuditFilter {
            after: verifier.head().seq,
            ..AuditFilter::default()
        };
        let entries = match store.audit(filter, 500).await {
            Ok(entries) if entries.is_empty() => break,
            Ok(entries) => entries,
            Err(e @ StoreError::Damaged(_)) => return Ok(Err(e.to_string())),
            Err(e) => return Err(unopened(&e)),
        };
        for entry in &entries {
            if let Err(broken) = verifier.entry(entry) {
                return Ok(Err(broken.to_string()));
            }
        }
        bar.set_position(verifier.head().seq);
    }
    bar.finish_and_clear();
    Ok(verifier.finish().map_err(|broken| broken.to_string()))
}

/// As a running hub gives it out.
async fn streamed(target: &Target, against: Against) -> Result<(Checked, Against), Failure> {
    let mut verifier = match against.verifier() {
        Ok(verifier) => verifier,
        Err(broken) => return Ok((Err(broken.to_string()), against)),
    };
    let client = Client::open(target).await?;
    let mut reply = client.send(Method::GET, "/audit/export", None, &[]).await?;
    if reply.status != 200 {
        let status = reply.status;
        let problem = serde_json::from_slice(&reply.bytes().await?).unwrap_or_default();
        return Err(refusal(status, &problem));
    }
    let bar = bar(None, "{spinner} {pos} entries {elapsed}");
    let mut rest: Vec<u8> = Vec::new();
    while let Some(part) = reply.body.next().await {
        let part = part.map_err(|e| Failure::hub(format!("the record was cut off: {e}")))?;
        rest.extend_from_slice(&part);
        let Some(end) = rest.iter().rposition(|b| *b == b'\n') else {
            continue;
        };
        let whole: Vec<u8> = rest.drain(..=end).collect();
        let whole = String::from_utf8_lossy(&whole);
        for line in whole.lines() {
            if let Err(broken) = verifier.line(line) {
                return Ok((Err(broken.to_string()), against));
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    client.close().await?;
    Ok((verifier.finish().map_err(|b| b.to_string()), against))
}

fn bar(length: Option<u64>, template: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = match length {
        Some(length) => ProgressBar::new(length),
        None => ProgressBar::new_spinner(),
    };
    let style = ProgressStyle::with_template(template);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn report(args: &VerifyArgs, checked: &Checked, against: &Against) -> Done {
    let trust = match against.trust {
        Trust::Given => "given",
        Trust::Workspace => "workspace",
        Trust::Found => "found",
        Trust::None => "none",
    };
    let signed = against.trust != Trust::None;
    let checked = &match checked {
        Ok(verified) if !signed && verified.head.seq > 0 && must_be_signed(args) => {
            return unsigned(args, trust);
        }
        checked => checked.as_ref(),
    };
    if args.json {
        let key = signed.then(|| against.key.to_string());
        out::json(&match checked {
            Ok(verified) => json!({
                "ok": true,
                "entries": verified.head.seq,
                "head": verified.head.hash.to_string(),
                "checkpoints": verified.checkpoints,
                "covered": verified.covered,
                "unsigned": verified.head.seq - verified.covered,
                "key": key,
                "trust": trust,
            }),
            Err(broken) => json!({"ok": false, "error": broken, "key": key, "trust": trust}),
        })?;
        return Ok(match checked {
            Ok(_) => Exit::Ok,
            Err(_) => Exit::Findings,
        });
    }
    let verified = checked.map_err(|broken| {
        Failure::new(Exit::Findings, format!("the record is broken: {broken}"))
            .hint("keep this copy; compare it with an earlier export to see what was there")
    })?;
    show(verified, against)?;
    Ok(Exit::Ok)
}

/// Whether somebody counts on signatures: by their key, or because it is their own hub.
fn must_be_signed(args: &VerifyArgs) -> bool {
    let own = args.file.is_none() && !args.target.is_elsewhere();
    own || args.key.is_some()
}

fn unsigned(args: &VerifyArgs, trust: &str) -> Done {
    let error = "nothing is signed: it could have been written anew or cut off";
    if args.json {
        out::json(&json!({"ok": false, "error": error, "key": null, "trust": trust}))?;
        return Ok(Exit::Findings);
    }
    Err(Failure::new(Exit::Findings, error)
        .hint("a hub signs when it starts, after a minute, and when it stops; give what it signed with `--checkpoints`"))
}

fn show(verified: &Verified, against: &Against) -> Result<(), Failure> {
    let entries = usize::try_from(verified.head.seq).unwrap_or(usize::MAX);
    out::show(&format!(
        "{}: {}, {}\n",
        out::styled(out::FIX, "whole"),
        match entries {
            1 => "1 entry".to_owned(),
            n => format!("{n} entries"),
        },
        out::count(verified.checkpoints, "checkpoint")
    ))?;
    let mut fields = crate::shown::Fields::default();
    fields.add("head", verified.head.hash.to_string());
    if against.trust != Trust::None {
        let after = verified.head.seq - verified.covered;
        let rest = match after {
            0 => "all of it".to_owned(),
            n => format!("up to entry {}; not signed yet: {n}", verified.covered),
        };
        fields.add("signed", rest);
        let whose = match against.trust {
            Trust::Workspace => "this workspace's",
            Trust::Given => "the one that was given",
            _ => "found beside the signatures",
        };
        fields.add("key", format!("{} ({whose})", against.key));
    }
    out::show(&fields.text())?;
    match against.trust {
        Trust::Found => out::warn(
            "the signatures fit each other, but were not checked against a known key: give `--key`",
        ),
        Trust::None => out::warn(
            "nothing in it is signed: it fits together, but could have been written anew or cut off \
             (a hub signs after a minute, and when it stops)",
        ),
        _ => {}
    }
    Ok(())
}
