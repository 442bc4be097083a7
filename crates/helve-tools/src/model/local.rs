//! A model in a folder, run on the processors of this machine by candle.
//!
//! Only what was compared with its original: a BERT as sentence-transformers keeps one, whose
//! vector is the mean over the tokens, of length 1. A folder that says that it is anything else
//! is refused, because vectors of a model that is run wrongly look like any others.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use helve_kernel::ToolError;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokenizers::{Encoding, Tokenizer, TruncationParams};

use super::{Embedder, Vectors};

/// How many texts go through the model at once.
const BATCH: usize = 16;
/// The most tokens of a text, where the folder says nothing.
const TOKENS: usize = 256;
/// The parts of a sentence-transformers model that are run here.
const MODULES: &[&str] = &["Transformer", "Pooling", "Normalize"];

/// A model in a folder.
#[derive(Clone)]
pub(super) struct Local {
    folder: PathBuf,
    name: String,
    /// What was read; nothing before it is needed.
    loaded: Arc<Mutex<Option<Arc<Loaded>>>>,
}

struct Loaded {
    /// What it is: its name, and a hash of its files.
    id: String,
    tokenizer: Tokenizer,
    pad: u32,
    bert: BertModel,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Embedder for Local {
    fn name(&self) -> &str {
        &self.name
    }

    async fn embed(&self, texts: &[String]) -> Result<Vectors, ToolError> {
        let (local, texts) = (self.clone(), texts.to_vec());
        let done = tokio::task::spawn_blocking(move || {
            let loaded = local.loaded()?;
            Ok(Vectors {
                by: loaded.id.clone(),
                vectors: loaded.embed(&texts)?,
            })
        });
        let done = done.await;
        let done = done.map_err(|e| ToolError::internal(format!("the model crashed: {e}")))?;
        done.map_err(|e: Unfit| told(&e))
    }
}

impl Local {
    pub(super) fn new(folder: &Path) -> Self {
        let name = folder.file_name().unwrap_or(folder.as_os_str());
        Self {
            name: name.to_string_lossy().into_owned(),
            folder: folder.to_owned(),
            loaded: Arc::default(),
        }
    }

    /// It is read once; what could not be read is tried again by whoever asks next.
    fn loaded(&self) -> Result<Arc<Loaded>, Unfit> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = &*loaded {
            return Ok(loaded.clone());
        }
        let new = Arc::new(Loaded::read(&self.folder, &self.name)?);
        *loaded = Some(new.clone());
        Ok(new)
    }
}

