//! OpenAPI documents, from a file or from the web.

use helve_core::openapi::{self, Options};
use helve_core::read::{MAX_BYTES, Syntax};
use helve_http::{Outgoing, Web, WebError};

use super::read::{Taken, guessed};
use super::{Found, Import, ImportArgs, Kind};
use crate::config::Config;
use crate::exit::Failure;
use crate::workspace;

/// Makes tools of a document.
pub(super) fn read(args: &ImportArgs, taken: &Taken) -> Result<Found, Failure> {
    // JSON is YAML, too; what is neither by its ending is told by its beginning.
    let syntax = match taken.syntax {
        Syntax::Json | Syntax::Yaml => taken.syntax,
        _ => guessed(&taken.bytes),
    };
    let options = Options {
        base_url: args.base_url.as_deref(),
        source: taken.url.as_deref(),
        group: args.group.as_deref(),
        secret: args.secret.as_deref(),
    };
    let imported = openapi::import(&taken.shown, &taken.bytes, syntax, &options);
    let failed = imported.has_errors();
    let tools = imported.tools.into_iter();
    let found = Found {
        kind: Kind::Openapi,
        tools: tools.map(|t| Import::new(t.def, t.losses)).collect(),
        findings: imported.findings,
        secrets: imported.secrets,
    };
    match failed {
        false => Ok(found),
        true => {
            super::shown::findings(&found);
            Err(
                Failure::input(format!("`{}` cannot be imported", taken.shown))
                    .hint("nothing was written"),
            )
        }
    }
}

/// Fetches a document, from where the guard lets it.
pub(super) async fn fetch(address: &str) -> Result<Taken, Failure> {
    let wrong =
        |e: &dyn std::fmt::Display| Failure::input(format!("`{address}` cannot be fetched: {e}"));
    let config = Config::load(&workspace::root())?;
    let url = reqwest::Url::parse(address).map_err(|e| wrong(&e))?;
    let most = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX);
    let web = Web::new(config.network.guard());
    let fetched = web.fetch(Outgoing::get(url, most)).await.map_err(|e| {
        let failure = wrong(&e);
        match &e {
            WebError::Refused(refused) => match refused.hint() {
                Some(hint) => failure.hint(hint),
                None => failure,
            },
            _ => failure,
        }
    })?;
    if !fetched.status.is_success() {
        return Err(wrong(&format!("the server answered {}", fetched.status)));
    }
    Ok(Taken {
        shown: address.to_owned(),
        syntax: guessed(&fetched.body),
        bytes: fetched.body,
        url: Some(fetched.url.to_string()),
    })
}
