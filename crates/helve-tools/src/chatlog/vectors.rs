//! Vectors of a model, here or elsewhere: made in the background, kept in a file, and gone on
//! with where it was.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helve_chatlog::{FileError, VectorFile};
use helve_kernel::ToolError;

use super::service::{ChatLog, Opened, told};
use crate::model::{Embedder, Vectors};

/// How many texts are sent at once.
const BATCH: usize = 64;
/// The longest text that is sent, in characters.
const LONGEST: usize = 2_000;

/// The vectors that there are so far.
#[derive(Default)]
pub(super) struct Embedded {
    file: Mutex<Option<VectorFile>>,
    /// Whether somebody is making more of them.
    at_work: AtomicBool,
}

impl Embedded {
    fn file(&self) -> MutexGuard<'_, Option<VectorFile>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up the vectors of a model that were made before.
    pub(super) fn ready(&self, folder: &Path, by: &str, dims: usize) -> Result<(), ToolError> {
        let mut file = self.file();
        if file.is_none() {
            let opened = open(&folder.join("vectors"), dims, by);
            *file = Some(opened.map_err(|e| unkept(&e))?);
        }
        Ok(())
    }

    /// How many messages have a vector.
    pub(super) fn len(&self) -> u64 {
        self.file().as_ref().map_or(0, |f| f.vectors().len() as u64)
    }

    /// The nearest to a vector.
    pub(super) fn nearest(&self, vector: &[f32], k: usize) -> Vec<(u64, f32)> {
        let file = self.file();
        file.as_ref()
            .map(|file| file.vectors().nearest(vector, k, None))
            .unwrap_or_default()
    }

    fn add(&self, batch: &[(u64, Vec<f32>)]) -> Result<(), ToolError> {
        match &mut *self.file() {
            Some(file) => file.add(batch).map(drop).map_err(|e| unkept(&e)),
            None => Err(ToolError::internal(
                "vectors are added before there is a file",
            )),
        }
    }
}

fn unkept(error: &dyn std::error::Error) -> ToolError {
    ToolError::dependency(format!("vectors cannot be kept: {error}"))
}

fn open(path: &Path, dims: usize, model: &str) -> Result<VectorFile, FileError> {
    match VectorFile::open(path, dims, model) {
        // Another model's, or broken: they can be made anew, and cannot be compared.
        Err(FileError::Damaged { .. } | FileError::Version { .. }) => {
            let _ = std::fs::remove_file(path);
            VectorFile::open(path, dims, model)
        }
        opened => opened,
    }
}

/// Makes vectors for messages that have none until all have one, or something is wrong. Whoever
/// asks next begins again where it was.
pub(super) async fn catch_up(log: Arc<ChatLog>, model: Arc<dyn Embedder>) -> Result<(), ToolError> {
    let opened = log.work(|opened| Ok(opened.clone())).await?;
    if opened.embedded.at_work.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    let done = embed_missing(&log, &*model).await;
    opened.embedded.at_work.store(false, Ordering::Release);
    done
}

/// The vector of one text.
pub(super) async fn of(model: &dyn Embedder, text: &str) -> Result<One, ToolError> {
    let Vectors { by, mut vectors } = model.embed(&[text.to_owned()]).await?;
    match vectors.pop() {
        Some(vector) => Ok(One { by, vector }),
        None => Err(ToolError::dependency(format!(
            "the model `{}` gave no vector",
            model.name()
        ))),
    }
}

/// A vector.
pub(super) struct One {
    /// What made it.
    pub(super) by: String,
    pub(super) vector: Vec<f32>,
}

async fn embed_missing(log: &Arc<ChatLog>, model: &dyn Embedder) -> Result<(), ToolError> {
    // The size of the vectors is known when the first has come.
    let probe = of(model, "probe").await?;
    let folder = log.settings.folder.clone();
    log.work(move |opened| {
        opened
            .embedded
            .ready(&folder, &probe.by, probe.vector.len())
    })
    .await?;
    loop {
        let missing = log.work(|opened| Ok(missing(opened))).await?;
        if missing.is_empty() {
            return Ok(());
        }
        for lines in missing.chunks(BATCH) {
            if log.is_closing() {
                return Ok(());
            }
            let lines = lines.to_vec();
            let said = log.work(move |opened| texts(opened, &lines)).await?;
            // All of them may have been taken back meanwhile.
            if said.is_empty() {
                continue;
            }
            let texts: Vec<String> = said.iter().map(|(_, text)| text.clone()).collect();
            let vectors = model.embed(&texts).await?.vectors;
            let lines = said.into_iter().map(|(line, _)| line);
            let made: Vec<(u64, Vec<f32>)> = lines.zip(vectors).collect();
            log.work(move |opened| opened.embedded.add(&made)).await?;
        }
    }
}

/// The messages that say something and have no vector yet.
fn missing(opened: &Opened) -> Vec<u64> {
    let file = opened.embedded.file();
    let known = file.as_ref().map(|file| file.vectors().lines().clone());
    drop(file);
    let mut found = Vec::new();
    opened.archive.each(&mut |entry| {
        let has = known.as_ref().is_some_and(|k| k.contains(entry.line));
        if !has && !entry.text.trim().is_empty() {
            found.push(entry.line);
        }
        ControlFlow::Continue(())
    });
    found
}

fn texts(opened: &Opened, lines: &[u64]) -> Result<Vec<(u64, String)>, ToolError> {
    let loaded = opened.archive.load(lines, 0, 0).map_err(|e| told(&e))?;
    let messages = loaded.messages.into_iter();
    let said = messages.map(|m| (m.line, m.text.chars().take(LONGEST).collect()));
    Ok(said.collect())
}
