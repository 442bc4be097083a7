//! How much of the evidence is found, on questions with known answers.
//!
//! Prints recall for plain BM25, for latent semantic analysis, for both, and for the archive's own
//! ranking, so that a change of it can be seen. What must hold is little: the set is small.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::ops::ControlFlow;

use helve_chatlog::archive::{self, ImportNote};
use helve_chatlog::{Archive, Chat, Corpus, CorpusEntry, Lsa, LsaOptions, Sender};
use serde::Deserialize;

#[derive(Deserialize)]
struct Message {
    id: u64,
    session: u64,
    sender: String,
    text: String,
}

#[derive(Deserialize)]
struct Question {
    question: String,
    evidence: Vec<u64>,
}

/// The ids for a question, best first.
type Ranking<'r> = &'r dyn Fn(&str) -> Vec<u64>;

struct Set {
    messages: Vec<Message>,
    questions: Vec<Question>,
}

impl Set {
    fn read(messages: &str, questions: &str) -> Self {
        Self {
            messages: lines(messages),
            questions: lines(questions),
        }
    }

    /// The share of the evidence among the first so many, over all questions.
    fn recall(&self, at: usize, rank: Ranking<'_>) -> f64 {
        let shares = self.questions.iter().map(|question| {
            let first: HashSet<u64> = rank(&question.question).into_iter().take(at).collect();
            let found = question
                .evidence
                .iter()
                .filter(|id| first.contains(id))
                .count();
            found as f64 / question.evidence.len() as f64
        });
        shares.sum::<f64>() / self.questions.len() as f64
    }
}

fn lines<T: for<'d> Deserialize<'d>>(text: &str) -> Vec<T> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of the set"))
        .collect()
}

impl Corpus for Set {
    fn each(
        &self,
        f: &mut dyn FnMut(CorpusEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        for Message {
            id, session, text, ..
        } in &self.messages
        {
            if f(CorpusEntry {
                line: *id,
                chat: 1,
                session: *session,
                sender: 1,
                text,
            })
            .is_break()
            {
                break;
            }
        }
        Ok(())
    }
}

/// Words, and letters and pairs of letters of Chinese, with nothing taken out.
fn tokens(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in text
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
    {
        let letters: Vec<char> = word.chars().collect();
        if word.is_ascii() {
            found.push(word.to_owned());
        } else {
            found.extend(letters.iter().map(char::to_string));
            found.extend(
                letters
                    .windows(2)
                    .map(|pair| pair.iter().collect::<String>()),
            );
        }
    }
    found
}

/// BM25 as in a textbook.
struct Bm25 {
    documents: Vec<(u64, HashMap<String, f64>, f64)>,
    spread: HashMap<String, f64>,
    mean: f64,
}

impl Bm25 {
    fn new(messages: &[Message]) -> Self {
        let mut spread: HashMap<String, f64> = HashMap::new();
        let mut documents = Vec::new();
        for message in messages {
            let words = tokens(&message.text);
            let mut counts: HashMap<String, f64> = HashMap::new();
            words
                .iter()
                .for_each(|word| *counts.entry(word.clone()).or_default() += 1.0);
            counts
                .keys()
                .for_each(|word| *spread.entry(word.clone()).or_default() += 1.0);
            documents.push((message.id, counts, words.len() as f64));
        }
        let mean =
            documents.iter().map(|(_, _, length)| length).sum::<f64>() / documents.len() as f64;
        Self {
            documents,
            spread,
            mean,
        }
    }

    fn scores(&self, question: &str) -> Vec<(u64, f64)> {
        let words: HashSet<String> = tokens(question).into_iter().collect();
        let all = self.documents.len() as f64;
        let scores = self.documents.iter().map(|(id, counts, length)| {
            let score = words.iter().filter_map(|word| {
                let (count, spread) = (counts.get(word)?, self.spread[word]);
                let rarity = ((all - spread + 0.5) / (spread + 0.5)).ln_1p();
                Some(rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / self.mean)))
            });
            (*id, score.sum())
        });
        scores.collect()
    }
}

/// The same messages in an archive: a session has no pause, and two have one between them.
fn archive(set: &Set, folder: &std::path::Path) -> Archive {
    let archive = Archive::open(folder).expect("a new folder");
    let staged = archive.stage(
        &mut |sink| {
            for (i, message) in set.messages.iter().enumerate() {
                let minutes = message.session * 10_000 + i as u64;
                sink.message(helve_chatlog::Message {
                    id: Some(message.id.to_string()),
                    chat: Chat {
                        id: "all".to_owned(),
                        name: "all".to_owned(),
                        ..Chat::default()
                    },
                    sender: Sender {
                        id: message.sender.clone(),
                        name: message.sender.clone(),
                        is_self: None,
                    },
                    time: i64::try_from(minutes * 60_000).ok(),
                    text: message.text.clone(),
                    ..helve_chatlog::Message::default()
                })?;
            }
            Ok(())
        },
        &mut |_| ControlFlow::Continue(()),
    );
    let id = staged.expect("the set is sound").id;
    let note = ImportNote::default();
    let applied = archive.apply(&id, &note, &mut |_| ControlFlow::Continue(()));
    applied.expect("nothing stops it");
    archive
}

