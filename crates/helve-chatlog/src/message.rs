//! What an export says, whichever program wrote it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its name in the program it comes from, where the export gives one: the same in every
    /// export of that chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Where it was said.
    pub chat: Chat,
    /// Who said it.
    pub sender: Sender,
    /// When, in milliseconds since 1970, UTC; nothing where the export does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<i64>,
    /// What kind of thing it is.
    #[serde(default)]
    pub kind: Kind,
    /// What it says: for what is no text, what the export says of it (a caption, a file's name).
    pub text: String,
    /// The message that it answers, by its name there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
}

/// A conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Chat {
    /// Its name for programs: the same in every export. The shown name where there is no other.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Between whom.
    #[serde(default)]
    pub kind: ChatKind,
}

/// Between whom a conversation is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatKind {
    /// Between two.
    Private,
    /// Among several.
    Group,
    /// The export does not say.
    #[default]
    Unknown,
}

/// Who says something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sender {
    /// The name for programs: an account, a number. The shown name where there is no other;
    /// empty for what nobody says (a notice of the system).
    pub id: String,
    /// The name for people.
    pub name: String,
    /// Whether it is the one whose export it is, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_self: Option<bool>,
}

/// Somebody of whom an export tells more than with each message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// As [`Sender::id`].
    pub id: String,
    /// As [`Sender::name`].
    pub name: String,
    /// Other names: nicknames in groups, remarks, accounts.
    #[serde(default)]
    pub aliases: Vec<String>,
}

/// What kind of thing a message is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Words.
    #[default]
    Text,
    /// A picture.
    Image,
    /// Spoken.
    Voice,
    /// Moving pictures.
    Video,
    /// A sticker or a large emoji.
    Sticker,
    /// A file.
    File,
    /// A link or a card.
    Link,
    /// A place.
    Location,
    /// A call.
    Call,
    /// Money: a transfer, a red packet.
    Money,
    /// A notice of the program: joined, left, recalled.
    System,
    /// Anything else.
    Other,
}
