//! A page of HTML as something to read: its article, or all of it.
//!
//! What a person does not see is taken out before anything else: a page that hides words in it
//! speaks to whoever reads its source, and that is nobody but a program. Links are made absolute,
//! and those that run something lose their address.

use super::plain;
use super::tidy::tidy;

/// What a page is given as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Markdown,
    Text,
}

/// A page that was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Page {
    pub(super) title: Option<String>,
    pub(super) text: String,
    /// Whether that is its article, or all of it.
    pub(super) article: bool,
}

/// An article of fewer characters than this is none.
#[cfg(feature = "web")]
const ARTICLE: usize = 200;

/// Reads a page. It never fails: what cannot be taken apart comes as its text.
pub(super) fn read(html: &str, url: &str, shape: Shape, main: bool) -> Page {
    #[cfg(feature = "web")]
    if !plain::is_deep(html) {
        // The parsers are not ours, and whoever writes a page may know them better.
        let read = std::panic::catch_unwind(|| tree::read(html, url, shape, main));
        if let Ok(Some(page)) = read {
            return page;
        }
    }
    #[cfg(not(feature = "web"))]
    let _ = (url, shape, main);
    let text = plain::text(html);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    Page {
        title: plain::title(html),
        text: tidy(&lines.join("\n")),
        article: false,
    }
}

/// The same without a net, for tests that look for panics; nothing if it is too deep.
#[cfg(all(test, feature = "web"))]
pub(super) fn read_unguarded(html: &str, url: &str, shape: Shape) -> Option<Page> {
    match plain::is_deep(html) {
        true => None,
        false => tree::read(html, url, shape, true),
    }
}

#[cfg(feature = "web")]
mod tree {
    use dom_query::{Document, NodeRef};
    use dom_smoothie::{Config, Readability, TextMode};
    use reqwest::Url;

    use super::super::plain;
    use super::super::tidy::weight;
    use super::{ARTICLE, Page, Shape, tidy};

    /// More elements than this are not weighed for an article.
    const ELEMENTS: usize = 60_000;

    /// A tree deeper than this is not walked: whoever walks it takes stack for each step.
    const DEEP: usize = 1_500;

    /// The page, or nothing if it is too deep.
    pub(super) fn read(html: &str, url: &str, shape: Shape, main: bool) -> Option<Page> {
        let document = Document::from(html);
        if is_deep(&document) {
            return None;
        }
        let title = document.select("title").first().text();
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = (!title.is_empty()).then(|| tidy(&title));
        clean(&document, url);
        let text = match shape {
            Shape::Markdown => document.md(None).to_string(),
            Shape::Text => {
                document.select("head").remove();
                document.formatted_text().to_string()
            }
        };
        let whole = Page {
            title,
            text: tidy(&text),
            article: false,
        };
        let found = main
            .then(|| article(document, url, shape, &whole))
            .flatten();
        Some(found.unwrap_or(whole))
    }

    /// Measures a tree level by level, without a stack.
    fn is_deep(document: &Document) -> bool {
        let mut level = vec![document.root()];
        for _ in 0..DEEP {
            if level.is_empty() {
                return false;
            }
            level = level.iter().flat_map(NodeRef::children).collect();
        }
        true
    }

    /// The article, if there is one that is more than a scrap of the page.
    fn article(document: Document, url: &str, shape: Shape, whole: &Page) -> Option<Page> {
        let config = Config {
            max_elements_to_parse: ELEMENTS,
            text_mode: match shape {
                Shape::Markdown => TextMode::Markdown,
                Shape::Text => TextMode::Formatted,
            },
            ..Config::default()
        };
        let mut readability = Readability::with_document(document, Some(url), Some(config)).ok()?;
        let found = readability.parse().ok()?;
        let text = tidy(&found.text_content);
        let (part, all) = (weight(&text), weight(&whole.text));
        if part < ARTICLE || part * 8 < all {
            return None;
        }
        let title = tidy(&found.title);
        Some(Page {
            title: (!title.is_empty()).then_some(title).or(whole.title.clone()),
            text,
            article: true,
        })
    }

    fn clean(document: &Document, url: &str) {
        document
            .select("script, style, noscript, template, iframe, object, embed, [hidden], dialog:not([open])")
            .remove();
        for node in document.select("[style]").nodes() {
            if node.attr("style").is_some_and(|style| plain::hides(&style)) {
                node.remove_from_parent();
            }
        }
        let base = Url::parse(url).ok();
        let named = document.select("base[href]").first().attr("href");
        let base = match (base, named) {
            (Some(base), Some(named)) => base.join(&named).ok().or(Some(base)),
            (base, _) => base,
        };
        // What was resolved is not resolved once more.
        document.select("base").remove();
        for node in document.select("a[href], area[href]").nodes() {
            resolve(node, "href", base.as_ref());
        }
        for node in document.select("img").nodes() {
            node.remove_attrs(&["srcset", "data-src", "data-srcset"]);
            if !resolve(node, "src", base.as_ref()) {
                node.remove_from_parent();
            }
        }
    }

    /// Makes an address absolute; one that is not of the web is taken out.
    fn resolve(node: &NodeRef<'_>, name: &str, base: Option<&Url>) -> bool {
        let Some(found) = node.attr(name) else {
            return false;
        };
        let url = match base {
            Some(base) => base.join(found.trim()),
            None => Url::parse(found.trim()),
        };
        let good = |url: &Url| matches!(url.scheme(), "http" | "https" | "mailto");
        match url.ok().filter(good) {
            Some(url) => {
                node.set_attr(name, url.as_str());
                true
            }
            None => {
                node.remove_attr(name);
                false
            }
        }
    }
}
