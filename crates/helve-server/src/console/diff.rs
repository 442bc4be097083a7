//! What a run changed, or would change: file by file, line by line.

use std::ops::Range;
use std::path::Path;

use maud::{Markup, html};
use serde_json::Value;

use super::text::{Colour, LONGEST_LINE, Painter, clip, coloured, json, line, shown};
use super::words::Word;
use super::{Params, Visit};

/// How a diff is laid out, and how much of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) sides: Sides,
    /// The most lines.
    pub(super) most: usize,
    /// Only this file, from this line on.
    pub(super) only: Option<(usize, usize)>,
}

/// How before and after stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sides {
    Unified,
    Split,
}

impl Sides {
    pub(super) fn of(params: &Params) -> Self {
        match params.get("view") {
            Some("split") => Sides::Split,
            _ => Sides::Unified,
        }
    }
}

/// What a diff is of, and where more of it is found.
pub(super) struct Shown<'s> {
    pub(super) run: &'s str,
    pub(super) root: &'s Path,
    pub(super) painter: Option<&'s dyn Painter>,
    /// Where the same page is with another layout.
    pub(super) here: String,
}

/// A line as it is drawn.
struct Drawn<'d> {
    sign: &'d str,
    text: String,
    before: Option<u64>,
    after: Option<u64>,
    /// The painted text that it is out of, and where in it.
    painted: (Side, usize),
    /// Whether a line's end is there.
    ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// The whole diff, out of its form for programs.
pub(super) fn diff(visit: &Visit, of: &Shown<'_>, value: &Value, shape: Shape) -> Markup {
    let none = Vec::new();
    let changes = value["changes"].as_array().unwrap_or(&none);
    let mut left = shape.most;
    let given_up: Vec<&str> = changes
        .iter()
        .filter_map(|change| change["renamed_from"].as_str())
        .collect();
    // The new name of a file tells of the old one as well.
    let told = |change: &Value| {
        let path = change["path"].as_str().unwrap_or_default();
        change["kind"] == "deleted" && given_up.contains(&path)
    };
    let wanted = |i: usize| match shape.only {
        Some((only, _)) => only == i,
        None => changes.get(i).is_some_and(|change| !told(change)),
    };
    html! {
        div.diff data-sides=[(shape.sides == Sides::Split).then_some("split")] {
            p.views {
                (totals(&value["totals"]))
                @for (sides, word, name) in [(Sides::Unified, Word::Unified, "unified"), (Sides::Split, Word::Split, "split")] {
                    a.view data-view=(name) href={ (of.here) "view=" (name) }
                        aria-current=[(shape.sides == sides).then_some("true")] { (visit.t(word)) }
                }
            }
            @for (i, change) in changes.iter().enumerate().filter(|(i, _)| wanted(*i)) {
                (file(visit, of, change, i, shape, &mut left))
            }
            @for record in value["records"].as_array().into_iter().flatten() {
                (row(visit, record))
            }
        }
    }
}

/// A diff that is text already, with its lines told apart.
pub(super) fn plain(visit: &Visit, text: &str, most: usize) -> Markup {
    let sign = |line: &str| match line.as_bytes().first() {
        _ if ["+++ ", "--- ", "@@ ", "diff "]
            .iter()
            .any(|head| line.starts_with(head)) =>
        {
            "head"
        }
        Some(b'+') => "added",
        Some(b'-') => "removed",
        _ => "same",
    };
    let left = text.lines().count().saturating_sub(most);
    html! {
        div.diff {
            div.scroll tabindex="0" role="region" aria-label=(visit.t(Word::Changes)) {
                table { tbody {
                    @for line in text.lines().take(most) {
                        tr data-sign=(sign(line)) { td.code { (shown(visit, line, LONGEST_LINE)) } }
                    }
                } }
            }
            @if left > 0 { p.hint { "+" (left) " " (visit.t(Word::LeftOut)) } }
        }
    }
}

