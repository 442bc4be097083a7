//! Public sets of tools and requests, and how well a search does on them.

use std::path::Path;

use helve_core::search::Document;
use serde_json::Value;

pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) tools: Vec<Document>,
    pub(crate) requests: Vec<Request>,
    /// One of the right tools is enough, because the set is labelled by server.
    pub(crate) any: bool,
}

pub(crate) struct Request {
    pub(crate) text: String,
    /// One tool of each is wanted.
    pub(crate) wanted: Vec<Vec<String>>,
}

/// In percent.
#[derive(Default)]
pub(crate) struct Marks {
    /// Recall at 1, 5 and 10.
    pub(crate) at: [f64; 3],
    pub(crate) gain: f64,
}

pub(crate) fn read(folder: &Path) -> Vec<Set> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut folders: Vec<_> = entries
        .map(|e| e.unwrap().path())
        .filter(|p| p.is_dir())
        .collect();
    folders.sort();
    folders.iter().map(|f| set(f)).collect()
}

fn set(folder: &Path) -> Set {
    let rows = |file: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        text.lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect()
    };
    let requests = rows("queries.jsonl");
    Set {
        name: folder.file_name().unwrap().to_string_lossy().into_owned(),
        tools: rows("tools.jsonl").iter().map(tool).collect(),
        any: requests.iter().all(|r| r["split"] == "server-level"),
        requests: requests.iter().map(request).collect(),
    }
}

fn words(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn tool(row: &Value) -> Document {
    let params = row["params"].as_array().unwrap();
    Document {
        key: words(&row["id"]),
        name: words(&row["name"]),
        description: words(&row["description"]),
        server: row["server"].as_str().map(str::to_owned),
        category: row["category"].as_str().map(str::to_owned),
        params: params
            .iter()
            .map(|p| (words(&p["name"]), words(&p["description"])))
            .collect(),
        ..Document::default()
    }
}

fn request(row: &Value) -> Request {
    let list =
        |value: &Value| -> Vec<String> { value.as_array().unwrap().iter().map(words).collect() };
    let wanted = match row["alt"].as_array() {
        Some(choices) => choices.iter().map(list).collect(),
        None => list(&row["relevant"])
            .into_iter()
            .map(|t| vec![t])
            .collect(),
    };
    Request {
        text: words(&row["query"]),
        wanted,
    }
}

impl Set {
    pub(crate) fn marks(&self, search: impl Fn(&str) -> Vec<String>) -> Marks {
        let mut marks = Marks::default();
        let share = 100.0 / self.requests.len() as f64;
        for request in &self.requests {
            let found = search(&request.text);
            // The place of the first hit for each tool that is wanted.
            let places: Vec<usize> = request
                .wanted
                .iter()
                .filter_map(|choice| found.iter().position(|key| choice.contains(key)))
                .collect();
            for (mark, k) in marks.at.iter_mut().zip([1, 5, 10]) {
                let hits = places.iter().filter(|p| **p < k).count();
                *mark += share
                    * match self.any {
                        true => f64::from(u8::from(hits > 0)),
                        false => hits as f64 / request.wanted.len() as f64,
                    };
            }
            let worth = |place: usize| 1.0 / (place as f64 + 2.0).log2();
            let gain: f64 = places.iter().filter(|p| **p < 10).map(|p| worth(*p)).sum();
            let ideal: f64 = (0..request.wanted.len().min(10)).map(worth).sum();
            marks.gain += share * gain / ideal;
        }
        marks
    }
}
