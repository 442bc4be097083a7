//! The index: which messages have which words and pairs of letters.
//!
//! It is made from the folded texts, and holds exactly what is shown. What it lacks or has
//! too much is found by comparing the lines in it with those that are shown, so every way to
//! fall behind (a crash, a copy of an older state) is caught up in the same way. One that
//! cannot be read, or whose hashes are wrong, is made anew.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use roaring::RoaringBitmap;
use tantivy::index::SegmentId;
use tantivy::postings::TermInfo;
use tantivy::query::{
    BitSetDocSet, ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight,
};
use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{
    BitSet, DocId, Index, IndexReader, InvertedIndexReader, ReloadPolicy, Score, SegmentReader,
    TantivyDocument, TantivyError,
};

use super::letters::Endings;
use super::view::View;
use super::vocabulary::Vocabulary;
use super::{ArchiveError, tokens};

/// Changes whenever what is an entry changes.
const FORMAT: &str = "1";
/// Memory for entries that are not written yet.
const MEMORY: usize = 32 << 20;

/// Writes the index.
pub(super) struct Indexer {
    index: Index,
    reader: IndexReader,
    fields: Fields,
    /// What was read of each part, once somebody has asked for it.
    read: HashMap<SegmentId, Arc<Read>>,
}

/// What is read of a part as a whole.
#[derive(Default)]
struct Read {
    vocabulary: OnceLock<Vocabulary>,
    endings: OnceLock<Endings>,
}

#[derive(Clone, Copy)]
struct Fields {
    line: Field,
    words: Field,
    pairs: Field,
}

impl Indexer {
    /// Opens the index, or makes an empty one where there is none that can be used.
    pub(super) fn open(folder: &Path) -> Result<Self, ArchiveError> {
        if let Ok(index) = Index::open_in_dir(folder)
            && index.schema() == schema().0
            && index
                .validate_checksum()
                .is_ok_and(|damaged| damaged.is_empty())
            && let Ok(opened) = Self::of(index)
            && opened.payload().is_some_and(|(format, _)| format == FORMAT)
        {
            return Ok(opened);
        }
        Self::create(folder)
    }

    /// Makes an empty one in the place of whatever is there.
    pub(super) fn create(folder: &Path) -> Result<Self, ArchiveError> {
        if folder.exists() {
            std::fs::remove_dir_all(folder).map_err(ArchiveError::file(folder))?;
        }
        std::fs::create_dir_all(folder).map_err(ArchiveError::file(folder))?;
        Self::of(Index::create_in_dir(folder, schema().0)?)
    }

    fn of(index: Index) -> Result<Self, ArchiveError> {
        for (name, entries) in [
            ("words", tokens::Entries::Words),
            ("pairs", tokens::Entries::Pairs),
        ] {
            index
                .tokenizers()
                .register(name, TextAnalyzer::from(entries));
        }
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        Ok(Self {
            index,
            reader,
            fields: schema().1,
            read: HashMap::new(),
        })
    }

    /// The format and the generation of the last commit.
    fn payload(&self) -> Option<(String, u64)> {
        let payload = self.index.load_metas().ok()?.payload?;
        let (format, generation) = payload.split_once(' ')?;
        Some((format.to_owned(), generation.parse().ok()?))
    }

    /// Brings it to the state of the view.
    pub(super) fn sync(&mut self, view: &View) -> Result<Entries, ArchiveError> {
        let state = Some((FORMAT.to_owned(), view.generation));
        if self.payload() != state {
            let has = self.lines()?;
            let missing = &view.visible - &has;
            let extra = &has - &view.visible;
            // Most of it must go: to begin anew is less work than to take out.
            let anew = extra.len() > view.visible.len();
            let add = if anew { &view.visible } else { &missing };
            self.write(view, add, &extra, anew)?;
        }
        self.entries()
    }

