//! The markup of Slack as a person reads it.

use super::slack::Names;
use super::wechat::unescape;

/// Mentions by name, channels with `#`, links with their words and address, entities resolved.
pub(crate) fn plain(text: &str, people: &Names) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        out.push_str(&unescape(&rest[..start]));
        let inner = &rest[start + 1..];
        let Some(end) = inner.find('>') else {
            out.push_str(&unescape(&rest[start..]));
            return out;
        };
        out.push_str(&unescape(&token(&inner[..end], people)));
        rest = &inner[end + 1..];
    }
    out.push_str(&unescape(rest));
    out
}

fn token(inner: &str, people: &Names) -> String {
    let (what, label) = inner.split_once('|').unwrap_or((inner, ""));
    if let Some(id) = what.strip_prefix('@') {
        let known = people.get(id).map_or(label, |name| name);
        return format!("@{}", if known.is_empty() { id } else { known });
    }
    if let Some(id) = what.strip_prefix('#') {
        return format!("#{}", if label.is_empty() { id } else { label });
    }
    if let Some(special) = what.strip_prefix('!') {
        let name = special.split('^').next().unwrap_or(special);
        return match label {
            "" => format!("@{name}"),
            label => label.to_owned(),
        };
    }
    let address = what.strip_prefix("mailto:").unwrap_or(what);
    match label {
        "" => what.to_owned(),
        label if label == address || what.ends_with(label) => label.to_owned(),
        label => format!("{label} ({what})"),
    }
}
