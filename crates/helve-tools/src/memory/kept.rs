//! A memory, as it is kept: a record of the person whose memory it is.
//!
//! - *The words stay as they were said.* What is compared is a plain form beside them.
//! - *Nothing is overwritten.* What takes the place of another names it, and the other stays
//!   as history, out of sight.

use std::collections::BTreeSet;

use helve_kernel::{Ctx, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

use crate::owned;

/// The most memories of a person, with what was replaced.
pub(super) const MOST: usize = 20_000;

/// What kind of thing is remembered.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Category {
    /// What they like to have in which way.
    Preference,
    /// What is so.
    #[default]
    Fact,
    /// What they think of something.
    Opinion,
    /// How they stand to something or somebody.
    Attitude,
}

impl Category {
    pub(super) const ALL: [Category; 4] = [
        Category::Preference,
        Category::Fact,
        Category::Opinion,
        Category::Attitude,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Category::Preference => "preference",
            Category::Fact => "fact",
            Category::Opinion => "opinion",
            Category::Attitude => "attitude",
        }
    }
}

/// Something that is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Its id.
    pub id: String,
    /// What kind of thing it is.
    pub category: Category,
    /// The words of the user, as they were said.
    pub content: String,
    /// What it is about, like `language`; empty for most.
    #[serde(default)]
    pub key: String,
    /// What holds for that, like `Chinese`; empty for most.
    #[serde(default)]
    pub value: String,
    /// How much it matters, from 0 to 1.
    pub importance: f64,
    /// When it was noted (RFC 3339).
    pub created: String,
    /// Who noted it.
    pub by: String,
    /// The run that noted it.
    pub run: String,
    /// The one that took its place; empty while it holds.
    #[serde(default)]
    pub superseded_by: String,
}

impl Memory {
    /// Whether it holds: nothing has taken its place.
    pub(super) fn holds(&self) -> bool {
        self.superseded_by.is_empty()
    }
}

/// The form in which texts are compared: letters and digits only, small and of one width.
/// `not` and `不` are letters like others, so what says the opposite is never the same.
pub(super) fn plain(text: &str) -> String {
    let folded = text.nfkc().flat_map(char::to_lowercase);
    folded.filter(|c| c.is_alphanumeric()).collect()
}

/// The pairs of letters of a text in its plain form.
pub(super) fn pairs(plain: &str) -> BTreeSet<(char, char)> {
    plain.chars().zip(plain.chars().skip(1)).collect()
}

/// How much of their pairs two texts share, from 0 to 1.
pub(super) fn likeness(a: &BTreeSet<(char, char)>, b: &BTreeSet<(char, char)>) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let both = a.intersection(b).count() as f64;
    both / ((a.len() + b.len()) as f64 - both)
}

/// How much of the pairs of the shorter of two texts the other has, from 0 to 1: a `not` more
/// makes little difference.
pub(super) fn overlap(a: &str, b: &str) -> f64 {
    let (a, b) = (pairs(a), pairs(b));
    let shorter = a.len().min(b.len());
    if shorter < 3 {
        return 0.0;
    }
    a.intersection(&b).count() as f64 / shorter as f64
}

/// All of the person's memories, oldest first.
pub(super) async fn all(ctx: &Ctx) -> Result<Vec<Memory>, ToolError> {
    let collection = collection(ctx)?;
    let rows = ctx.records().list(&collection, None, MOST + 1).await?;
    rows.into_iter().map(|(_, row)| read(row)).collect()
}

/// One of them.
pub(super) async fn one(ctx: &Ctx, id: &str) -> Result<Option<Memory>, ToolError> {
    let row = ctx.records().get(&collection(ctx)?, id).await?;
    row.map(read).transpose()
}

pub(super) fn put(ctx: &Ctx, memory: &Memory) -> Result<(), ToolError> {
    let row = serde_json::to_value(memory);
    let row = row.map_err(|e| ToolError::internal(format!("a memory cannot be written: {e}")))?;
    ctx.records().put(&collection(ctx)?, &memory.id, row)
}

pub(super) fn remove(ctx: &Ctx, id: &str) -> Result<(), ToolError> {
    ctx.records().remove(&collection(ctx)?, id)
}

pub(super) fn collection(ctx: &Ctx) -> Result<String, ToolError> {
    owned::collection(ctx, "memory")
}

fn read(row: Value) -> Result<Memory, ToolError> {
    let damaged = |e| ToolError::internal(format!("a memory cannot be read: {e}"));
    serde_json::from_value(row).map_err(damaged)
}

/// A new id: those made later sort behind.
pub(super) fn new_id() -> String {
    let id = uuid::Uuid::now_v7().simple().to_string();
    format!("mem_{}{}", &id[..12], &id[24..])
}
