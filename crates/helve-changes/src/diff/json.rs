//! A changeset with its hunks, for programs that show it their own way.

use serde_json::{Value, json};

use super::lines::Sign;
use super::{Body, Budget, Limits, body};
use crate::blobs::Blobs;
use crate::capture::Staged;
use crate::error::Error;
use crate::raw::Raw;

/// Every path with how it changed, what it was and is, and the lines that differ. Text
/// is exact; what is no UTF-8 is `{"hex": …}`.
pub fn to_json(staged: &Staged, blobs: &Blobs, limits: &Limits) -> Result<Value, Error> {
    let mut budget = Budget::new(limits);
    let mut changes = Vec::new();
    for change in &staged.changeset.changes {
        let renamed = change
            .renamed_from
            .as_ref()
            .and_then(|from| staged.changeset.get(from));
        let before = renamed.map_or(&change.before, |c| &c.before);
        let given_up = change.after.is_absent() && change.before.is_dir();
        let body = match given_up {
            true => Body::Nothing,
            false => body(staged, blobs, change, (before, &change.after), &mut budget)?,
        };
        let mut entry = json!(change);
        entry["kind"] = json!(change.kind());
        entry["kinds"] = json!(change.kinds());
        match body {
            Body::Nothing => {}
            Body::Binary => entry["binary"] = json!(true),
            Body::LeftOut(why) => entry["left_out"] = json!(why),
            Body::Hunks(hunks) => {
                entry["hunks"] = hunks
                    .iter()
                    .map(|hunk| {
                        let lines: Vec<Value> = hunk
                            .lines
                            .iter()
                            .map(|(sign, text)| json!({"sign": sign_name(*sign), "text": Raw(text.clone())}))
                            .collect();
                        json!({"before": hunk.before, "after": hunk.after, "lines": lines})
                    })
                    .collect();
            }
        }
        changes.push(entry);
    }
    Ok(json!({
        "id": staged.changeset.id().to_string(),
        "totals": staged.changeset.totals(),
        "changes": changes,
    }))
}

fn sign_name(sign: Sign) -> &'static str {
    match sign {
        Sign::Same => "same",
        Sign::Removed => "removed",
        Sign::Added => "added",
    }
}
