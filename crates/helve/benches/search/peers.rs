//! What Helve's search is held against.

use std::collections::HashMap;

use helve_core::search::Document;
use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{Field, STORED, STRING, Schema, TEXT, Value};
use tantivy::{IndexReader, IndexWriter, TantivyDocument, Term, doc};

/// BM25 over runs of ASCII letters and digits, all fields alike: what FastMCP ships.
pub(crate) struct Plain<'t> {
    tools: &'t [Document],
    lists: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    mean: f64,
}

fn plain_words(text: &str) -> impl Iterator<Item = String> {
    let small = text.to_ascii_lowercase();
    let words: Vec<String> = small
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|w| w.len() > 1)
        .map(str::to_owned)
        .collect();
    words.into_iter()
}

fn whole(tool: &Document) -> String {
    let mut text = format!("{} {}", tool.name, tool.description);
    for (name, said) in &tool.params {
        text.push_str(&format!(" {name} {said}"));
    }
    text
}

impl<'t> Plain<'t> {
    pub(crate) fn of(tools: &'t [Document]) -> Self {
        let mut lists: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (i, tool) in tools.iter().enumerate() {
            let mut counts: HashMap<String, f64> = HashMap::new();
            plain_words(&whole(tool)).for_each(|w| *counts.entry(w).or_default() += 1.0);
            lengths.push(counts.values().sum());
            for (word, count) in counts {
                lists.entry(word).or_default().push((i, count));
            }
        }
        let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
        Self {
            tools,
            lists,
            lengths,
            mean,
        }
    }

    pub(crate) fn search(&self, text: &str, most: usize) -> Vec<String> {
        let mut scores = vec![0.0; self.tools.len()];
        for word in plain_words(text) {
            let list = self.lists.get(&word).map_or(&[][..], Vec::as_slice);
            let (count, all) = (list.len() as f64, self.tools.len() as f64);
            let rarity = (1.0 + (all - count + 0.5) / (count + 0.5)).ln();
            for (i, times) in list {
                let norm = 1.5 * (1.0 - 0.75 + 0.75 * self.lengths[*i] / self.mean);
                scores[*i] += rarity * times * 2.5 / (times + norm);
            }
        }
        let mut order: Vec<usize> = (0..scores.len()).filter(|i| scores[*i] > 0.0).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        order
            .iter()
            .take(most)
            .map(|i| self.tools[*i].key.clone())
            .collect()
    }
}

/// Tantivy in memory: name, description and parameters, each a field.
pub(crate) struct Tantivy {
    index: tantivy::Index,
    writer: IndexWriter,
    reader: IndexReader,
    key: Field,
    fields: [Field; 3],
}

impl Tantivy {
    pub(crate) fn new() -> Self {
        let mut schema = Schema::builder();
        let key = schema.add_text_field("key", STRING | STORED);
        let fields = ["name", "description", "params"].map(|f| schema.add_text_field(f, TEXT));
        let index = tantivy::Index::create_in_ram(schema.build());
        let writer = index.writer_with_num_threads(1, 100_000_000).unwrap();
        let reader = index.reader().unwrap();
        Self {
            index,
            writer,
            reader,
            key,
            fields,
        }
    }

    fn put(&mut self, tool: &Document) {
        let [name, description, params] = self.fields;
        let said: Vec<String> = tool
            .params
            .iter()
            .map(|(n, t)| format!("{n} {t}"))
            .collect();
        // Its words end at blanks and marks, so names are taken apart for it.
        let added = self.writer.add_document(doc!(
            self.key => tool.key.as_str(),
            name => tool.name.replace('_', " "),
            description => tool.description.as_str(),
            params => said.join(" ").replace('_', " "),
        ));
        added.unwrap();
    }

    fn commit(&mut self) {
        self.writer.commit().unwrap();
        self.reader.reload().unwrap();
    }

    pub(crate) fn build(&mut self, tools: &[Document]) {
        tools.iter().for_each(|t| self.put(t));
        self.commit();
    }

    /// Until it can be found.
    pub(crate) fn upsert(&mut self, tool: &Document) {
        self.writer
            .delete_term(Term::from_field_text(self.key, &tool.key));
        self.put(tool);
        self.commit();
    }

    pub(crate) fn search(&self, text: &str, most: usize) -> Vec<String> {
        let mut parser = QueryParser::for_index(&self.index, self.fields.to_vec());
        parser.set_field_boost(self.fields[0], 3.0);
        let (query, _) = parser.parse_query_lenient(text);
        let searcher = self.reader.searcher();
        let top = TopDocs::with_limit(most).order_by_score();
        let found = searcher.search(&query, &top).unwrap();
        let key = |at| -> String {
            let stored: TantivyDocument = searcher.doc(at).unwrap();
            stored
                .get_first(self.key)
                .and_then(|v| v.as_str())
                .unwrap()
                .to_owned()
        };
        found.into_iter().map(|(_, at)| key(at)).collect()
    }
}
