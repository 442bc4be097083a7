//! Words that stand for a text which somebody left out.
//!
//! Models write "... rest of the file unchanged ..." where the rest should be, and a file
//! is gone. A line counts that has an ellipsis at one of its ends and says that something
//! was left out; in prose that merely speaks of it there is no such line.

/// What is said of what was left out.
const WORDS: &[&str] = &[
    "rest of",
    "remaining",
    "remainder",
    "unchanged",
    "existing code",
    "existing content",
    "existing implementation",
    "existing methods",
    "existing functions",
    "existing imports",
    "same as before",
    "stays the same",
    "remains the same",
    "remain the same",
    "previous code",
    "previous content",
    "omitted",
    "truncated",
    "content continues",
    "code continues",
    "keep the rest",
    "省略",
    "其余",
    "保持不变",
    "不变",
];

/// What comments begin and end with.
const COMMENT: &[char] = &[
    '/', '#', '*', '<', '!', '-', '>', ';', '%', '{', '}', '(', ')', '[', ']', '"', '\'', ' ', '\t',
];

/// The first line that stands for something left out: its number and its text.
pub(super) fn placeholder(text: &str) -> Option<(usize, &str)> {
    let mut lines = text.lines().enumerate();
    let found = lines.find(|(_, line)| is_placeholder(line))?;
    Some((found.0 + 1, found.1.trim()))
}

fn is_placeholder(line: &str) -> bool {
    if line.len() > 200 {
        return false;
    }
    let bare = line.trim_matches(COMMENT);
    let dots = ["...", "…"];
    let at_an_end = dots
        .iter()
        .any(|d| bare.starts_with(d) || bare.ends_with(d));
    let lower = bare.to_lowercase();
    at_an_end && WORDS.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_is_found_and_nothing_else() {
        for line in [
            "// ... rest of the file unchanged ...",
            "# ... existing code ...",
            "/* … remaining methods stay as they are … */",
            "<!-- ... rest of the page ... -->",
            "    ... (unchanged)",
            "[... content truncated ...]",
            "...rest of code...",
            "-- ... omitted for brevity",
            "// ... 其余代码保持不变 ...",
        ] {
            assert_eq!(placeholder(line), Some((1, line.trim())), "{line}");
        }
        for line in [
            "the rest of the file is unchanged",
            "let rest = [...items];",
            "print('loading...')",
            "...",
            "def f(*args): ...",
            "an ellipsis (...) says that the remaining part was omitted here.",
            "const { a, ...rest } = props",
        ] {
            assert_eq!(placeholder(line), None, "{line}");
        }
        assert_eq!(
            placeholder("a\n\n// ... unchanged\n"),
            Some((3, "// ... unchanged"))
        );
    }
}
