//! A text as words, in the one spelling that phrases are looked for in.
//!
//! Small letters; look-alikes of other scripts and wide forms as the Latin letters
//! that they stand for; nothing of what is not seen. A character of Chinese is a
//! word. What names a place (an address, a file of keys) is one word that says so.

use std::collections::HashMap;

use unicode_security::confusable_detection::skeleton;

use super::characters::is_unseen;

/// The word for an address of the web or of mail.
pub(super) const ADDRESS: &str = "@address";
/// The word for a file that holds keys or passwords.
pub(super) const KEYS: &str = "@keys";
/// The word for the end of a sentence.
pub(super) const STOP: &str = ".";

/// Files that hold keys or passwords, as they are written.
const KEY_FILES: &[&str] = &[
    ".ssh/",
    ".ssh",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    ".aws/credentials",
    ".aws/config",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".docker/config.json",
    ".kube/config",
    ".config/gcloud",
    "/etc/shadow",
    "/etc/passwd",
    ".gnupg",
    ".env",
    ".cursor/mcp.json",
    "claude_desktop_config.json",
    ".claude.json",
    ".bash_history",
    ".zsh_history",
    "wallet.dat",
    "login.keychain",
    "authorized_keys",
    "/proc/self/environ",
];

/// A word and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) at: usize,
    pub(super) end: usize,
}

pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut open: Option<Word> = None;
    let mut folds = HashMap::new();
    let mut letters = text.char_indices().peekable();
    let mut skip = 0;
    while let Some((i, c)) = letters.next() {
        if i < skip || is_unseen(c) && !c.is_control() {
            continue;
        }
        if let Some((name, length)) = place(&text[i..]).filter(|_| open.is_none()) {
            words.push(word(name, i, i + length));
            skip = i + length;
            continue;
        }
        let end = i + c.len_utf8();
        match fold(c, &mut folds) {
            Folded::Letter(letter) => {
                let open = open.get_or_insert_with(|| word("", i, end));
                open.text.push(letter);
                open.end = end;
            }
            Folded::Letters(letters) => {
                let open = open.get_or_insert_with(|| word("", i, end));
                open.text.push_str(&letters);
                open.end = end;
            }
            // `don't`, `user's`.
            Folded::Mark('\'') if open.is_some() => {}
            Folded::Ideograph => {
                words.extend(open.take());
                words.push(word(c.encode_utf8(&mut [0; 4]), i, end));
            }
            Folded::Mark(c) => {
                words.extend(open.take());
                let last = letters.peek().is_none_or(|n| n.1.is_whitespace());
                let stop = matches!(c, '.' | '!' | '?') && last || matches!(c, '。' | '！' | '？');
                if stop {
                    words.push(word(STOP, i, end));
                }
            }
        }
    }
    words.extend(open);
    words
}

fn word(text: &str, at: usize, end: usize) -> Word {
    Word {
        text: text.to_owned(),
        at,
        end,
    }
}

/// A place that begins here: its word, and its length in bytes.
fn place(text: &str) -> Option<(&'static str, usize)> {
    let first = text.chars().next()?;
    if !matches!(first, '.' | '~' | '/' | 'a'..='z' | 'A'..='Z') {
        return None;
    }
    let ends = |b: u8| !b.is_ascii_graphic() || b"\"'`<>(){},;".contains(&b);
    let length = text.bytes().position(ends).unwrap_or(text.len());
    let whole = text[..length].trim_end_matches(['.', ':', '!', '?']);
    if !whole.bytes().any(|b| b"./@_".contains(&b)) {
        return None;
    }
    let lower = whole.to_ascii_lowercase();
    if lower.starts_with("https://") || lower.starts_with("http://") {
        return Some((ADDRESS, whole.len()));
    }
    if let Some((name, host)) = lower.split_once('@') {
        let good = |s: &str| !s.is_empty() && !s.contains(['/', '@', '~']);
        return (good(name) && good(host) && host.contains('.')).then_some((ADDRESS, whole.len()));
    }
    let keys = KEY_FILES.iter().any(|file| {
        lower.match_indices(file).any(|(i, _)| {
            let before = lower[..i].chars().next_back();
            let after = lower[i + file.len()..].chars().next();
            let begins = file.starts_with('/') && i == 0
                || !file.starts_with('/') && before.is_none_or(|c| "/~\\$%".contains(c));
            begins && (file.ends_with('/') || after.is_none_or(|c| "/.*\\".contains(c)))
        })
    });
    keys.then_some((KEYS, whole.len()))
}

enum Folded {
    Letter(char),
    Letters(String),
    Ideograph,
    Mark(char),
}

fn fold(c: char, folds: &mut HashMap<char, Option<String>>) -> Folded {
    match c {
        'a'..='z' | '0'..='9' => Folded::Letter(c),
        'A'..='Z' => Folded::Letter(c.to_ascii_lowercase()),
        '’' | '‘' | 'ʼ' => Folded::Mark('\''),
        '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}' => Folded::Ideograph,
        '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' => {
            let latin = char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c);
            Folded::Letter(latin.to_ascii_lowercase())
        }
        c if c.is_alphabetic() => {
            let folded = folds.entry(c).or_insert_with(|| {
                // A capital can look like another letter than its small form.
                let small: String = c.to_lowercase().collect();
                let like: String = skeleton(&small).collect();
                let latin = !like.is_empty() && like.chars().all(|c| c.is_ascii_alphabetic());
                latin.then(|| like.to_ascii_lowercase())
            });
            let same = || c.to_lowercase().collect();
            Folded::Letters(folded.clone().unwrap_or_else(same))
        }
        c => Folded::Mark(c),
    }
}
