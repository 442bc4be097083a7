//! The keys of the identity provider: fetched at the start, now and then, and when a token
//! came whose key is not known.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use helve_server::Identity;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::exit::Failure;
use crate::out;

/// How often keys are looked at again, and how soon at most.
const AGAIN: Duration = Duration::from_secs(60 * 60);
const SOON: Duration = Duration::from_secs(10);

/// How long the provider may take, and how much it may send.
const PATIENCE: Duration = Duration::from_secs(10);
const LARGEST: usize = 1024 * 1024;

/// Where the keys are.
#[derive(Clone)]
enum Place {
    Web(reqwest::Client, String),
    File(PathBuf),
}

/// The provider of the configuration, if there is one, and what keeps its keys fresh.
pub(super) fn open(
    root: &Path,
    config: &Config,
    closing: CancellationToken,
) -> Result<Option<(Arc<Identity>, impl Future<Output = ()> + Send + use<>)>, Failure> {
    let Some(table) = &config.identity else {
        return Ok(None);
    };
    let identity = Arc::new(Identity::new(table.settings().map_err(Failure::input)?));
    let place = match table.jwks.starts_with("http://") || table.jwks.starts_with("https://") {
        false => Place::File(root.join(&table.jwks)),
        true => {
            // A redirect could lead to keys of somebody else.
            let client = reqwest::Client::builder()
                .timeout(PATIENCE)
                .redirect(reqwest::redirect::Policy::none())
                .build()
                .map_err(|e| {
                    Failure::output(format!("the identity provider cannot be used: {e}"))
                })?;
            Place::Web(client, table.jwks.clone())
        }
    };
    let keeper = keep(identity.clone(), place, closing);
    Ok(Some((identity, keeper)))
}

async fn keep(identity: Arc<Identity>, place: Place, closing: CancellationToken) {
    loop {
        let read = tokio::select! {
            () = closing.cancelled() => return,
            read = read(&place) => read,
        };
        if let Err(problem) = read.and_then(|text| identity.set_keys(&text)) {
            out::warn(&format!(
                "the keys of the identity provider cannot be used: {}; its tokens do not count \
                 until they can",
                out::visible(&problem)
            ));
        }
        let wanted = async {
            tokio::time::sleep(SOON).await;
            tokio::select! {
                () = identity.keys_wanted() => {}
                () = tokio::time::sleep(AGAIN) => {}
            }
        };
        tokio::select! {
            () = closing.cancelled() => return,
            () = wanted => {}
        }
    }
}

async fn read(place: &Place) -> Result<String, String> {
    match place {
        Place::File(path) => {
            std::fs::read_to_string(path).map_err(|e| format!("`{}`: {e}", path.display()))
        }
        Place::Web(client, url) => {
            let answer = client.get(url).send().await.map_err(|e| e.to_string())?;
            let mut answer = answer.error_for_status().map_err(|e| e.to_string())?;
            let mut bytes = Vec::new();
            while let Some(piece) = answer.chunk().await.map_err(|e| e.to_string())? {
                bytes.extend_from_slice(&piece);
                if bytes.len() > LARGEST {
                    return Err(format!("it sends more than {LARGEST} bytes"));
                }
            }
            String::from_utf8(bytes).map_err(|e| e.to_string())
        }
    }
}
