//! What a definition says about a container.

use helve_core::ToolDef;
use helve_core::def::ExecutorKind;
use helve_kernel::ToolError;
use serde_json::Value;

use crate::settings::{Common, count, size, wrong};

/// The settings of a Docker tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// What every program is told.
    pub(crate) common: Common,
    /// What it runs in.
    pub(crate) image: String,
    /// As whom; without it, as the user of the hub.
    pub(crate) user: Option<String>,
    /// Whether it can write nowhere but to its `/tmp` and where it may.
    pub(crate) read_only: bool,
    /// How much it may use.
    pub(crate) limits: Limits,
}

/// How much a container may use.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limits {
    /// Bytes of memory, `/tmp` included; there is no swap beyond.
    pub(crate) memory: i64,
    /// Billionths of a processor.
    pub(crate) nano_cpus: i64,
    /// Processes and threads at a time.
    pub(crate) pids: i64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 512 << 20,
            nano_cpus: 1_000_000_000,
            pids: 256,
        }
    }
}

/// The least memory that engines take.
const LEAST_MEMORY: i64 = 6 << 20;

impl Settings {
    /// Reads and checks the settings of a definition.
    pub(crate) fn of(def: &ToolDef) -> Result<Self, ToolError> {
        let mut image = None;
        let mut user = None;
        let mut read_only = true;
        let mut limits = Limits::default();
        let common = Common::read(def, ExecutorKind::Docker, |name, value| {
            match (name, value) {
                ("image", Value::String(text)) => image = Some(text.clone()),
                ("user", Value::String(text)) => user = Some(checked_user(text)?),
                ("read_only", Value::Bool(locked)) => read_only = *locked,
                ("memory", Value::String(text)) => limits.memory = memory(name, text)?,
                ("cpus", Value::Number(_)) => limits.nano_cpus = cpus(value)?,
                ("pids", Value::Number(_)) => limits.pids = count(name, value)?.into(),
                _ => return Err(wrong(name)),
            }
            Ok(())
        })?;
        let Some(image) = image else {
            return Err(ToolError::validation("the executor names no `image`")
                .with_hint("write it like `image = \"busybox@sha256:…\"`"));
        };
        Ok(Self {
            common,
            image,
            user,
            read_only,
            limits,
        })
    }
}

fn memory(name: &str, text: &str) -> Result<i64, ToolError> {
    let bytes = i64::try_from(size(name, text)?).unwrap_or(i64::MAX);
    match bytes >= LEAST_MEMORY {
        true => Ok(bytes),
        false => Err(ToolError::validation(format!(
            "`memory` is `{text}`, less than any container needs"
        ))
        .with_hint("at least `6MB`")),
    }
}

fn cpus(value: &Value) -> Result<i64, ToolError> {
    let cpus = value.as_f64().filter(|n| (0.01..=1024.0).contains(n));
    let cpus = cpus.ok_or_else(|| {
        ToolError::validation(format!("`cpus` cannot be {value}"))
            .with_hint("a number of processors, for example 0.5 or 2")
    })?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is small, and no fraction counts"
    )]
    let nano = (cpus * 1e9) as i64;
    Ok(nano)
}

/// A name or number, and perhaps one of a group after a colon.
fn checked_user(text: &str) -> Result<String, ToolError> {
    let word = |part: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !part.is_empty() && !part.starts_with('-') && part.chars().all(plain)
    };
    let mut parts = text.split(':');
    let two = parts.clone().count() <= 2;
    match two && parts.all(word) {
        true => Ok(text.to_owned()),
        false => Err(ToolError::validation(format!("`user` cannot be `{text}`"))
            .with_hint("a name or a number, for example `nobody` or `1000:1000`")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;
    use crate::contract::definition;

    fn of(more: &Value) -> Result<Settings, ToolError> {
        let mut executor = json!({"type": "docker", "image": "x", "command": ["true"]});
        let fields = more.as_object().unwrap().clone();
        executor.as_object_mut().unwrap().extend(fields);
        Settings::of(&definition(&executor))
    }

    #[test]
    fn limits_are_read() {
        let found = of(&json!({"memory": "64MB", "cpus": 0.5, "pids": 9, "user": "1:2"})).unwrap();
        let wanted = Limits {
            memory: 64 << 20,
            nano_cpus: 500_000_000,
            pids: 9,
        };
        assert_eq!(
            (found.limits, found.user.unwrap()),
            (wanted, "1:2".to_owned())
        );
        let plain = of(&json!({})).unwrap();
        assert_eq!((plain.limits, plain.read_only), (Limits::default(), true));
        assert!(!plain.common.network);
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (more, says) in [
            (json!({"memory": "much"}), "must be a size"),
            (json!({"memory": "1MB"}), "less than any container needs"),
            (json!({"cpus": 0}), "`cpus`"),
            (json!({"cpus": 100_000}), "`cpus`"),
            (json!({"pids": 0}), "`pids`"),
            (json!({"user": "a:b:c"}), "`user`"),
            (json!({"user": ""}), "`user`"),
            (json!({"user": "$(id)"}), "`user`"),
        ] {
            let error = of(&more).unwrap_err();
            assert!(error.message.contains(says), "{more}: {error}");
        }
    }
}