/// The lines of two texts that differ.
pub(super) fn of_texts(visit: &Visit, before: &str, after: &str) -> Markup {
    let lines = helve_kernel::helve_changes::diff::of_texts(before, after, 3);
    let text: String = lines
        .into_iter()
        .map(|(sign, line)| format!("{sign}{line}"))
        .collect();
    plain(visit, &text, 2_000)
}

fn totals(totals: &Value) -> Markup {
    let parts = ["created", "changed", "renamed", "deleted"];
    html! {
        span.totals {
            @for part in parts {
                @if let Some(n) = totals[part].as_u64().filter(|n| *n > 0) { (n) " " (part) " " }
            }
        }
    }
}

fn file(
    visit: &Visit,
    of: &Shown<'_>,
    change: &Value,
    number: usize,
    shape: Shape,
    left: &mut usize,
) -> Markup {
    let name = |key: &str| {
        let path = Path::new(change[key].as_str().unwrap_or_default());
        let path = path.strip_prefix(of.root).unwrap_or(path);
        path.to_string_lossy().into_owned()
    };
    let path = name("path");
    let from = shape.only.map_or(0, |(_, from)| from);
    let all = change["hunks"].as_array().map_or(0, |hunks| {
        let lines = hunks
            .iter()
            .map(|h| h["lines"].as_array().map_or(0, Vec::len));
        lines.sum()
    });
    let budget = (*left).min(all.saturating_sub(from));
    *left -= budget;
    let rest = all.saturating_sub(from + budget);
    let kinds = change["kinds"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    html! {
        section data-file=(path) {
            h3 {
                @if change.get("renamed_from").is_some_and(Value::is_string) {
                    (line(&name("renamed_from"))) " → "
                }
                (line(&path))
                @for kind in kinds { " " span.kind { (kind) } }
                (modes(change))
                @if change["binary"] == true { " " span.kind { (visit.t(Word::Binary)) (sizes(change)) } }
            }
            @if let Some(why) = change["left_out"].as_str() {
                p.hint { (visit.t(Word::LeftOut)) ": " (why) (sizes(change)) }
            }
            @if budget > 0 {
                div.scroll tabindex="0" role="region" aria-label=(path) {
                    table { tbody { (hunks(of, change, &path, shape.sides, from..from + budget)) } }
                }
            }
            @if rest > 0 {
                p.more {
                    a data-more="" href={ "/console/runs/" (of.run) "/diff?file=" (number) "&from=" (from + budget)
                        @if shape.sides == Sides::Split { "&view=split" } } {
                        (visit.t(Word::ShowRest)) " (" (rest) ")"
                    }
                }
            }
        }
    }
}

/// Permission bits, where they are not what they were.
fn modes(change: &Value) -> Markup {
    let mode = |side: &str| {
        let state = change[side].as_object().and_then(|s| s.values().next())?;
        let mode = state.get("meta").unwrap_or(state).get("mode")?;
        let bits = mode.as_u64()?;
        Some(format!("{:04o}", bits & 0o7777))
    };
    match (mode("before"), mode("after")) {
        (Some(before), Some(after)) if before != after => {
            html! { " " span.kind { "mode " (before) " → " (after) } }
        }
        (None, Some(after)) => html! { " " span.kind.quiet { (after) } },
        _ => html! {},
    }
}

fn sizes(change: &Value) -> Markup {
    let size = |side: &str| change[side]["file"]["size"].as_u64();
    match (size("before"), size("after")) {
        (Some(before), Some(after)) => html! { " " (before) " → " (after) " bytes" },
        (None, Some(size)) | (Some(size), None) => html! { " " (size) " bytes" },
        _ => html! {},
    }
}

fn hunks(of: &Shown<'_>, change: &Value, path: &str, sides: Sides, wanted: Range<usize>) -> Markup {
    let mut at = 0;
    html! {
        @for hunk in change["hunks"].as_array().into_iter().flatten() {
            @let count = hunk["lines"].as_array().map_or(0, Vec::len);
            @let range = at..at + count;
            @let inside = range.start.max(wanted.start)..range.end.min(wanted.end);
            @if { at = range.end; inside.start < inside.end } {
                (lines(of, hunk, path, sides, inside.start - range.start..inside.end - range.start))
            }
        }
    }
}

/// The lines of a hunk within a range of it.
fn lines(of: &Shown<'_>, hunk: &Value, path: &str, sides: Sides, wanted: Range<usize>) -> Markup {
    let number = |side: &str, i: usize| hunk[side][i].as_u64().unwrap_or_default();
    let (mut before, mut after) = (number("before", 0), number("after", 0));
    let mut texts = [String::new(), String::new()];
    let mut drawn = Vec::with_capacity(wanted.len());
    for (i, value) in hunk["lines"].as_array().into_iter().flatten().enumerate() {
        let sign = value["sign"].as_str().unwrap_or("same");
        let (old, new) = match sign {
            "added" => (None, Some(after)),
            "removed" => (Some(before), None),
            _ => (Some(before), Some(after)),
        };
        before += u64::from(old.is_some());
        after += u64::from(new.is_some());
        if !wanted.contains(&i) {
            continue;
        }
        let raw = text_of(&value["text"]);
        let ended = raw.ends_with('\n');
        let text = raw.strip_suffix('\n').unwrap_or(&raw).to_owned();
        let mut painted = (Side::After, texts[1].len());
        if old.is_some() {
            painted = (Side::Before, texts[0].len());
            texts[0].push_str(&text);
            texts[0].push('\n');
        }
        if new.is_some() {
            painted = (Side::After, texts[1].len());
            texts[1].push_str(&text);
            texts[1].push('\n');
        }
        drawn.push(Drawn {
            sign,
            text,
            before: old,
            after: new,
            painted,
            ended,
        });
    }
    let paint = |text: &str| of.painter.map(|p| p.paint(path, text)).unwrap_or_default();
    let pieces = [paint(&texts[0]), paint(&texts[1])];
    let first = (wanted.start == 0).then(|| {
        format!(
            "@@ -{},{} +{},{} @@",
            number("before", 0),
            number("before", 1),
            number("after", 0),
            number("after", 1)
        )
    });
    html! {
        @if let Some(first) = first {
            tr.hunk { td colspan="4" { (first) } }
        }
        @match sides {
            Sides::Unified => @for line in &drawn { (unified(line, &pieces)) },
            Sides::Split => @for (left, right) in pairs(&drawn) { (split(left, right, &pieces)) },
        }
    }
}

/// A line's text; one that is no UTF-8 with its bytes written out.
fn text_of(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => {
            let hex = value["hex"].as_str().unwrap_or_default();
            let bytes = crate::paths::bytes(hex).unwrap_or_default();
            let mut text = String::new();
            for chunk in bytes.utf8_chunks() {
                text.push_str(chunk.valid());
                text.extend(chunk.invalid().iter().map(|b| format!("\\x{b:02x}")));
            }
            text
        }
    }
}

