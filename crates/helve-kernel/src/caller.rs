//! Whoever called, as far as they can be spoken with while the call lasts.
//!
//! A front door that keeps a conversation (MCP) gives one to the context of a call. A
//! tool asks through it, an executor passes on what a server elsewhere asks, and the
//! kernel tells it when people are asked. The words are those of the Model Context
//! Protocol: a method and its parameters.

use std::fmt;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::{Approval, ToolError};

/// Whoever called.
#[async_trait]
pub trait Caller: Send + Sync + fmt::Debug {
    /// Which conversation this is: one client, one name.
    fn session(&self) -> &str;

    /// The revision of the protocol that they speak.
    fn protocol(&self) -> &str;

    /// What the client can do (`elicitation`, `sampling`, …), as it said so.
    fn capabilities(&self) -> &Value;

    /// What came with the call beside the tool and its arguments: `_meta` and whatever
    /// else, for whoever passes the call on.
    fn extras(&self) -> &Map<String, Value>;

    /// Tells them something: `notifications/progress`, `notifications/message`. Parameters
    /// that name the call (a progress token) are put in by the front door.
    async fn tell(&self, method: &str, params: Value);

    /// Asks them, and waits: a name for each question, and `{"method", "params"}`. The
    /// answers stand under the same names. An error where they cannot be asked.
    async fn ask(&self, questions: Map<String, Value>) -> Result<Map<String, Value>, ToolError>;

    /// The call has become a long job elsewhere: `task` is what was said of it. Whoever can
    /// come back for the answer need not wait for it.
    fn takes_long(&self, task: &Value) {
        let _ = task;
    }

    /// The call waits for people now.
    fn waits(&self, approval: &Approval) {
        let _ = approval;
    }
}
