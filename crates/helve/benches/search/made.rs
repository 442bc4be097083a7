//! Tools in numbers that no public set has.

use helve_core::search::Document;

/// The same numbers in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Tools that are each a cross of two: the name of one with a word of the other, its
/// description with every third word of the other's, the parameters of both by turns.
pub(crate) fn crossed(tools: &[Document], count: usize, random: &mut Random) -> Vec<Document> {
    (0..count)
        .map(|i| {
            let (one, other) = (random.pick(tools).clone(), random.pick(tools));
            let word = other
                .name
                .split(['_', '.', '-'])
                .next_back()
                .unwrap_or_default();
            let mut foreign = other.description.split_whitespace();
            let description: Vec<&str> = one
                .description
                .split_whitespace()
                .enumerate()
                .map(|(i, own)| match i % 3 {
                    2 => foreign.next().unwrap_or(own),
                    _ => own,
                })
                .collect();
            let params = one
                .params
                .iter()
                .step_by(2)
                .chain(other.params.iter().skip(1).step_by(2));
            Document {
                key: format!("{}_{word}_{i}", one.name),
                name: format!("{}_{word}", one.name),
                description: description.join(" "),
                params: params.take(12).cloned().collect(),
                ..one.clone()
            }
        })
        .collect()
}

/// What somebody would type who knows about what the tool is called.
pub(crate) fn short(tool: &Document) -> String {
    let words: Vec<&str> = tool.description.split_whitespace().take(4).collect();
    words.join(" ")
}

const VERBS: &[&str] = &[
    "create",
    "delete",
    "list",
    "update",
    "search",
    "convert",
    "send",
    "analyze",
    "schedule",
    "download",
    "validate",
    "translate",
    "estimate",
    "compare",
    "export",
];
const THINGS: &[&str] = &[
    "invoice",
    "flight",
    "image",
    "database",
    "recipe",
    "meeting",
    "portfolio",
    "patient",
    "package",
    "sensor",
    "playlist",
    "contract",
    "crop",
    "lesson",
    "vehicle",
    "server",
    "forecast",
    "ticket",
    "report",
    "budget",
    "address",
    "branch",
    "container",
    "poem",
    "protein",
];
const SIDES: &[&str] = &[
    "by date",
    "for a customer",
    "in a region",
    "with filters",
    "as a table",
    "from a file",
    "over time",
    "within a budget",
    "for a team",
    "in real time",
];

/// Tools and requests where there are no sets.
pub(crate) fn alone(count: usize) -> (Vec<Document>, Vec<String>) {
    let mut random = Random(3);
    let mut tools = Vec::new();
    let mut requests = Vec::new();
    for i in 0..count {
        let (verb, thing) = (*random.pick(VERBS), *random.pick(THINGS));
        let (other, side) = (*random.pick(THINGS), *random.pick(SIDES));
        tools.push(Document {
            key: format!("{thing}_{verb}_{i}"),
            name: format!("{thing}_{verb}_{other}"),
            description: format!(
                "{verb} the {thing} of a {other} {side}. Use it when a {thing} matters."
            ),
            params: vec![
                (format!("{thing}_id"), format!("The {thing} to {verb}.")),
                (other.to_owned(), format!("The {other} {side}.")),
            ],
            ..Document::default()
        });
        requests.push(format!(
            "I have a {other} and would like to {verb} its {thing} {side}, can you help me with that today?"
        ));
    }
    (tools, requests)
}