type Pieces = [Vec<(Range<usize>, Colour)>; 2];

fn code(line: &Drawn<'_>, pieces: &Pieces) -> Markup {
    let (side, at) = line.painted;
    let (start, cut) = clip(&line.text, LONGEST_LINE);
    html! {
        (coloured(start, at, &pieces[usize::from(side == Side::After)]))
        @if cut > 0 { span.cut { " … +" (cut) } }
        @if !line.ended { span.cut title="no line end" { " ⏎̸" } }
    }
}

fn unified(line: &Drawn<'_>, pieces: &Pieces) -> Markup {
    let sign = match line.sign {
        "added" => "+",
        "removed" => "-",
        _ => " ",
    };
    html! {
        tr data-sign=(line.sign) {
            td.n { @if let Some(n) = line.before { (n) } }
            td.n { @if let Some(n) = line.after { (n) } }
            td.sign { (sign) }
            td.code { (code(line, pieces)) }
        }
    }
}

type Pair<'p, 'd> = (Option<&'p Drawn<'d>>, Option<&'p Drawn<'d>>);

/// Lines side by side: of a block that was replaced, the first beside the first.
fn pairs<'p, 'd>(lines: &'p [Drawn<'d>]) -> Vec<Pair<'p, 'd>> {
    let mut pairs = Vec::with_capacity(lines.len());
    let mut rest = lines;
    while let Some(line) = rest.first() {
        if line.sign == "same" {
            pairs.push((Some(line), Some(line)));
            rest = &rest[1..];
            continue;
        }
        let old = rest.iter().take_while(|l| l.sign == "removed").count();
        let new = rest[old..].iter().take_while(|l| l.sign == "added").count();
        let (olds, others) = rest.split_at(old);
        let (news, others) = others.split_at(new);
        pairs.extend((0..old.max(new)).map(|i| (olds.get(i), news.get(i))));
        rest = others;
    }
    pairs
}

