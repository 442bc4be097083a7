//! Moments as people read them: short, and the same everywhere (UTC).

use std::time::Duration;

use helve_kernel::{At, Clock as _, SystemClock};
use serde_json::Value;

/// Now, by this machine.
pub(crate) fn now() -> At {
    SystemClock.now()
}

/// `2026-11-15 09:34:45`; nothing for what has not happened.
pub(crate) fn moment(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    match text.get(..19) {
        Some(whole) if At::parse(text).is_some() => whole.replace('T', " "),
        _ => String::new(),
    }
}

/// How long ago it was: `3m ago`.
pub(crate) fn ago(value: &Value) -> String {
    match value.as_str().and_then(At::parse) {
        Some(at) => format!("{} ago", rough(now().since(at))),
        None => String::new(),
    }
}

/// How long it is until then: `57m`.
pub(crate) fn left(value: &Value) -> String {
    match value.as_str().and_then(At::parse) {
        Some(at) if at > now() => rough(at.since(now())),
        Some(_) => "over".to_owned(),
        None => String::new(),
    }
}

/// How long something took: `1.20s`.
pub(crate) fn took(from: &Value, to: &Value) -> String {
    let ends = [from, to].map(|v| v.as_str().and_then(At::parse));
    let [Some(from), Some(to)] = ends else {
        return String::new();
    };
    let took = to.since(from);
    match took.as_millis() {
        ms @ 0..1000 => format!("{ms}ms"),
        ms @ 1000..60_000 => format!("{}.{}s", ms / 1000, ms % 1000 / 100),
        _ => rough(took),
    }
}

/// A moment that was given on a command line: RFC 3339, or so long ago (`2h`).
pub(crate) fn given(text: &str) -> Result<String, String> {
    if let Some(before) = crate::config::duration(text) {
        let before = i64::try_from(before.as_millis()).unwrap_or(i64::MAX);
        return Ok(At(now().0.saturating_sub(before)).to_string());
    }
    let at =
        At::parse(text).ok_or("write it like `2026-01-31T12:00:00Z`, or `2h` for so long ago")?;
    Ok(at.to_string())
}

fn rough(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_the_same_everywhere() {
        assert_eq!(
            moment(&"2026-11-15T09:34:45.123Z".into()),
            "2026-11-15 09:34:45"
        );
        assert_eq!(moment(&Value::Null), "");
        assert_eq!(moment(&"\u{1b}[2J".into()), "");
        let took = |to: &str| took(&"2026-11-15T09:00:00.000Z".into(), &to.into());
        assert_eq!(took("2026-11-15T09:00:00.250Z"), "250ms");
        assert_eq!(took("2026-11-15T09:00:01.299Z"), "1.2s");
        assert_eq!(took("2026-11-15T09:02:01.299Z"), "2m");
        assert_eq!(rough(Duration::from_secs(7300)), "2h");
        assert_eq!(rough(Duration::from_secs(9 * 86_400)), "9d");
    }

    #[test]
    fn so_long_ago_or_a_moment() {
        assert!(given("2h").unwrap() < now().to_string());
        assert_eq!(
            given("2026-01-31T12:00:00Z").unwrap(),
            "2026-01-31T12:00:00.000Z"
        );
        assert!(given("yesterday").is_err());
    }
}
