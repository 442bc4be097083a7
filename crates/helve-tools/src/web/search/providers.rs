//! How each provider is asked, and what it answers.

use helve_http::Outgoing;
use helve_kernel::ToolError;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::{Depth, Hit, Provider, Question, Since, Topic};
use crate::web::{plain, start, tidy};

/// The most bytes of an answer.
const MOST: u64 = 5_000_000;

/// The most characters of a snippet.
const SNIPPET: usize = 2_000;

/// The most characters and words that Brave takes.
const BRAVE: (usize, usize) = (400, 50);

impl Provider {
    /// Its name in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Provider::Tavily => "tavily",
            Provider::Searxng => "searxng",
            Provider::Brave => "brave",
        }
    }

    /// Where it is, if it is in one place.
    pub(super) fn usual(self) -> Option<&'static str> {
        match self {
            Provider::Tavily => Some("https://api.tavily.com"),
            Provider::Searxng => None,
            Provider::Brave => Some("https://api.search.brave.com"),
        }
    }
}

/// Where searches are sent, of where the provider is.
pub(super) fn endpoint(provider: Provider, base: &Url) -> Result<Url, ToolError> {
    let path = match provider {
        Provider::Tavily | Provider::Searxng => "/search",
        Provider::Brave => "/res/v1/web/search",
    };
    let mut url = base.clone();
    let beneath = base.path().trim_end_matches('/');
    if !beneath.ends_with(path) {
        url.set_path(&format!("{beneath}{path}"));
    }
    url.set_fragment(None);
    Ok(url)
}

/// The request, and what of the question is not in it.
pub(super) fn request(
    provider: Provider,
    mut url: Url,
    key: Option<&str>,
    question: &Question,
) -> Result<(Outgoing, Vec<String>), ToolError> {
    let mut lost = Vec::new();
    let mut headers = vec![(ACCEPT, HeaderValue::from_static("application/json"))];
    let mut body = None;
    match provider {
        Provider::Tavily => {
            headers.push((CONTENT_TYPE, HeaderValue::from_static("application/json")));
            headers.extend(secret(
                AUTHORIZATION,
                key.map(|key| format!("Bearer {key}")),
            )?);
            body = Some(tavily(question).to_string().into_bytes());
        }
        Provider::Searxng => {
            headers.extend(secret(
                AUTHORIZATION,
                key.map(|key| format!("Bearer {key}")),
            )?);
            let pairs = searxng(question, &mut lost);
            url.query_pairs_mut().extend_pairs(pairs);
        }
        Provider::Brave => {
            let name = HeaderName::from_static("x-subscription-token");
            headers.extend(secret(name, key.map(str::to_owned))?);
            let pairs = brave(question, &mut lost)?;
            url.query_pairs_mut().extend_pairs(pairs);
        }
    }
    if provider != Provider::Tavily && question.depth == Depth::Advanced {
        lost.push(format!(
            "`search_depth`: `{}` has one depth",
            provider.word()
        ));
    }
    if provider == Provider::Brave && question.answer {
        lost.push("`include_answer`: `brave` gives none here".to_owned());
    }
    let method = if body.is_some() {
        Method::POST
    } else {
        Method::GET
    };
    let outgoing = Outgoing {
        method,
        url,
        headers,
        body,
        max_bytes: MOST,
    };
    Ok((outgoing, lost))
}

fn secret(
    name: HeaderName,
    value: Option<String>,
) -> Result<Option<(HeaderName, HeaderValue)>, ToolError> {
    let Some(value) = value else {
        return Ok(None);
    };
    let value = HeaderValue::from_str(&value);
    let mut value = value
        .map_err(|_| ToolError::dependency("the key has characters that no header can hold"))?;
    value.set_sensitive(true);
    Ok(Some((name, value)))
}

fn tavily(question: &Question) -> Value {
    let mut body = json!({
        "query": question.query,
        "max_results": question.most,
        "search_depth": match question.depth {
            Depth::Basic => "basic",
            Depth::Advanced => "advanced",
        },
        "topic": match question.topic {
            Topic::General => "general",
            Topic::News => "news",
            Topic::Finance => "finance",
        },
        "include_answer": question.answer,
        "include_raw_content": false,
        "include_images": false,
    });
    if let Some(since) = since(question.since) {
        body["time_range"] = since.into();
    }
    if !question.include.is_empty() {
        body["include_domains"] = question.include.clone().into();
    }
    if !question.exclude.is_empty() {
        body["exclude_domains"] = question.exclude.clone().into();
    }
    body
}

