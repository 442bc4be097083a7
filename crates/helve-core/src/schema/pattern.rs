//! Whether a pattern can take exponential time in an engine that backtracks.
//!
//! Helve itself matches in linear time, but definitions travel: to clients, to
//! vendors, to other hubs, and their engines backtrack. The test is exact for
//! what it models. The pattern becomes a position automaton in which edges keep
//! their multiplicity; matching explodes if and only if some state can return to
//! itself by two different ways that read the same text.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use regex_syntax::ast::{Ast, GroupKind, RepetitionKind, RepetitionRange, parse::Parser};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange, HirKind};

/// Past this many positions only the shape is looked at.
const MAX_POSITIONS: usize = 300;

/// A bounded repetition up to this is written out; a larger one counts as a loop.
const MAX_COPIES: u32 = 8;

/// `Err` where the pattern is none, or needs look-around or back-references.
pub fn explodes(pattern: &str) -> Result<bool, String> {
    let ast = Parser::new()
        .parse(pattern)
        .map_err(|e| e.kind().to_string())?;
    // A loop over one class reads a text in one way; only a repeated group can do it in two.
    let repeats_group = pattern
        .match_indices(')')
        .any(|(at, _)| pattern[at + 1..].starts_with(['*', '+', '{', '?']));
    // Over a class a second operator makes a group of the first: `a**`.
    let doubled = ["**", "++", "*+", "+*", "}*", "}+", "}{", "*{", "+{"];
    // Flags may let white space stand before an operator.
    let flagged = pattern
        .match_indices("(?")
        .any(|(at, _)| !pattern[at + 2..].starts_with([':', '<', 'P']));
    if !repeats_group && !flagged && !doubled.iter().any(|d| pattern.contains(d)) {
        return Ok(false);
    }
    let mut automaton = Automaton {
        pattern,
        classes: Vec::new(),
        read: HashMap::new(),
        edges: HashMap::new(),
    };
    if automaton.build(&ast).is_none() {
        return Ok(nested_loop(&ast, false));
    }
    Ok(automaton.is_exponentially_ambiguous())
}

/// For patterns too long to check: a loop inside a loop is refused.
fn nested_loop(ast: &Ast, inside: bool) -> bool {
    match ast {
        Ast::Repetition(r) => {
            let looping = is_loop(&r.op.kind);
            (looping && inside) || nested_loop(&r.ast, inside || looping)
        }
        Ast::Group(g) => nested_loop(&g.ast, inside),
        Ast::Alternation(a) => a.asts.iter().any(|a| nested_loop(a, inside)),
        Ast::Concat(c) => c.asts.iter().any(|a| nested_loop(a, inside)),
        _ => false,
    }
}

fn is_loop(kind: &RepetitionKind) -> bool {
    let (least, most) = bounds(kind);
    most.is_none_or(|m| m > MAX_COPIES && m != least)
}

fn bounds(kind: &RepetitionKind) -> (u32, Option<u32>) {
    match kind {
        RepetitionKind::ZeroOrOne => (0, Some(1)),
        RepetitionKind::ZeroOrMore => (0, None),
        RepetitionKind::OneOrMore => (1, None),
        RepetitionKind::Range(RepetitionRange::Exactly(n)) => (*n, Some(*n)),
        RepetitionKind::Range(RepetitionRange::AtLeast(n)) => (*n, None),
        RepetitionKind::Range(RepetitionRange::Bounded(m, n)) => (*m, Some(*n)),
    }
}

struct Automaton<'p> {
    pattern: &'p str,
    /// What each position reads.
    classes: Vec<Rc<ClassUnicode>>,
    /// The same by its place in the pattern, of which there can be many copies.
    read: HashMap<usize, Rc<ClassUnicode>>,
    /// How many ways lead from one position straight to another.
    edges: HashMap<(usize, usize), u8>,
}

/// A part of the pattern: where it can begin and end.
struct Part {
    nullable: bool,
    first: Vec<usize>,
    last: Vec<usize>,
}

impl Part {
    fn empty() -> Self {
        Part {
            nullable: true,
            first: Vec::new(),
            last: Vec::new(),
        }
    }
}

