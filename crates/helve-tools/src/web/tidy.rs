//! A text as it is given to a model: without what nobody sees, and without empty lines in a row.

/// Takes out characters that take no room and hide words from people, and puts lines in order.
pub(super) fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = 0;
    for line in text.lines() {
        let seen: String = seen(line);
        let line = seen.trim_end();
        if line.trim().is_empty() {
            blank += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if blank > 0 { "\n\n" } else { "\n" });
        }
        blank = 0;
        out.push_str(line);
    }
    out
}

fn seen(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut before = ' ';
    for c in line.chars().filter(|c| !is_unseen(*c)) {
        // Joiners have honest work, one at a time between letters.
        let joiner = is_joiner(c);
        if joiner && (before.is_ascii() || is_joiner(before)) {
            continue;
        }
        before = c;
        out.push(c);
    }
    out
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_unseen(c: char) -> bool {
    match c {
        '\t' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' => {
            true
        }
        '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}

/// How many characters of a text can be seen.
pub(super) fn weight(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_taken_out() {
        for (text, wanted) in [
            ("a\u{200b}b\u{feff}c\u{2060}", "abc"),
            ("a\u{202e}b\u{e0041}\u{e0042}", "ab"),
            ("a\u{200d}\u{200c}\u{200d}b", "ab"),
            (
                "👩\u{200d}💻 می\u{200c}خواهم",
                "👩\u{200d}💻 می\u{200c}خواهم",
            ),
            ("\n\na\n\n\n\nb\nc  \n", "a\n\nb\nc"),
            ("a\0b\tc", "ab\tc"),
        ] {
            assert_eq!(tidy(text), wanted, "{text:?}");
        }
    }
}
