//! Models that an operator has chosen; nothing else needs one.
//!
//! A [`Model`] is behind an address that speaks as OpenAI's does: it answers a question, or turns
//! texts into vectors. A model in a folder ([`local()`]) does only the latter, on this machine.
//! Whoever needs vectors knows an [`Embedder`], and not which of them it is.

#[cfg(feature = "local-model")]
mod local;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use helve_http::{Outgoing, Secrets, Web, failure};
use helve_kernel::ToolError;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Value, json};

/// The most bytes of an answer.
const MOST: u64 = 64 << 20;

/// What makes vectors of texts.
#[async_trait]
pub trait Embedder: fmt::Debug + Send + Sync {
    /// What it is called.
    fn name(&self) -> &str;

    /// The vectors of texts, in their order, all of one length.
    async fn embed(&self, texts: &[String]) -> Result<Vectors, ToolError>;
}

/// Vectors of texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Vectors {
    /// What made them. Only vectors of the same can be compared.
    pub by: String,
    /// One for each text.
    pub vectors: Vec<Vec<f32>>,
}

/// A model in a folder, as sentence-transformers keeps one: `config.json`, `tokenizer.json` and
/// `model.safetensors` of a BERT. It is read when it is needed first.
#[cfg(feature = "local-model")]
pub fn local(folder: &Path) -> Result<Arc<dyn Embedder>, NotBuilt> {
    Ok(Arc::new(local::Local::new(folder)))
}

/// As above, in a build that cannot.
#[cfg(not(feature = "local-model"))]
pub fn local(_: &Path) -> Result<Arc<dyn Embedder>, NotBuilt> {
    Err(NotBuilt)
}

/// A build without the feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this build has no local models: build with `--features local-model`")]
pub struct NotBuilt;

/// A model behind an address.
pub struct Model {
    /// Where it is, up to `/v1`.
    pub url: Url,
    /// Its name there.
    pub name: String,
    /// The secret that opens it, by its name.
    pub key: Option<String>,
    /// How it is reached.
    pub web: Web,
    /// Where secrets come from.
    pub secrets: Arc<dyn Secrets>,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("url", &self.url.as_str())
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Model {
    /// Asks it for JSON.
    pub async fn ask(&self, system: &str, question: &str) -> Result<Value, ToolError> {
        let body = json!({
            "model": self.name,
            "temperature": 0,
            "response_format": {"type": "json_object"},
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": question},
            ],
        });
        let answer = self.post("chat/completions", &body).await?;
        let text = answer["choices"][0]["message"]["content"].as_str();
        let text = text.ok_or_else(|| self.unfit("its answer has no text"))?;
        // Some wrap it in a fence, whatever they are told.
        let inner = text.find('{').zip(text.rfind('}'));
        let inner = inner.filter(|(from, to)| from < to);
        let inner = inner.map_or(text, |(from, to)| &text[from..=to]);
        serde_json::from_str(inner).map_err(|_| self.unfit("its answer is no JSON"))
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, ToolError> {
        let mut url = self.url.clone();
        url.set_path(&format!("{}/{path}", self.url.path().trim_end_matches('/')));
        let mut headers = vec![(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        if let Some(name) = &self.key {
            let place = self.web.guard().place(&url);
            let place = place.map_err(|e| ToolError::permission(e.to_string()))?;
            let secret = self.secrets.secret(name, &place).await.map_err(|e| {
                let hint = e.hint();
                ToolError::dependency(e.to_string()).with_hint(hint)
            })?;
            let value = HeaderValue::from_str(&format!("Bearer {secret}"));
            let mut value = value.map_err(|_| {
                ToolError::dependency(format!("the secret `{name}` cannot be sent as a header"))
            })?;
            value.set_sensitive(true);
            headers.push((AUTHORIZATION, value));
        }
        let outgoing = Outgoing {
            method: Method::POST,
            url,
            headers,
            body: Some(body.to_string().into_bytes()),
            ..Outgoing::get(self.url.clone(), MOST)
        };
        let fetched = self.web.fetch(outgoing).await;
        let fetched = fetched.map_err(|e| failure(&e, &Method::GET))?;
        if !fetched.status.is_success() {
            let status = fetched.status;
            let error = format!("the model `{}` answered {status}", self.name);
            return Err(match status.as_u16() {
                429 | 500.. => ToolError::transient(error),
                _ => ToolError::dependency(error)
                    .with_hint("are address, name and key of the model right?"),
            });
        }
        serde_json::from_slice(&fetched.body).map_err(|_| self.unfit("its answer is no JSON"))
    }

    fn unfit(&self, why: &str) -> ToolError {
        ToolError::dependency(format!(
            "the model `{}` is of no use here: {why}",
            self.name
        ))
    }
}

#[async_trait]
impl Embedder for Model {
    fn name(&self) -> &str {
        &self.name
    }

    async fn embed(&self, texts: &[String]) -> Result<Vectors, ToolError> {
        let body = json!({"model": self.name, "input": texts, "encoding_format": "float"});
        let answer = self.post("embeddings", &body).await?;
        let mut vectors = vec![Vec::new(); texts.len()];
        for (i, item) in answer["data"].as_array().into_iter().flatten().enumerate() {
            let place = item["index"].as_u64().map_or(i, |i| i as usize);
            let numbers = item["embedding"].as_array().into_iter().flatten();
            let vector = numbers.map(|n| n.as_f64().map(|n| n as f32));
            if let (Some(slot), Some(vector)) = (vectors.get_mut(place), vector.collect()) {
                *slot = vector;
            }
        }
        match vectors.iter().any(Vec::is_empty) {
            true => Err(self.unfit("it did not give a vector for every text")),
            false => Ok(Vectors {
                by: self.name.clone(),
                vectors,
            }),
        }
    }
}
