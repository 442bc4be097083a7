//! `robots.txt`: which pages a site does not want programs to fetch (RFC 9309).
//!
//! The group of our name counts, and that of `*` where there is none. Of all rules that match,
//! the longest wins, and of two of one length the one that allows.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use helve_http::{HOPS, Outgoing, Step, Web};
use reqwest::Url;
use tokio::time::{Instant, timeout_at};

/// How long an answer is believed.
const KEPT: Duration = Duration::from_secs(3600);

/// How many sites are remembered.
const SITES: usize = 500;

/// The most of the file that is read; what follows does not count.
const MOST: u64 = 500 * 1024;

/// What sites have said.
#[derive(Debug, Default)]
pub(super) struct Robots(Mutex<HashMap<String, (Instant, Rules)>>);

/// What a site says to us.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Rules {
    /// Whether each pattern allows, or forbids.
    rules: Vec<(bool, String)>,
}

impl Robots {
    /// Whether a page may be fetched, or why nobody knows.
    pub(super) async fn allow(
        &self,
        web: &Web,
        agent: &str,
        url: &Url,
        until: Instant,
    ) -> Result<bool, String> {
        let site = url.origin().ascii_serialization();
        if url.path() == "/robots.txt" {
            return Ok(true);
        }
        let rules = match self.kept(&site) {
            Some(rules) => rules,
            None => {
                let rules = asked(web, agent, url, until).await?;
                self.keep(site, rules.clone());
                rules
            }
        };
        Ok(rules.allow(url))
    }

    fn kept(&self, site: &str) -> Option<Rules> {
        let kept = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let (since, rules) = kept.get(site)?;
        (since.elapsed() < KEPT).then(|| rules.clone())
    }

    fn keep(&self, site: String, rules: Rules) {
        let mut kept = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if kept.len() >= SITES {
            kept.clear();
        }
        kept.insert(site, (Instant::now(), rules));
    }
}

async fn asked(web: &Web, agent: &str, url: &Url, until: Instant) -> Result<Rules, String> {
    let mut outgoing = Outgoing::get(url.clone(), MOST);
    outgoing.url.set_path("/robots.txt");
    outgoing.url.set_query(None);
    outgoing.url.set_fragment(None);
    for _ in 0..=HOPS {
        let step = timeout_at(until, web.step(&outgoing)).await;
        let step = step.map_err(|_| "it does not answer in time".to_owned())?;
        match step.map_err(|e| e.to_string())? {
            Step::SentOn(next) => outgoing = next,
            Step::Answer(answer) => {
                return match answer.status().as_u16() {
                    200..=299 => {
                        let part = answer.part(MOST, until).await;
                        Ok(Rules::read(
                            &String::from_utf8_lossy(&part.fetched.body),
                            agent,
                        ))
                    }
                    // A site without the file says nothing against it; one in trouble may.
                    300..=499 => Ok(Rules::default()),
                    status => Err(format!("the server answered {status}")),
                };
            }
        }
    }
    Err("it is sent on too often".to_owned())
}

impl Rules {
    /// Reads a file for the product that an agent names first: `helve` of `helve/1.0`.
    pub(super) fn read(text: &str, agent: &str) -> Self {
        let product = agent
            .split(['/', ' '])
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let (mut ours, mut anyones) = (None::<Vec<_>>, Vec::new());
        // Lines that name agents stand together; a rule ends them.
        let (mut named, mut any, mut naming) = (false, false, false);
        for line in text.trim_start_matches('\u{feff}').lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            let allows = match key.as_str() {
                "user-agent" => {
                    if !naming {
                        (named, any, naming) = (false, false, true);
                    }
                    any |= value == "*";
                    let name = value.split(['/', ' ']).next().unwrap_or_default();
                    if !product.is_empty() && name.eq_ignore_ascii_case(&product) {
                        named = true;
                        ours.get_or_insert_default();
                    }
                    continue;
                }
                "allow" => true,
                "disallow" => false,
                _ => continue,
            };
            naming = false;
            // An empty rule forbids nothing.
            if value.is_empty() {
                continue;
            }
            let rule = (allows, plain(value));
            if named {
                ours.get_or_insert_default().push(rule.clone());
            }
            if any {
                anyones.push(rule);
            }
        }
        Self {
            rules: ours.unwrap_or(anyones),
        }
    }

    /// Whether a page may be fetched.
    pub(super) fn allow(&self, url: &Url) -> bool {
        let mut path = url.path().to_owned();
        if let Some(query) = url.query() {
            path.push('?');
            path.push_str(query);
        }
        let path = plain(&path);
        let matching = self
            .rules
            .iter()
            .filter(|(_, pattern)| matches(pattern, &path));
        let longest = matching.max_by_key(|(allows, pattern)| (pattern.len(), *allows));
        longest.is_none_or(|(allows, _)| *allows)
    }
}

/// One spelling for what can be written in several: `%7e` is `~`, and `ü` is `%C3%BC`.
fn plain(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut out = String::with_capacity(path.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = path.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let read = code.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let byte = read.unwrap_or(bytes[at]);
        let kept = match read {
            Some(byte) => byte.is_ascii_alphanumeric() || b"-._~".contains(&byte),
            None => byte.is_ascii(),
        };
        match kept {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
        at += if read.is_some() { 3 } else { 1 };
    }
    out
}

/// Whether a path begins as a pattern says: `*` stands for anything, `$` for the end.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return !whole || rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    match whole {
        true => rest.ends_with(last),
        false => rest.contains(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(text: &str, path: &str) -> bool {
        let url = Url::parse(&format!("https://a.example{path}")).unwrap();
        Rules::read(text, "helve/0.1").allow(&url)
    }

    #[test]
    fn the_longest_rule_of_the_right_group_wins() {
        let groups = "User-agent: other\nDisallow: /\n\nUser-Agent: *\nDisallow: /all\n\n\
                      user-agent: x\nuser-agent: HELVE\nDisallow: /ours # why\nAllow: /ours/but\n";
        let both = "user-agent: *\nallow: /page\ndisallow: /page\ndisallow: /*.gif$\n\
                    disallow: /a*b*c\ndisallow: /?q=\ndisallow: /%7Ejoe\ndisallow: /é\n";
        for (text, path, good) in [
            (groups, "/all", true),
            (groups, "/ours/x", false),
            (groups, "/ours/but/x", true),
            (groups, "/", true),
            (both, "/page", true),
            (both, "/x/y.gif", false),
            (both, "/x/y.gif?z", true),
            (both, "/aXbYcZ", false),
            (both, "/aXcYb", true),
            (both, "/?q=1", false),
            (both, "/~joe/x", false),
            (both, "/%c3%a9", false),
            ("", "/x", true),
            ("disallow: /", "/x", true),
            ("user-agent: *\ndisallow:", "/x", true),
            ("user-agent: *\ndisallow: /", "/x", false),
            (
                "user-agent: helve\n\nuser-agent: *\ndisallow: /",
                "/x",
                false,
            ),
            (
                "user-agent: helve\ndisallow:\nuser-agent: *\ndisallow: /",
                "/x",
                true,
            ),
            ("<html>not a file</html>", "/x", true),
        ] {
            assert_eq!(allows(text, path), good, "{text:?} {path}");
        }
    }

    #[test]
    fn many_stars_do_not_take_long() {
        let text = format!("user-agent: *\ndisallow: /{}x", "a*".repeat(5_000));
        assert!(allows(&text, &format!("/{}", "a".repeat(8_000))));
    }
}
