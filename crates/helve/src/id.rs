//! Ids of runs, approvals and tokens, which people may shorten to their ending.
//!
//! Ids begin with the time and end with chance, so it is the ending that tells them
//! apart. It is looked up in what the hub lists to whoever asks.

use helve_kernel::{ApprovalId, QuestionId, RunId, TokenId};
use serde_json::Value;

use crate::client::Client;
use crate::exit::Failure;
use crate::out;

/// What an id is of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Run,
    Approval,
    Question,
    Token,
}

/// The shortest ending that is taken, and the one that is shown.
const LEAST: usize = 6;
const SHOWN: usize = 8;

/// How far back an ending is looked for.
const MOST: usize = 10_000;

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Run => "run",
            Kind::Approval => "approval",
            Kind::Question => "question",
            Kind::Token => "token",
        }
    }

    fn is_whole(self, text: &str) -> bool {
        match self {
            Kind::Run => RunId::parse(text).is_some(),
            Kind::Approval => ApprovalId::parse(text).is_some(),
            Kind::Question => QuestionId::parse(text).is_some(),
            Kind::Token => TokenId::parse(text).is_some(),
        }
    }

    /// The whole id that was meant.
    pub(crate) async fn find(self, client: &Client, text: &str) -> Result<String, Failure> {
        if self.is_whole(text) {
            return Ok(text.to_owned());
        }
        let word = self.word();
        let hex = text.bytes().all(|b| b.is_ascii_hexdigit());
        if text.len() < LEAST || !hex {
            let error = format!("`{}` is not the id of any {word}", out::visible(text));
            let hint = format!("give all of it, or at least the last {LEAST} characters");
            return Err(Failure::usage(error).hint(hint));
        }
        let found = match self {
            Kind::Token | Kind::Question => page(client, &format!("/{word}s")).await?,
            _ => client.items(&format!("/{word}s"), "cursor", MOST).await?,
        };
        let ids = found.iter().filter_map(|item| item["id"].as_str());
        self.chosen(ids, text)
    }

    /// The one id that ends so.
    fn chosen<'i>(self, ids: impl Iterator<Item = &'i str>, text: &str) -> Result<String, Failure> {
        let word = self.word();
        let ending = text.to_lowercase();
        let ids: Vec<&str> = ids.filter(|id| id.ends_with(&ending)).collect();
        match ids.as_slice() {
            [id] => Ok((*id).to_owned()),
            [] => Err(
                Failure::input(format!("there is no {word} whose id ends in `{text}`"))
                    .hint(format!("`{}` lists them", self.lister())),
            ),
            several => {
                let error = format!("`{text}` is the ending of more than one {word}");
                Err(Failure::usage(error).hint(format!("it is one of {}", several.join(", "))))
            }
        }
    }

    fn lister(self) -> &'static str {
        match self {
            Kind::Run => "helve runs",
            Kind::Approval => "helve approvals --state all",
            Kind::Question => "helve questions",
            Kind::Token => "helve token list",
        }
    }
}

/// All tokens.
pub(crate) async fn tokens(client: &Client) -> Result<Vec<Value>, Failure> {
    page(client, "/tokens").await
}

/// All of what comes in one page.
async fn page(client: &Client, path: &str) -> Result<Vec<Value>, Failure> {
    let mut page = client.get(path).await?;
    match page["items"].take() {
        Value::Array(items) => Ok(items),
        _ => Ok(Vec::new()),
    }
}

/// The ending by which an id is shown.
pub(crate) fn short(id: &Value) -> &str {
    let id = id.as_str().unwrap_or_default();
    let start = id.len().saturating_sub(SHOWN);
    id.get(start..).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_must_be_of_one() {
        let ids = ["run_01aa111111", "run_02bb111111", "run_03cc222222"];
        let chosen = |text| Kind::Run.chosen(ids.into_iter(), text);
        assert_eq!(chosen("222222").unwrap(), "run_03cc222222");
        assert_eq!(chosen("CC222222").unwrap(), "run_03cc222222");
        let several = chosen("111111").unwrap_err();
        assert_eq!(
            several.hint.as_deref(),
            Some("it is one of run_01aa111111, run_02bb111111")
        );
        assert_eq!(several.exit, crate::exit::Exit::Usage);
        assert_eq!(chosen("333333").unwrap_err().exit, crate::exit::Exit::Input);
    }
}
