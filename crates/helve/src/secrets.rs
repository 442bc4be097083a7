//! Secrets: read when they are needed, from where the configuration says, and let go to
//! no other host than it names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use helve_http::guard::Place;
use helve_http::{SecretError, Secrets};

use crate::config::{Secret, Source};
use crate::env;

/// The most bytes of a secret.
const MOST: u64 = 64 * 1024;

/// How long a program may take that prints one.
const PATIENCE: Duration = Duration::from_secs(30);

/// The secrets of a hub.
#[derive(Debug)]
pub(crate) struct Configured {
    root: PathBuf,
    secrets: BTreeMap<String, Secret>,
}

impl Configured {
    pub(crate) fn new(root: &Path, secrets: BTreeMap<String, Secret>) -> Self {
        Self {
            root: root.to_owned(),
            secrets,
        }
    }

    /// The value, or why there is none; never both.
    pub(crate) async fn value(&self, source: &Source) -> Result<String, String> {
        let text = match source {
            Source::Env(name) => {
                env::secret(name).ok_or_else(|| format!("the variable `{name}` is not set"))?
            }
            Source::File(path) => file(&self.root.join(path)).await?,
            Source::Command(words) => printed(words, &self.root).await?,
        };
        let text = text.trim_end_matches(['\r', '\n']);
        match text.is_empty() {
            true => Err("it is empty".to_owned()),
            false => Ok(text.to_owned()),
        }
    }
}

#[async_trait]
impl Secrets for Configured {
    async fn secret(&self, name: &str, place: &Place) -> Result<String, SecretError> {
        let unknown = || SecretError::Unknown(name.to_owned());
        let secret = self.secrets.get(name).ok_or_else(unknown)?;
        if !goes_to(secret, place) {
            return Err(SecretError::Elsewhere {
                name: name.to_owned(),
                host: place.host.clone(),
            });
        }
        let value = self.value(&secret.source).await;
        value.map_err(|problem| SecretError::Unreadable {
            name: name.to_owned(),
            problem,
        })
    }
}

/// Whether a secret may be sent there.
fn goes_to(secret: &Secret, place: &Place) -> bool {
    let Some(hosts) = &secret.hosts else {
        return true;
    };
    let usual = matches!(place.port, 80 | 443);
    let whole = format!("{}:{}", place.host, place.port);
    hosts.iter().any(|host| {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        host == whole || usual && host == place.host
    })
}

async fn file(path: &Path) -> Result<String, String> {
    let path = path.to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let told = |e: std::io::Error| format!("`{}`: {e}", path.display());
        let length = std::fs::metadata(&path).map_err(told)?.len();
        match length > MOST {
            true => Err(format!("`{}` has more than {MOST} bytes", path.display())),
            false => std::fs::read_to_string(&path).map_err(told),
        }
    });
    read.await
        .unwrap_or_else(|_| Err("it could not be read".to_owned()))
}

/// What a program prints. Its words are the user's own; nothing of a call is in them.
async fn printed(words: &[String], root: &Path) -> Result<String, String> {
    let Some((program, args)) = words.split_first() else {
        return Err("it has no program".to_owned());
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the user's own program for a secret, which no tool and no workspace can name"
    )]
    let mut command = tokio::process::Command::new(program);
    command
        .args(args)
        .current_dir(root)
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true);
    let ran = tokio::time::timeout(PATIENCE, command.output()).await;
    let ran = ran.map_err(|_| format!("`{program}` took longer than {PATIENCE:?}"))?;
    let output = ran.map_err(|e| format!("`{program}` cannot be started: {e}"))?;
    if !output.status.success() {
        return Err(format!("`{program}` failed: {}", output.status));
    }
    // What it printed is not repeated, whatever is wrong with it.
    String::from_utf8(output.stdout).map_err(|_| format!("`{program}` printed no text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(host: &str, port: u16) -> Place {
        Place {
            host: host.to_owned(),
            port,
            literal: None,
        }
    }

    #[test]
    fn a_secret_goes_only_where_it_may() {
        let to = |hosts: &[&str]| Secret {
            source: Source::Env("X".to_owned()),
            hosts: Some(hosts.iter().map(|h| (*h).to_owned()).collect()),
        };
        let github = to(&["API.github.com", "127.0.0.1:8080"]);
        for (host, port, good) in [
            ("api.github.com", 443, true),
            ("api.github.com", 8443, false),
            ("github.com", 443, false),
            ("api.github.com.evil.example", 443, false),
            ("127.0.0.1", 8080, true),
            ("127.0.0.1", 80, false),
        ] {
            assert_eq!(goes_to(&github, &place(host, port)), good, "{host}:{port}");
        }
        assert!(
            !goes_to(&to(&[]), &place("api.github.com", 443)),
            "an empty list is nowhere"
        );
        let anywhere = Secret {
            hosts: None,
            ..github
        };
        assert!(goes_to(&anywhere, &place("a.example", 1)));
    }

    #[tokio::test]
    async fn where_values_come_from() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("key"), "from a file\r\n").unwrap();
        std::fs::write(folder.path().join("empty"), "\n").unwrap();
        let secrets = Configured::new(folder.path(), BTreeMap::new());
        let words = |w: &[&str]| Source::Command(w.iter().map(|w| (*w).to_owned()).collect());
        for (source, wanted) in [
            (Source::File("key".to_owned()), Ok("from a file")),
            (Source::File("empty".to_owned()), Err("it is empty")),
            (words(&["printf", "%s\n", "a b;c"]), Ok("a b;c")),
            (words(&["false"]), Err("`false` failed: exit status: 1")),
            (
                Source::Env("HELVE_NOT_SET".to_owned()),
                Err("the variable `HELVE_NOT_SET` is not set"),
            ),
        ] {
            let found = secrets.value(&source).await;
            assert_eq!(
                found.as_deref().map_err(String::as_str),
                wanted,
                "{source:?}"
            );
        }
        assert!(
            secrets
                .value(&Source::File("nobody".to_owned()))
                .await
                .is_err()
        );
        assert!(secrets.value(&words(&["/nobody/here"])).await.is_err());
    }
}