fn split(left: Option<&Drawn<'_>>, right: Option<&Drawn<'_>>, pieces: &Pieces) -> Markup {
    let sign = |line: Option<&Drawn<'_>>| {
        line.map_or("none", |l| match l.sign {
            "added" => "added",
            "removed" => "removed",
            _ => "same",
        })
    };
    html! {
        tr {
            td.n { @if let Some(n) = left.and_then(|l| l.before) { (n) } }
            td.code data-side="before" data-sign=(sign(left)) { @if let Some(l) = left { (code(l, pieces)) } }
            td.n { @if let Some(n) = right.and_then(|l| l.after) { (n) } }
            td.code data-side="after" data-sign=(sign(right)) { @if let Some(l) = right { (code(l, pieces)) } }
        }
    }
}

/// A record of a database or of the hub, before and after.
fn row(visit: &Visit, record: &Value) -> Markup {
    let place = format!(
        "{} · {}",
        record["collection"].as_str().unwrap_or_default(),
        record["key"].as_str().unwrap_or_default()
    );
    html! {
        section data-file=(place) {
            h3 { (line(&place)) }
            div.sides {
                @for (side, word, sign) in [("before", Word::Before, "removed"), ("after", Word::After, "added")] {
                    div data-sign=(sign) {
                        span.kind { (visit.t(word)) }
                        @match record[side].get(0) {
                            Some(value) => pre { (json(visit, value)) },
                            None => p.hint { (visit.t(Word::Nothing)) },
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_block_stands_side_by_side() {
        let line = |sign, text: &str| Drawn {
            sign,
            text: text.to_owned(),
            before: None,
            after: None,
            painted: (Side::After, 0),
            ended: true,
        };
        let lines = [
            line("same", "a"),
            line("removed", "b"),
            line("removed", "c"),
            line("added", "d"),
            line("same", "e"),
            line("added", "f"),
            line("removed", "g"),
        ];
        let name = |l: Option<&Drawn<'_>>| l.map_or("-", |l| l.text.as_str()).to_owned();
        let pairs: Vec<String> = pairs(&lines)
            .into_iter()
            .map(|(l, r)| name(l) + &name(r))
            .collect();
        assert_eq!(pairs, ["aa", "bd", "c-", "ee", "-f", "g-"]);
    }

    #[test]
    fn permissions_are_told_where_they_change() {
        let state = |mode: u32| serde_json::json!({"file": {"size": 1, "meta": {"mode": mode}}});
        for (before, after, wanted) in [
            (state(0o644), state(0o755), "mode 0644 → 0755"),
            (serde_json::json!("absent"), state(0o600), "0600"),
            (state(0o644), state(0o644), ""),
            (state(0o644), serde_json::json!("absent"), ""),
        ] {
            let change = serde_json::json!({"before": before, "after": after});
            let shown = modes(&change).into_string();
            let text = shown.split('>').nth(1).unwrap_or_default();
            assert_eq!(text.split('<').next(), Some(wanted), "{shown}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_written_out() {
        let value = serde_json::json!({"hex": "61ff0a"});
        assert_eq!(text_of(&value), "a\\xff\n");
    }
}