/// Scores with a mean of 0 and a spread of 1, so that two kinds can be added.
fn normal(scores: &[(u64, f64)]) -> HashMap<u64, f64> {
    let count = scores.len().max(1) as f64;
    let mean = scores.iter().map(|(_, s)| s).sum::<f64>() / count;
    let spread = (scores.iter().map(|(_, s)| (s - mean).powi(2)).sum::<f64>() / count)
        .sqrt()
        .max(1e-9);
    scores
        .iter()
        .map(|(id, s)| (*id, (s - mean) / spread))
        .collect()
}

fn ranked(scores: impl IntoIterator<Item = (u64, f64)>) -> Vec<u64> {
    let mut scores: Vec<_> = scores.into_iter().collect();
    scores.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    scores
        .into_iter()
        .filter(|(_, score)| *score != 0.0)
        .map(|(id, _)| id)
        .collect()
}

#[expect(clippy::print_stdout, reason = "the figures are what this is run for")]
fn check(name: &str, set: &Set, least_of_lsa: f64) {
    let bm25 = Bm25::new(&set.messages);
    let lsa = Lsa::build(set, LsaOptions::default(), &mut |_| {
        ControlFlow::Continue(())
    })
    .expect("nothing stops it");
    let all = set.messages.len();
    let meaning = |question: &str| -> Vec<(u64, f64)> {
        lsa.nearest(question, all, None)
            .into_iter()
            .map(|(id, score)| (id, f64::from(score)))
            .collect()
    };
    let plain = |question: &str| ranked(bm25.scores(question));
    let by_meaning = |question: &str| ranked(meaning(question));
    let both = |question: &str| {
        let mut sum = normal(&bm25.scores(question));
        for (id, score) in normal(&meaning(question)) {
            *sum.entry(id).or_default() += 0.5 * score;
        }
        ranked(sum)
    };
    let folder = tempfile::tempdir().expect("a folder");
    let kept = archive(set, folder.path());
    // Lines are given in the order of the set.
    let asked = |question: &str| -> Vec<u64> {
        let question = archive::Question {
            text: question.to_owned(),
            limit: all,
            variants: Some(helve_chatlog::variants::spellings),
            ..archive::Question::default()
        };
        let hits = kept.ask(&question).expect("it can be asked").into_iter();
        hits.map(|hit| set.messages[hit.line as usize - 1].id)
            .collect()
    };
    let rankings: [(&str, Ranking<'_>); 4] = [
        ("BM25", &plain),
        ("LSA", &by_meaning),
        ("both", &both),
        ("ours", &asked),
    ];
    for (ranking, rank) in rankings {
        println!(
            "{name} {ranking:5} R@5 {:.3} R@10 {:.3}",
            set.recall(5, rank),
            set.recall(10, rank)
        );
    }
    let (ours, theirs) = (set.recall(10, &asked), set.recall(10, &plain));
    assert!(
        ours >= theirs,
        "{name}: {ours:.3} is found, and plain BM25 finds {theirs:.3}"
    );
    let found = set.recall(10, &by_meaning);
    assert!(
        found >= least_of_lsa,
        "{name}: only {found:.3} is found by meaning"
    );
}

#[test]
fn english() {
    let set = Set::read(
        include_str!("../testdata/eval/en.messages.jsonl"),
        include_str!("../testdata/eval/en.questions.jsonl"),
    );
    check("en", &set, 0.25);
}

#[test]
fn chinese() {
    let set = Set::read(
        include_str!("../testdata/eval/zh.messages.jsonl"),
        include_str!("../testdata/eval/zh.questions.jsonl"),
    );
    check("zh", &set, 0.25);
}

#[test]
fn the_set_fits_together() {
    let files = [
        (
            include_str!("../testdata/eval/en.messages.jsonl"),
            include_str!("../testdata/eval/en.questions.jsonl"),
        ),
        (
            include_str!("../testdata/eval/zh.messages.jsonl"),
            include_str!("../testdata/eval/zh.questions.jsonl"),
        ),
    ];
    for (messages, questions) in files {
        let set = Set::read(messages, questions);
        assert!(set.messages.len() >= 200 && set.questions.len() >= 50);
        let ids: HashSet<u64> = set.messages.iter().map(|m| m.id).collect();
        assert_eq!(ids.len(), set.messages.len(), "no id twice");
        for question in &set.questions {
            assert!(!question.evidence.is_empty(), "{}", question.question);
            assert!(
                question.evidence.iter().all(|id| ids.contains(id)),
                "{}",
                question.question
            );
        }
        assert!(
            set.messages
                .iter()
                .all(|m| !m.sender.is_empty() && !m.text.is_empty())
        );
    }
}
