//! The doc comment of a tool: what Level 1 shows, and what Level 2 adds.

use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

use crate::errors::Errors;

/// A doc comment, taken apart.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Docs {
    /// The first paragraph, on one line.
    pub(crate) description: Option<String>,
    /// The rest, as it stands.
    pub(crate) detail: Option<String>,
}

impl Docs {
    /// Reads the doc comment among the attributes.
    pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut text = String::new();
        let mut unread = false;
        for attr in attrs.iter().filter(|a| a.path().is_ident("doc")) {
            let Meta::NameValue(doc) = &attr.meta else {
                continue;
            };
            match &doc.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(line),
                    ..
                }) => {
                    text.push_str(&line.value());
                    text.push('\n');
                }
                other => {
                    unread = true;
                    errors.at(
                        other.span(),
                        "a tool's doc comment must be plain text; write it out",
                    );
                }
            }
        }
        let mut docs = Self::split(&text);
        if unread {
            // There is one, so it is not missing as well.
            docs.description.get_or_insert_default();
        }
        docs
    }

    fn split(text: &str) -> Self {
        let lines: Vec<&str> = text
            .lines()
            .map(|l| l.strip_prefix(' ').unwrap_or(l).trim_end())
            .skip_while(|l| l.is_empty())
            .collect();
        let end = lines.iter().position(|l| l.is_empty());
        let (first, rest) = lines.split_at(end.unwrap_or(lines.len()));
        let first: Vec<&str> = first.iter().map(|l| l.trim()).collect();
        let full = |s: String| (!s.is_empty()).then_some(s);
        Self {
            description: full(first.join(" ")),
            detail: full(rest.join("\n").trim_matches('\n').to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