impl Automaton<'_> {
    /// `None` where there are too many positions.
    fn build(&mut self, ast: &Ast) -> Option<Part> {
        Some(match ast {
            Ast::Empty(_) | Ast::Flags(_) | Ast::Assertion(_) => Part::empty(),
            Ast::Group(group) => {
                if matches!(group.kind, GroupKind::NonCapturing(_))
                    || self.classes.len() < MAX_POSITIONS
                {
                    return self.build(&group.ast);
                }
                return None;
            }
            Ast::Concat(concat) => {
                let mut whole = Part::empty();
                for ast in &concat.asts {
                    let next = self.build(ast)?;
                    whole = self.join(whole, next);
                }
                whole
            }
            Ast::Alternation(alternation) => {
                let mut whole = Part {
                    nullable: false,
                    ..Part::empty()
                };
                for ast in &alternation.asts {
                    let next = self.build(ast)?;
                    whole.nullable |= next.nullable;
                    whole.first.extend(next.first);
                    whole.last.extend(next.last);
                }
                whole
            }
            Ast::Repetition(repetition) => self.repeat(&repetition.ast, &repetition.op.kind)?,
            leaf => {
                if self.classes.len() >= MAX_POSITIONS {
                    return None;
                }
                let span = leaf.span();
                let source = &self.pattern[span.start.offset..span.end.offset];
                let position = self.classes.len();
                let class = self.read.entry(span.start.offset);
                self.classes.push(Rc::clone(
                    class.or_insert_with(|| Rc::new(class_of(source))),
                ));
                Part {
                    nullable: false,
                    first: vec![position],
                    last: vec![position],
                }
            }
        })
    }

    fn repeat(&mut self, ast: &Ast, kind: &RepetitionKind) -> Option<Part> {
        let (least, most) = bounds(kind);
        if is_loop(kind) {
            let mut part = self.build(ast)?;
            for &from in &part.last {
                for &to in &part.first {
                    self.connect(from, to);
                }
            }
            part.nullable |= least == 0;
            return Some(part);
        }
        // An exact count past the copies reads the same text in one way only.
        let copies = most.unwrap_or(1).min(MAX_COPIES);
        let mut whole = Part::empty();
        for copy in 0..copies {
            let before = self.classes.len();
            let mut next = self.build(ast)?;
            next.nullable |= copy >= least;
            whole = self.join(whole, next);
            // What reads nothing does so however often. Only positions are counted,
            // so copies of copies of nothing would have no end.
            if self.classes.len() == before {
                break;
            }
        }
        Some(whole)
    }

    fn join(&mut self, a: Part, b: Part) -> Part {
        for &from in &a.last {
            for &to in &b.first {
                self.connect(from, to);
            }
        }
        let mut first = a.first;
        if a.nullable {
            first.extend(&b.first);
        }
        let mut last = b.last;
        if b.nullable {
            last.extend(&a.last);
        }
        Part {
            nullable: a.nullable && b.nullable,
            first,
            last,
        }
    }

    fn connect(&mut self, from: usize, to: usize) {
        let ways = self.edges.entry((from, to)).or_insert(0);
        *ways = ways.saturating_add(1);
    }

    /// Two different ways from a state back to itself over the same text: a pair
    /// of states and the pair (q, q) lie on one cycle of the product automaton.
    fn is_exponentially_ambiguous(&self) -> bool {
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); self.classes.len()];
        for &(from, to) in self.edges.keys() {
            next[from].push(to);
        }
        let reach = reachable(&next);
        let doubled = self
            .edges
            .iter()
            .any(|(&(from, to), &ways)| ways > 1 && reach[to][from]);
        if doubled {
            return true;
        }
        // Only states on a cycle can take part, each with those on its own cycles.
        let mut open: Vec<usize> = (0..next.len()).filter(|&q| reach[q][q]).collect();
        while let Some(&q) = open.first() {
            let (together, rest): (Vec<usize>, Vec<usize>) =
                open.iter().partition(|&&p| reach[q][p] && reach[p][q]);
            if self.ways_part_and_meet(&together, &next) {
                return true;
            }
            open = rest;
        }
        false
    }

    /// Among `states` each of which leads to every other, the pairs (q, q) all lead
    /// to each other. So they are one start and one goal, and a single search finds
    /// whether ways that part over the same text come together again.
    fn ways_part_and_meet(&self, states: &[usize], next: &[Vec<usize>]) -> bool {
        let mut inside = vec![false; next.len()];
        let mut meeting: Vec<Vec<usize>> = vec![Vec::new(); next.len()];
        for &x in states {
            inside[x] = true;
            meeting[x] = states
                .iter()
                .copied()
                .filter(|&y| self.meet(x, y))
                .collect();
        }
        let mut queue: Vec<(usize, usize)> = states.iter().map(|&q| (q, q)).collect();
        let mut seen: HashSet<(usize, usize)> = queue.iter().copied().collect();
        while let Some((a, b)) = queue.pop() {
            let mut from_b = vec![false; next.len()];
            for &y in &next[b] {
                from_b[y] = true;
            }
            for &x in next[a].iter().filter(|&&x| inside[x]) {
                if a != b && from_b[x] {
                    return true;
                }
                for &y in meeting[x].iter().filter(|&&y| from_b[y]) {
                    if seen.insert((x, y)) {
                        queue.push((x, y));
                    }
                }
            }
        }
        false
    }

    /// Whether some character can be read at both.
    fn meet(&self, a: usize, b: usize) -> bool {
        let (mut a, mut b) = (self.classes[a].ranges(), self.classes[b].ranges());
        while let ([x, more_a @ ..], [y, more_b @ ..]) = (a, b) {
            if x.end() < y.start() {
                a = more_a;
            } else if y.end() < x.start() {
                b = more_b;
            } else {
                return true;
            }
        }
        false
    }
}

fn reachable(next: &[Vec<usize>]) -> Vec<Vec<bool>> {
    (0..next.len())
        .map(|start| {
            let mut seen = vec![false; next.len()];
            let mut queue: Vec<usize> = next[start].clone();
            while let Some(q) = queue.pop() {
                if !std::mem::replace(&mut seen[q], true) {
                    queue.extend(&next[q]);
                }
            }
            seen
        })
        .collect()
}

/// The characters that a literal, a dot or a class can read.
fn class_of(source: &str) -> ClassUnicode {
    let any = || ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)]);
    match regex_syntax::parse(source).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(regex_syntax::hir::Class::Unicode(class))) => class,
        Ok(HirKind::Literal(literal)) => {
            let text = String::from_utf8_lossy(&literal.0);
            ClassUnicode::new(text.chars().map(|c| ClassUnicodeRange::new(c, c)))
        }
        _ => any(),
    }
}
