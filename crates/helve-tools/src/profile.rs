//! What is known of the person for whom an agent works.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use helve_kernel::{Ctx, ToolError, Toolset, ToolsetError, tool, toolset};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::owned;

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

/// What is known of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Profile {
    /// What is known, by what it is about.
    pub profile: BTreeMap<String, String>,
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
/// The profile belongs to the person for whom the agent works; all their agents see it.
#[tool(
    group = "profile",
    title = "What is known of the user",
    category = "Profile",
    risk = "read",
    idempotent,
    output,
    aliases = ["get_user_profile"],
    triggers = ["When a conversation begins", "When a preference of the user matters"],
    related = [("profile_update", "notes something")],
    example(scenario = "Who is it", params = {}, expected = "All that was noted")
)]
async fn get(
    ctx: &Ctx,
    /// Only what is noted under this key; empty for all.
    #[default("")]
    key: String,
) -> Result<Profile, ToolError> {
    let collection = owned::collection(ctx, "profile")?;
    let rows = ctx.records().list(&collection, None, MOST + 1).await?;
    let wanted = |(found, _): &(String, serde_json::Value)| key.is_empty() || *found == key;
    let rows = rows.into_iter().filter(wanted);
    let text = |value: &serde_json::Value| value["value"].as_str().unwrap_or_default().to_owned();
    let profile = rows.map(|(key, value)| (key, text(&value))).collect();
    Ok(Profile { profile })
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
    aliases = ["update_user_profile"],
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
        ctx.records()
            .put(&collection, &key, json!({"value": value}))?;
    }
    Ok(Noted {
        key,
        value,
        before: before.unwrap_or_default(),
    })
}
