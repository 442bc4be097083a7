//! `[chatlog]` and `[model]`: how exported chats are searched, and the model that may help.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use helve_http::Web;
use helve_tools::chatlog::{Meaning, Settings};
use helve_tools::model::{Model, local};
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Config;
use crate::secrets::Configured;

/// How exported chats are searched.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Chatlog {
    /// The zone of times that have none, and in which times are shown, like `Asia/Shanghai` [default: the machine's].
    pub timezone: Option<String>,
    /// By what messages are compared that mean something similar: `none`, `lsa` (what goes together in the chats; no model), `model` (`model.embedding`) or `local` (`chatlog.local_model`) [default: `lsa`].
    pub vectors: Vectors,
    /// A folder with `config.json`, `tokenizer.json` and `model.safetensors` of a sentence-transformers BERT, like all-MiniLM-L6-v2; needs a build with `--features local-model` [default: none].
    pub local_model: Option<PathBuf>,
}

/// By what messages are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Vectors {
    None,
    #[default]
    Lsa,
    Model,
    Local,
}

/// A language model behind an address that speaks as OpenAI's does.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelTable {
    /// The address up to the version, like `https://api.example.com/v1`. What is not public needs a grant in `network.allow`.
    pub url: String,
    /// The name of the model that answers questions (`use_llm`) [default: none].
    #[serde(default)]
    pub name: Option<String>,
    /// The name of the model that turns texts into vectors [default: none].
    #[serde(default)]
    pub embedding: Option<String>,
    /// The name of a secret in `[secrets]` [default: none].
    #[serde(default)]
    pub key: Option<String>,
}

impl Config {
    /// What is wrong with these tables.
    pub(super) fn chatlog_problem(&self) -> Option<String> {
        if let Err(problem) = self.zone() {
            return Some(problem);
        }
        let embedding = self.model.as_ref().and_then(|m| m.embedding.as_ref());
        if self.chatlog.vectors == Vectors::Model && embedding.is_none() {
            return Some(
                "`chatlog.vectors` is `model`, and `model.embedding` names none".to_owned(),
            );
        }
        if self.chatlog.vectors == Vectors::Local {
            match &self.chatlog.local_model {
                None => {
                    return Some(
                        "`chatlog.vectors` is `local`, and `chatlog.local_model` names no folder"
                            .to_owned(),
                    );
                }
                // Others begin at the workspace, which is not known yet.
                Some(folder) if folder.is_absolute() || cfg!(not(feature = "local-model")) => {
                    if let Err(problem) = local(folder) {
                        return Some(format!("`chatlog.vectors` is `local`; {problem}"));
                    }
                }
                Some(_) => {}
            }
        }
        let url = &self.model.as_ref()?.url;
        match url::Url::parse(url) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => None,
            _ => Some(
                "`model.url` is no address; write it like `https://api.example.com/v1`".to_owned(),
            ),
        }
    }

    fn zone(&self) -> Result<TimeZone, String> {
        match &self.chatlog.timezone {
            None => Ok(TimeZone::system()),
            Some(name) => TimeZone::get(name).map_err(|_| {
                format!("`chatlog.timezone`: there is no time zone `{name}`; write it like `Asia/Shanghai`")
            }),
        }
    }

    /// The chats of a hub, as its tools use them. Nothing is opened yet.
    pub(crate) fn chats(&self, root: &Path, folder: &Path) -> Result<Settings, String> {
        let secrets = Arc::new(Configured::new(root, self.secrets.read()?));
        let model = |name: &Option<String>| -> Option<Arc<Model>> {
            let table = self.model.as_ref()?;
            Some(Arc::new(Model {
                url: url::Url::parse(&table.url).ok()?,
                name: name.clone()?,
                key: table.key.clone(),
                web: Web::new(self.network.guard()),
                secrets: secrets.clone(),
            }))
        };
        let embedding = || model(&self.model.as_ref()?.embedding);
        let meaning = match (self.chatlog.vectors, &self.chatlog.local_model) {
            (Vectors::Lsa, _) => Some(Meaning::Lsa),
            (Vectors::Model, _) => embedding().map(|model| Meaning::Model(model)),
            (Vectors::Local, Some(model)) => {
                let made = local(&root.join(model));
                let made = made.map_err(|e| format!("`chatlog.vectors` is `local`; {e}"));
                Some(Meaning::Model(made?))
            }
            (Vectors::None | Vectors::Local, _) => Some(Meaning::None),
        };
        Ok(Settings {
            folder: folder.to_owned(),
            zone: self.zone()?,
            // What else there may be was refused when the file was read.
            meaning: meaning.unwrap_or_default(),
            model: self.model.as_ref().and_then(|table| model(&table.name)),
        })
    }
}