fn searxng(question: &Question, lost: &mut Vec<String>) -> Vec<(&'static str, String)> {
    let category = match question.topic {
        Topic::News => "news",
        Topic::General => "general",
        Topic::Finance => {
            lost.push("`topic`: `searxng` has no finance; everything is searched".to_owned());
            "general"
        }
    };
    let mut pairs = vec![
        ("q", with_sites(question)),
        ("format", "json".to_owned()),
        ("categories", category.to_owned()),
    ];
    let range = match question.since {
        Since::Week => {
            lost.push("`time_range`: `searxng` has no week; it is a month".to_owned());
            Some("month")
        }
        other => since(other),
    };
    pairs.extend(range.map(|range| ("time_range", range.to_owned())));
    pairs
}

fn brave(
    question: &Question,
    lost: &mut Vec<String>,
) -> Result<Vec<(&'static str, String)>, ToolError> {
    if question.topic != Topic::General {
        lost.push("`topic`: `brave` searches everything".to_owned());
    }
    let query = with_sites(question);
    let (letters, words) = BRAVE;
    if query.chars().count() > letters || query.split_whitespace().count() > words {
        return Err(ToolError::validation(format!(
            "`brave` takes at most {letters} characters and {words} words, with the domains"
        ))
        .with_hint("make the query shorter"));
    }
    let mut pairs = vec![
        ("q", query),
        ("count", question.most.to_string()),
        ("text_decorations", "false".to_owned()),
        ("result_filter", "web".to_owned()),
    ];
    let fresh = match question.since {
        Since::Any => None,
        Since::Day => Some("pd"),
        Since::Week => Some("pw"),
        Since::Month => Some("pm"),
        Since::Year => Some("py"),
    };
    pairs.extend(fresh.map(|fresh| ("freshness", fresh.to_owned())));
    Ok(pairs)
}

fn since(since: Since) -> Option<&'static str> {
    match since {
        Since::Any => None,
        Since::Day => Some("day"),
        Since::Week => Some("week"),
        Since::Month => Some("month"),
        Since::Year => Some("year"),
    }
}

/// The query with the domains as search engines read them. What comes back is looked at again.
fn with_sites(question: &Question) -> String {
    let mut query = question.query.clone();
    let sites: Vec<String> = question
        .include
        .iter()
        .map(|d| format!("site:{d}"))
        .collect();
    match sites.as_slice() {
        [] => {}
        [one] => query.push_str(&format!(" {one}")),
        many => query.push_str(&format!(" ({})", many.join(" OR "))),
    }
    for domain in &question.exclude {
        query.push_str(&format!(" -site:{domain}"));
    }
    query
}

/// The pages of an answer, and its short answer.
pub(super) fn results(
    provider: Provider,
    value: &Value,
) -> Result<(Vec<Hit>, Option<String>), ToolError> {
    let (list, answer) = match provider {
        Provider::Tavily => (&value["results"], line(&value["answer"])),
        Provider::Searxng => {
            let first = &value["answers"][0];
            // Older ones give a text, newer ones an object with it.
            let answer = line(first).or_else(|| line(&first["answer"]));
            (&value["results"], answer)
        }
        Provider::Brave => (&value["web"]["results"], None),
    };
    let nothing = Vec::new();
    let list = match list {
        Value::Array(list) => list,
        // Brave leaves out what it did not find.
        Value::Null if provider == Provider::Brave && value["type"] == "search" => &nothing,
        _ => {
            let word = provider.word();
            return Err(ToolError::dependency(format!(
                "`{word}` answered without a list of results"
            ))
            .with_hint("is `search_url` in `[web]` right?"));
        }
    };
    let hits = list.iter().filter_map(|item| hit(provider, item));
    Ok((hits.collect(), answer))
}

fn hit(provider: Provider, item: &Value) -> Option<Hit> {
    let url = item["url"].as_str()?.to_owned();
    let (snippet, published) = match provider {
        Provider::Tavily => (line(&item["content"]), &item["published_date"]),
        Provider::Searxng => (line(&item["content"]), &item["publishedDate"]),
        Provider::Brave => {
            let more = item["extra_snippets"].as_array().into_iter().flatten();
            let all = std::iter::once(&item["description"]).chain(more);
            let all: Vec<String> = all.filter_map(line).collect();
            let age = if item["page_age"].is_string() {
                &item["page_age"]
            } else {
                &item["age"]
            };
            (Some(all.join(" … ")), age)
        }
    };
    Some(Hit {
        title: line(&item["title"]).unwrap_or_default(),
        url,
        snippet: start(&snippet.unwrap_or_default(), SNIPPET),
        score: item["score"].as_f64(),
        published: line(published),
    })
}

/// What an answer says is wrong with a request.
pub(super) fn complaint(value: &Value) -> Option<String> {
    let places = [
        "/detail/error",
        "/detail",
        "/error/detail",
        "/error/message",
        "/error",
        "/message",
    ];
    places.iter().find_map(|place| line(value.pointer(place)?))
}

fn line(value: &Value) -> Option<String> {
    let text = tidy::tidy(&plain::line(value.as_str()?));
    (!text.is_empty()).then_some(text)
}