impl Loaded {
    fn read(folder: &Path, name: &str) -> Result<Self, Unfit> {
        if !folder.is_dir() {
            return Err(Unfit::NoFolder(folder.to_owned()));
        }
        let read = |file| Files(folder).needed(file);
        let config = read("config.json")?;
        let (tokens, weights) = (read("tokenizer.json")?, read("model.safetensors")?);
        let config = config_of(&config)?;
        let longest = settings_beside(folder)?.min(config.max_position_embeddings);
        let mut hash = Sha256::new();
        hash.update(longest.to_le_bytes());
        for file in [tokens.as_slice(), weights.as_slice()] {
            hash.update(file.len().to_le_bytes());
            hash.update(file);
        }
        let hash: String = hash.finalize()[..8]
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();

        let of_tokenizer = |e| Unfit::of("tokenizer.json", e);
        let mut tokenizer = Tokenizer::from_bytes(tokens).map_err(of_tokenizer)?;
        let truncation = TruncationParams {
            max_length: longest,
            ..TruncationParams::default()
        };
        tokenizer
            .with_truncation(Some(truncation))
            .map_err(of_tokenizer)?
            .with_padding(None);
        let of_weights = |e: candle_core::Error| Unfit::of("model.safetensors", e.into());
        let tensors = candle_core::safetensors::load_buffer(&weights, &Device::Cpu);
        drop(weights);
        let weights =
            VarBuilder::from_tensors(tensors.map_err(of_weights)?, DType::F32, &Device::Cpu);
        Ok(Self {
            id: format!("{name} {hash}"),
            tokenizer,
            pad: u32::try_from(config.pad_token_id).unwrap_or(0),
            bert: BertModel::load(weights, &config).map_err(of_weights)?,
        })
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Unfit> {
        let all: Vec<&str> = texts.iter().map(String::as_str).collect();
        let encoded = self.tokenizer.encode_batch(all, true);
        let encoded = encoded.map_err(|e| Unfit::of("tokenizer.json", e))?;
        // Texts of one length beside each other: what is filled up is computed in vain.
        let mut order: Vec<usize> = (0..encoded.len()).collect();
        order.sort_by_key(|at| encoded[*at].len());
        let mut vectors = vec![Vec::new(); texts.len()];
        for batch in order.chunks(BATCH) {
            let some: Vec<&Encoding> = batch.iter().map(|at| &encoded[*at]).collect();
            let made = self.run(&some).map_err(Unfit::Run)?;
            for (at, vector) in batch.iter().zip(made) {
                vectors[*at] = vector;
            }
        }
        Ok(vectors)
    }

    /// The mean over the tokens of each, of length 1.
    fn run(&self, batch: &[&Encoding]) -> candle_core::Result<Vec<Vec<f32>>> {
        let longest = batch.iter().map(|one| one.len()).max().unwrap_or(0).max(1);
        let (mut ids, mut mask) = (Vec::new(), Vec::new());
        for one in batch {
            let filled = longest - one.len();
            ids.extend(one.get_ids().iter().copied());
            ids.extend(std::iter::repeat_n(self.pad, filled));
            mask.extend(std::iter::repeat_n(1.0_f32, one.len()));
            mask.extend(std::iter::repeat_n(0.0_f32, filled));
        }
        let shape = (batch.len(), longest);
        let ids = Tensor::from_vec(ids, shape, &Device::Cpu)?;
        let mask = Tensor::from_vec(mask, shape, &Device::Cpu)?;
        let hidden = self.bert.forward(&ids, &ids.zeros_like()?, Some(&mask))?;
        let mask = mask.unsqueeze(2)?;
        let sum = hidden.broadcast_mul(&mask)?.sum(1)?;
        let mean = sum.broadcast_div(&mask.sum(1)?.maximum(1e-9)?)?;
        let length = mean.sqr()?.sum_keepdim(1)?.sqrt()?.maximum(1e-12)?;
        mean.broadcast_div(&length)?.to_vec2()
    }
}

/// A BERT, and nothing else.
fn config_of(bytes: &[u8]) -> Result<Config, Unfit> {
    let of_config = |e: serde_json::Error| Unfit::of("config.json", e.into());
    let config: Value = serde_json::from_slice(bytes).map_err(of_config)?;
    let kind = config["model_type"].as_str().unwrap_or("none");
    if kind != "bert" {
        return Err(Unfit::Architecture(kind.to_owned()));
    }
    serde_json::from_value(config).map_err(of_config)
}

/// What else a folder may say: which parts the model has, how it makes one vector of many, and
/// how many tokens it takes.
fn settings_beside(folder: &Path) -> Result<usize, Unfit> {
    let files = Files(folder);
    if let Some(modules) = files.json("modules.json")? {
        let kinds = modules.as_array().into_iter().flatten();
        for kind in kinds.filter_map(|module| module["type"].as_str()) {
            let kind = kind.rsplit('.').next().unwrap_or(kind);
            if !MODULES.contains(&kind) {
                return Err(Unfit::Module(kind.to_owned()));
            }
        }
    }
    if let Some(pooling) = files.json("1_Pooling/config.json")? {
        let modes = pooling.as_object().into_iter().flatten();
        let mut modes = modes.filter(|(name, on)| name.starts_with("pooling_mode") && **on == true);
        let other = modes.find(|(name, _)| *name != "pooling_mode_mean_tokens");
        if let Some((name, _)) = other {
            return Err(Unfit::Pooling(name.clone()));
        }
    }
    let beside = files.json("sentence_bert_config.json")?;
    let tokens = beside.and_then(|beside| beside["max_seq_length"].as_u64());
    let tokens = tokens.and_then(|tokens| usize::try_from(tokens).ok());
    // Fewer than these, and nothing of a text is left beside the marks.
    Ok(tokens.unwrap_or(TOKENS).max(8))
}

/// The files of a model.
struct Files<'f>(&'f Path);

impl Files<'_> {
    fn needed(&self, file: &'static str) -> Result<Vec<u8>, Unfit> {
        match std::fs::read(self.0.join(file)) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(Unfit::NoFile {
                folder: self.0.to_owned(),
                file,
            }),
            read => read.map_err(|e| Unfit::of(file, e.into())),
        }
    }

    /// One that need not be there.
    fn json(&self, file: &'static str) -> Result<Option<Value>, Unfit> {
        match self.needed(file) {
            Err(Unfit::NoFile { .. }) => Ok(None),
            read => {
                let read = serde_json::from_slice(&read?);
                read.map(Some).map_err(|e| Unfit::of(file, e.into()))
            }
        }
    }
}

/// Why a folder is of no use.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error("there is no folder `{}`", .0.display())]
    NoFolder(PathBuf),
    #[error("`{}` has no `{file}`", .folder.display())]
    NoFile { folder: PathBuf, file: &'static str },
    #[error("its `config.json` says `{0}`; only `bert` runs here")]
    Architecture(String),
    #[error("it has a part `{0}`, which does not run here")]
    Module(String),
    #[error("it wants `{0}`; only the mean over the tokens runs here")]
    Pooling(String),
    #[error("its `{file}` is of no use")]
    File {
        file: &'static str,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("it failed")]
    Run(#[source] candle_core::Error),
}

impl Unfit {
    fn of(file: &'static str, source: Box<dyn std::error::Error + Send + Sync>) -> Self {
        Self::File { file, source }
    }
}

fn told(error: &Unfit) -> ToolError {
    let why = std::error::Error::source(error);
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    ToolError::dependency(format!("the model cannot be run: {error}{why}")).with_hint(
        "`chatlog.local_model` names a folder with `config.json`, `tokenizer.json` and \
         `model.safetensors` of a sentence-transformers BERT, like all-MiniLM-L6-v2",
    )
}
