//! Secrets: named in a definition, known only here, and only for as long as a request.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderName, HeaderValue};
use serde::Deserialize;

use crate::guard::Place;

/// Where the values of secrets come from.
#[async_trait]
pub trait Secrets: Send + Sync {
    /// The value of that secret, for a request to that place. Whoever keeps secrets may
    /// refuse to let one go there.
    async fn secret(&self, name: &str, place: &Place) -> Result<String, SecretError>;
}

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Nobody knows that name.
    #[error("the secret `{0}` is not configured")]
    Unknown(String),
    /// It is not for that place.
    #[error("the secret `{name}` is not for `{host}`")]
    Elsewhere {
        /// The secret.
        name: String,
        /// Where it was to go.
        host: String,
    },
    /// It cannot be had.
    #[error("the secret `{name}` cannot be read: {problem}")]
    Unreadable {
        /// The secret.
        name: String,
        /// Why; never with its value.
        problem: String,
    },
}

impl SecretError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            SecretError::Unknown(name) => format!(
                "an operator can name where it comes from in `helve.toml`: `[secrets]` \
                 `{name} = \"env:NAME\"`"
            ),
            SecretError::Elsewhere { name, .. } => {
                format!("an operator can add the host to `hosts` of `secrets.{name}`")
            }
            SecretError::Unreadable { .. } => "`helve doctor` looks at every secret".to_owned(),
        }
    }
}

/// No secrets at all.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NoSecrets;

#[async_trait]
impl Secrets for NoSecrets {
    async fn secret(&self, name: &str, _: &Place) -> Result<String, SecretError> {
        Err(SecretError::Unknown(name.to_owned()))
    }
}

/// How a request says who asks: one row of `auth` in a definition.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Auth {
    pub(crate) scheme: Scheme,
    /// The name of the secret.
    pub(crate) secret: String,
    /// Of the header, parameter or cookie.
    pub(crate) name: Option<String>,
    /// Whether the request also goes without it.
    #[serde(default)]
    pub(crate) optional: bool,
}

/// Where the secret goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scheme {
    /// `Authorization: Bearer …`.
    Bearer,
    /// `Authorization: Basic …`; the secret is `user:password`.
    Basic,
    /// A header of that name.
    Header,
    /// A parameter of that name in the query.
    Query,
    /// A cookie of that name.
    Cookie,
}

/// A secret on its way: what is added to a request, and what must never be seen.
#[derive(Default)]
pub(crate) struct Credentials {
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) query: Vec<(String, String)>,
    cookies: Vec<String>,
    /// Every form in which a secret goes out.
    pub(crate) hidden: Vec<String>,
}

impl Credentials {
    /// Adds one.
    pub(crate) fn add(&mut self, auth: &Auth, value: &str) -> Result<(), SecretError> {
        let unreadable = |problem: &str| SecretError::Unreadable {
            name: auth.secret.clone(),
            problem: problem.to_owned(),
        };
        if value.is_empty() {
            return Err(unreadable("it is empty"));
        }
        let name = auth.name.clone().unwrap_or_default();
        self.hidden.push(value.to_owned());
        let header = |name: HeaderName, text: String| {
            let value = HeaderValue::from_str(&text);
            let mut value = value.map_err(|_| unreadable("no header can hold its characters"))?;
            value.set_sensitive(true);
            Ok((name, value))
        };
        match auth.scheme {
            Scheme::Bearer => {
                self.headers
                    .push(header(AUTHORIZATION, format!("Bearer {value}"))?);
            }
            Scheme::Basic => {
                if !value.contains(':') {
                    return Err(unreadable("for `basic` it must be `user:password`"));
                }
                let written = STANDARD.encode(value);
                self.headers
                    .push(header(AUTHORIZATION, format!("Basic {written}"))?);
                self.hidden.push(written);
                self.hidden
                    .extend(value.split_once(':').map(|(_, p)| p.to_owned()));
            }
            Scheme::Header => {
                let name = HeaderName::from_bytes(name.as_bytes());
                let name = name.map_err(|_| unreadable("its header has no name"))?;
                self.headers.push(header(name, value.to_owned())?);
            }
            Scheme::Query => {
                self.hidden.push(crate::request::encode(value));
                self.query.push((name, value.to_owned()));
            }
            Scheme::Cookie => {
                let plain = |b: u8| b.is_ascii_graphic() && !b"\",;\\".contains(&b);
                if !value.bytes().all(plain) {
                    return Err(unreadable("no cookie can hold its characters"));
                }
                self.cookies.push(format!("{name}={value}"));
            }
        }
        Ok(())
    }

    /// The cookies of the request, those of its arguments too, as one header.
    pub(crate) fn cookie_header(&self, others: &[String]) -> Option<(HeaderName, HeaderValue)> {
        let all: Vec<&str> = others
            .iter()
            .chain(&self.cookies)
            .map(String::as_str)
            .collect();
        let mut value = HeaderValue::from_str(&all.join("; ")).ok()?;
        value.set_sensitive(true);
        (!all.is_empty()).then_some((COOKIE, value))
    }
}