    fn write(
        &mut self,
        view: &View,
        add: &RoaringBitmap,
        remove: &RoaringBitmap,
        anew: bool,
    ) -> Result<(), ArchiveError> {
        let mut writer = self
            .index
            .writer_with_num_threads::<TantivyDocument>(1, MEMORY)?;
        if anew {
            writer.delete_all_documents()?;
        } else if !remove.is_empty() {
            writer.delete_query(Box::new(Among(Arc::new(remove.clone()))))?;
        }
        for line in add {
            let text = String::from_utf8_lossy(view.text(line));
            let mut document = TantivyDocument::new();
            document.add_u64(self.fields.line, u64::from(line));
            document.add_text(self.fields.words, &text);
            document.add_text(self.fields.pairs, &text);
            writer.add_document(document)?;
        }
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&format!("{FORMAT} {}", view.generation));
        commit.commit()?;
        writer.wait_merging_threads()?;
        self.reader.reload()?;
        Ok(())
    }

    /// The lines that are in it.
    pub(super) fn lines(&self) -> Result<RoaringBitmap, ArchiveError> {
        let mut all = RoaringBitmap::new();
        for segment in self.reader.searcher().segment_readers() {
            let lines = Lines::of(segment)?;
            for doc in segment.doc_ids_alive() {
                all.insert(lines.line(doc));
            }
        }
        Ok(all)
    }

    fn entries(&mut self) -> Result<Entries, ArchiveError> {
        let searcher = self.reader.searcher();
        let readers = searcher.segment_readers();
        self.read
            .retain(|id, _| readers.iter().any(|reader| reader.segment_id() == *id));
        let mut parts = Vec::new();
        for reader in readers {
            parts.push(Part {
                words: reader.inverted_index(self.fields.words)?,
                pairs: reader.inverted_index(self.fields.pairs)?,
                lines: Lines::of(reader)?,
                read: self.read.entry(reader.segment_id()).or_default().clone(),
                reader: reader.clone(),
            });
        }
        Ok(Entries { parts })
    }
}

/// What the index says, at one generation.
pub(super) struct Entries {
    pub(super) parts: Vec<Part>,
}

/// A part of the index: tantivy's segment.
pub(super) struct Part {
    pub(super) reader: SegmentReader,
    pub(super) words: Arc<InvertedIndexReader>,
    pub(super) pairs: Arc<InvertedIndexReader>,
    pub(super) lines: Lines,
    read: Arc<Read>,
}

impl Part {
    /// Its words.
    pub(super) fn vocabulary(&self) -> Result<&Vocabulary, ArchiveError> {
        if let Some(known) = self.read.vocabulary.get() {
            return Ok(known);
        }
        let read = Vocabulary::read(self.words.terms())?;
        Ok(self.read.vocabulary.get_or_init(|| read))
    }

    /// Its entries that have a letter of a script without blanks.
    pub(super) fn having(&self, letter: char) -> Result<Vec<TermInfo>, ArchiveError> {
        let endings = match self.read.endings.get() {
            Some(known) => known,
            None => {
                let read = Endings::read(&self.pairs)?;
                self.read.endings.get_or_init(|| read)
            }
        };
        endings.having(letter, &self.pairs)
    }
}

/// Which line each document of a part is.
pub(super) enum Lines {
    /// They follow each other.
    Run(u32),
    /// They do not, after a merge or a restore.
    Each(Vec<u32>),
}

impl Lines {
    fn of(reader: &SegmentReader) -> Result<Self, ArchiveError> {
        let column = reader.fast_fields().u64("line")?;
        let line = |doc| {
            column
                .first(doc)
                .and_then(|line| u32::try_from(line).ok())
                .unwrap_or(0)
        };
        let all: Vec<u32> = (0..reader.max_doc()).map(line).collect();
        match all.first() {
            Some(first) if all.windows(2).all(|two| two[1] == two[0] + 1) => Ok(Self::Run(*first)),
            _ => Ok(Self::Each(all)),
        }
    }

    /// The first and the last line that there can be.
    pub(super) fn bounds(&self, docs: u32) -> (u32, u32) {
        match self {
            Self::Run(first) => (*first, first + docs.saturating_sub(1)),
            Self::Each(all) => {
                let (low, high) = (all.iter().min(), all.iter().max());
                (low.copied().unwrap_or(0), high.copied().unwrap_or(0))
            }
        }
    }

    pub(super) fn line(&self, doc: DocId) -> u32 {
        match self {
            Self::Run(first) => first + doc,
            Self::Each(all) => all[doc as usize],
        }
    }
}

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let text = |tokenizer| {
        TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer(tokenizer)
                // The length of a text is in its file.
                .set_fieldnorms(false)
                .set_index_option(IndexRecordOption::WithFreqs),
        )
    };
    let fields = Fields {
        line: schema.add_u64_field("line", NumericOptions::default().set_fast()),
        words: schema.add_text_field("words", text("words")),
        pairs: schema.add_text_field("pairs", text("pairs")),
    };
    (schema.build(), fields)
}

/// The documents of some lines: what is taken out.
#[derive(Debug, Clone)]
struct Among(Arc<RoaringBitmap>);

impl Query for Among {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for Among {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let lines = Lines::of(reader)
            .map_err(|e| TantivyError::InternalError(format!("the lines of a part: {e}")))?;
        let mut docs = BitSet::with_max_value(reader.max_doc());
        for doc in (0..reader.max_doc()).filter(|doc| self.0.contains(lines.line(*doc))) {
            docs.insert(doc);
        }
        Ok(Box::new(ConstScorer::new(BitSetDocSet::from(docs), boost)))
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        Ok(Explanation::new("among lines", 1.0))
    }
}
