//! What is known of the person for whom an agent works.
//!
//! It stands at the beginning of many a conversation, so it costs at most 200 tokens; what
//! does not fit is counted, and there for the asking. Each thing says where it is from.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use helve_kernel::helve_core::tokens::estimate;
use helve_kernel::{Ctx, ToolError, Toolset, ToolsetError, tool, toolset};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{memory, owned};

/// The set.
pub fn toolset() -> Result<Toolset, ToolsetError> {
    toolset! {
        name: "profile",
        description: "What is known of the person",
        tags: ["profile"],
        tools: [get, update],
    }
}

/// The most things that are noted of a person.
const MOST: usize = 500;

/// What a profile may cost.
const TOKENS: usize = 200;

/// What comes first, where there is more than fits.
const CORE: &[&str] = &[
    "name",
    "language",
    "occupation",
    "job",
    "role",
    "location",
    "timezone",
    "姓名",
    "语言",
    "职业",
    "所在地",
    "时区",
];

/// What is known of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Profile {
    /// What is known, by what it is about.
    pub profile: BTreeMap<String, String>,
    /// Where each is from: noted by whom and when, or which memory.
    pub sources: BTreeMap<String, String>,
    /// How many things did not fit; `key` or `all` shows them.
    pub left_out: usize,
}

/// What was noted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Noted {
    /// What it is about.
    pub key: String,
    /// What is known now; empty if it was taken away.
    pub value: String,
    /// What was known before; empty if nothing was.
    pub before: String,
}

/// Shows what is known of the user. Use it when an answer depends on who they are or what they prefer.
///
/// - The profile belongs to the person for whom the agent works; all their agents see it.
/// - Preferences that were remembered under a key stand here as well; what was noted here goes
///   before them.
/// - It costs at most 200 tokens. `left_out` says how many things there are besides.
#[tool(
    group = "profile",
    title = "What is known of the user",
    category = "Profile",
    risk = "read",
    idempotent,
    output,
    aliases = ["get_user_profile", "mcp__memory__get_user_profile"],
    triggers = ["When a conversation begins", "When a preference of the user matters"],
    related = [("profile_update", "notes something")],
    example(scenario = "Who is it", params = {}, expected = "All that was noted")
)]
async fn get(
    ctx: &Ctx,
    /// Only what is noted under this key; empty for all.
    #[default("")]
    key: String,
    /// Whether all of it is wanted, whatever it costs.
    #[default(false)]
    all: bool,
) -> Result<Profile, ToolError> {
    let mut known = known(ctx).await?;
    known.retain(|thing| key.is_empty() || thing.key == key);
    let place = |key: &str| CORE.iter().position(|core| *core == key.to_lowercase());
    known.sort_by_key(|thing| (place(&thing.key).unwrap_or(CORE.len()), thing.key.clone()));
    let mut shown = Profile {
        profile: BTreeMap::new(),
        sources: BTreeMap::new(),
        left_out: 0,
    };
    // The frame of the answer, as JSON.
    let mut tokens = 24;
    for thing in known {
        let quoted = [&thing.key, &thing.value, &thing.key, &thing.source];
        let cost = quoted.map(|text| estimate(&format!("{text:?}:,")));
        let cost: usize = cost.iter().sum();
        if !all && key.is_empty() && tokens + cost > TOKENS {
            shown.left_out += 1;
            continue;
        }
        tokens += cost;
        shown.sources.insert(thing.key.clone(), thing.source);
        shown.profile.insert(thing.key, thing.value);
    }
    Ok(shown)
}

/// Something that is known.
struct Thing {
    key: String,
    value: String,
    source: String,
}

/// What was noted here, and the preferences that were remembered under a key.
async fn known(ctx: &Ctx) -> Result<Vec<Thing>, ToolError> {
    let collection = owned::collection(ctx, "profile")?;
    let rows = ctx.records().list(&collection, None, MOST + 1).await?;
    let mut known: BTreeMap<String, Thing> = BTreeMap::new();
    for (key, row) in rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let source = match (text("by"), text("at")) {
            (by, at) if by.is_empty() || at.is_empty() => "profile".to_owned(),
            (by, at) => format!("profile, {by}, {}", day(&at)),
        };
        let value = text("value");
        known.insert(key.clone(), Thing { key, value, source });
    }
    for memory in memory::preferences(ctx).await? {
        let source = format!("{}, {}", memory.id, day(&memory.created));
        let value = match memory.value.is_empty() {
            true => memory.content,
            false => memory.value,
        };
        let key = memory.key;
        let thing = Thing {
            key: key.clone(),
            value,
            source,
        };
        known.entry(key).or_insert(thing);
    }
    Ok(known.into_values().collect())
}

/// The day of a time.
fn day(at: &str) -> &str {
    at.split('T').next().unwrap_or(at)
}

/// Notes something about the user. Use it when they say who they are or what they prefer.
///
/// One value for each key; a new one replaces the old, which comes back if the call is
/// undone. An empty value takes it away.
#[tool(
    group = "profile",
    title = "Note something about the user",
    category = "Profile",
    risk = "exec_low",
    held,
    idempotent,
    output,
    aliases = ["update_user_profile", "mcp__memory__update_user_profile"],
    triggers = ["When the user says something about themselves", "When a preference has changed"],
    warnings = ["Note what the user said, not what is guessed; no passwords"],
    related = [("profile_get", "shows what is known")],
    example(scenario = "A preference", params = {"key": "language", "value": "Chinese"}, expected = "The new value and the old one")
)]
async fn update(
    ctx: &Ctx,
    /// What it is about, like `name` or `language`.
    #[schemars(length(min = 1, max = 100))]
    key: String,
    /// What is known now; empty takes it away.
    #[schemars(length(max = 2000))]
    value: String,
) -> Result<Noted, ToolError> {
    let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
    if key.is_empty() {
        return Err(ToolError::validation(
            "`key` is blank; say what it is about",
        ));
    }
    let collection = owned::collection(ctx, "profile")?;
    let before = ctx.records().get(&collection, &key).await?;
    let before = before.and_then(|row| row["value"].as_str().map(str::to_owned));
    if value.is_empty() {
        ctx.records().remove(&collection, &key)?;
    } else {
        let known = ctx.records().list(&collection, None, MOST).await?;
        if before.is_none() && known.len() >= MOST {
            return Err(
                ToolError::validation(format!("a profile holds at most {MOST} things"))
                    .with_hint("an empty value takes one away"),
            );
        }
        let row = json!({
            "value": value,
            "by": ctx.principal(),
            "at": Timestamp::now().to_string(),
            "run": ctx.run_id(),
        });
        ctx.records().put(&collection, &key, row)?;
    }
    Ok(Noted {
        key,
        value,
        before: before.unwrap_or_default(),
    })
}
