//! Characters that take no room, or make others stand where they do not.
//!
//! Some have honest work: joiners in emoji and in scripts that bind their letters,
//! marks of direction beside Hebrew and Arabic, one selector after an emoji, the
//! tags of a regional flag. Those stay unremarked there, and only there.

use super::{Kind, MOST, Suspicion, mark};
use crate::lint::is_hidden;

/// Whether a text has nothing of the kind, which is the rule.
pub(super) fn is_plain(text: &str) -> bool {
    let plain = |b: u8| (b' '..0x7f).contains(&b) || matches!(b, b'\n' | b'\r' | b'\t');
    let seen = text.bytes().all(plain) || !text.chars().any(is_unseen);
    seen && !text.contains("<!--") && longest_blank(text) < FAR
}

/// Every character that a person does not see.
pub(super) fn is_unseen(c: char) -> bool {
    is_hidden(c)
        || matches!(c, '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{2028}' | '\u{2029}' | '\u{2800}'
            | '\u{3164}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}')
        || is_selector(c)
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn is_turn(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// What stands in emoji: symbols, skin tones, keycaps.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{1f000}'..='\u{1faff}' | '\u{2190}'..='\u{2bff}' | '\u{3030}' | '\u{303d}'
        | '\u{3297}' | '\u{3299}' | '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}'
        | '\u{2139}' | '\u{20e3}' | '0'..='9' | '#' | '*' | '\u{fe0f}')
}

/// Letters whose scripts are written from the right.
fn is_rightward(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Letters of scripts in which joiners are spelling: Arabic, Indic, Mongolian.
fn is_joined(c: char) -> bool {
    is_rightward(c) || matches!(c, '\u{900}'..='\u{109f}' | '\u{1780}'..='\u{18af}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// How many blanks in a row push what follows out of sight.
const FAR: usize = 80;

/// The most white space in a row that something follows, in characters; a line end
/// counts for several.
fn longest_blank(text: &str) -> usize {
    let (mut longest, mut now) = (0, 0);
    for c in text.trim_end().chars() {
        now = match c {
            '\n' => now + 8,
            c if c.is_whitespace() => now + 1,
            _ => 0,
        };
        longest = longest.max(now);
    }
    longest
}

pub(super) fn find(text: &str, found: &mut Vec<Suspicion>) {
    runs(text, found);
    out_of_sight(text, found);
}

/// One mark for each run of characters that are not seen.
fn runs(text: &str, found: &mut Vec<Suspicion>) {
    let letters: Vec<(usize, char)> = text.char_indices().collect();
    let mut i = 0;
    while i < letters.len() && found.len() < MOST {
        if !is_unseen(letters[i].1) {
            i += 1;
            continue;
        }
        let length = letters[i..].iter().take_while(|l| is_unseen(l.1)).count();
        let run: Vec<char> = letters[i..i + length].iter().map(|l| l.1).collect();
        let before = i.checked_sub(1).map(|b| letters[b].1);
        let after = letters.get(i + length).map(|l| l.1);
        // A mark of byte order at the very start is an editor's.
        let editors = i == 0 && run == ['\u{feff}'];
        if !editors && !is_honest(before, &run, after) {
            let end = letters.get(i + length).map_or(text.len(), |l| l.0);
            let mut suspicion = mark(text, letters[i].0, end, kind(&run));
            if let Some(says) = spelled(&run) {
                suspicion.excerpt = format!("{}: {says}", suspicion.excerpt);
            }
            found.push(suspicion);
        }
        i += length;
    }
}

fn kind(run: &[char]) -> Kind {
    let selectors = run.iter().filter(|c| is_selector(**c)).count();
    match () {
        () if run.iter().any(|c| is_tag(*c)) || selectors > 1 => Kind::Smuggled,
        () if run.iter().any(|c| is_turn(*c)) => Kind::Bidi,
        () if run.iter().all(|c| c.is_control()) => Kind::Control,
        () => Kind::Invisible,
    }
}

fn is_honest(before: Option<char>, run: &[char], after: Option<char>) -> bool {
    let near = |is: fn(char) -> bool| before.is_some_and(is) && after.is_some_and(is);
    let beside = |is: fn(char) -> bool| before.is_some_and(is) || after.is_some_and(is);
    match run {
        ['\u{200d}'] | ['\u{fe0f}', '\u{200d}'] if near(is_emoji) => true,
        ['\u{200c}' | '\u{200d}'] => before.is_some_and(is_joined),
        [c] if is_direction_mark(*c) => beside(is_rightward),
        ['\u{fe0e}' | '\u{fe0f}'] => before.is_some_and(is_emoji),
        [c] if is_selector(*c) => before.is_some_and(is_ideograph),
        // Wales, Scotland, England: a black flag, some letters, the end of tags.
        [tags @ .., '\u{e007f}'] if before == Some('\u{1f3f4}') => {
            tags.len() <= 6 && tags.iter().all(|c| is_tag(*c))
        }
        // Line ends of Unicode: odd, and seen as what they are.
        ['\u{2028}' | '\u{2029}'] => true,
        _ => false,
    }
}

/// What tags or selectors spell, if it is text.
fn spelled(run: &[char]) -> Option<String> {
    let says: String = run
        .iter()
        .filter_map(|c| match u32::from(*c) {
            tag @ 0xe0020..=0xe007e => char::from_u32(tag - 0xe0000),
            byte @ 0xe0100..=0xe01ef => char::from_u32(byte - 0xe0100 + 16),
            _ => None,
        })
        .filter(|c| !c.is_control())
        .take(60)
        .collect();
    (says.trim().len() > 2).then_some(says)
}

fn out_of_sight(text: &str, found: &mut Vec<Suspicion>) {
    if let Some(at) = text.find("<!--") {
        let end = text[at..].find("-->").map_or(text.len(), |e| at + e + 3);
        found.push(Suspicion {
            at,
            ..mark(&text[at..end], 0, end - at, Kind::OutOfSight)
        });
    }
    let mut blank: Option<(usize, usize)> = None;
    for (i, c) in text.trim_end().char_indices() {
        if c.is_whitespace() {
            let (start, room) = blank.unwrap_or((i, 0));
            blank = Some((start, room + if c == '\n' { 8 } else { 1 }));
            continue;
        }
        if blank.take().is_some_and(|(_, room)| room >= FAR) {
            let rest = &text[i..];
            found.push(Suspicion {
                at: i,
                ..mark(rest, 0, rest.len(), Kind::OutOfSight)
            });
            break;
        }
    }
}
