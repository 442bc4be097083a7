//! `[changes]`, `[record]` and `[sandbox]`: how long what was there before is kept, when
//! the record is on the disk, and whether programs may run without walls around them.

use std::time::Duration;

use helve_kernel::Keeping;
use schemars::JsonSchema;
use serde::Deserialize;

use super::duration;

/// What is kept of files that runs changed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Changes {
    /// How long what was there before a run is kept, so that it can be undone, like `30d` [default: `30d`].
    pub keep: Option<String>,
    /// How much of it is kept at most, like `10GB` [default: `10GB`].
    pub quota: Option<String>,
}

/// The record of what was done.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Record {
    /// Whether how a call ended is on the disk, too, before its answer leaves [default: false]. By then it is always written, so that a hub that is killed loses nothing; a machine that loses its power may lose the ends, and the reads, of its last twentieth of a second. What can have an effect is always on the disk before it begins. What the user requires, a workspace cannot take back.
    pub sync_ends: bool,
}

/// The walls around programs.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Sandbox {
    /// Whether programs run only where the machine gives a sandbox [default: false]. What the user requires, a workspace cannot take back.
    pub require_sandbox: bool,
}

const KEEP: Duration = Duration::from_hours(30 * 24);
const QUOTA: u64 = 10_000_000_000;

impl Changes {
    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        if let Some(text) = self.keep.as_ref().filter(|t| duration(t).is_none()) {
            return Some(format!(
                "`changes.keep` cannot be `{text}`; write it like `12h` or `30d`"
            ));
        }
        let text = self.quota.as_ref().filter(|t| size(t).is_none())?;
        Some(format!(
            "`changes.quota` cannot be `{text}`; write it like `500MB` or `10GB`"
        ))
    }

    /// The most bytes of what was there before.
    pub(crate) fn quota(&self) -> u64 {
        // Checked when it was read.
        self.quota.as_deref().and_then(size).unwrap_or(QUOTA)
    }

    /// What is left when old ones are let go: less than the quota, so that there is room
    /// again for the next run.
    pub(crate) fn keeping(&self) -> Keeping {
        let keep = self.keep.as_deref().and_then(duration);
        Keeping {
            age: Some(keep.unwrap_or(KEEP)),
            bytes: Some(self.quota() - self.quota() / 10),
        }
    }
}

/// `500MB`, `10GB`, `2GiB`: a number of bytes, at least one.
pub(crate) fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let bytes: u64 = match unit.trim() {
        "B" => 1,
        "KB" | "kB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return None,
    };
    let whole = number.checked_mul(bytes)?;
    (whole > 0 && i64::try_from(whole).is_ok()).then_some(whole)
}
