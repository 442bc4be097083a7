//! The values that a setting can have: text, lists of it, words, times.
//!
//! An error here never says what the parser expected, but what to write.

use std::time::Duration;

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitInt, LitStr, Token, bracketed};

use crate::words::{self, RISKS};

/// The name of a setting.
pub(super) fn key(input: ParseStream<'_>) -> syn::Result<Ident> {
    let at = input.span();
    Ident::parse_any(input).map_err(|_| {
        syn::Error::new(
            at,
            "a setting begins with its name; write `risk = \"read\"`",
        )
    })
}

/// The comma between two settings.
pub(super) fn comma(input: ParseStream<'_>) -> syn::Result<()> {
    let at = input.span();
    match input.parse::<Token![,]>() {
        Ok(_) => Ok(()),
        Err(_) => Err(syn::Error::new(at, "write a comma before this")),
    }
}

/// A name that nothing has.
pub(super) fn unknown(what: &str, key: &Ident, known: &[&str]) -> syn::Error {
    let word = key.unraw().to_string();
    let hint = words::did_you_mean(&word, known);
    syn::Error::new(key.span(), format!("unknown {what} `{word}`; {hint}"))
}

/// `key = "text"`.
pub(super) fn text(key: &Ident, input: ParseStream<'_>) -> syn::Result<LitStr> {
    assigned(key, input, &format!("{key} = \"…\""))
}

/// `key = "text"`, with something in it.
pub(super) fn full_text(key: &Ident, input: ParseStream<'_>) -> syn::Result<LitStr> {
    let text = text(key, input)?;
    full(key, &text).map(|()| text)
}

/// Refuses text that is blank.
pub(super) fn full(key: &Ident, text: &LitStr) -> syn::Result<()> {
    match text.value().trim().is_empty() {
        true => Err(syn::Error::new(
            text.span(),
            format!("`{key}` is empty; write something, or remove it"),
        )),
        false => Ok(()),
    }
}

/// `key = ["text", "text"]`.
pub(super) fn texts(key: &Ident, input: ParseStream<'_>) -> syn::Result<Vec<LitStr>> {
    let write = format!("{key} = [\"…\", \"…\"]");
    list(key, input, &write, |item| parsed(key, item, &write))
}

/// `aliases = ["read_file"]`.
pub(super) fn aliases(key: &Ident, input: ParseStream<'_>) -> syn::Result<Vec<LitStr>> {
    let aliases = texts(key, input)?;
    let bad = aliases.iter().find(|a| !words::is_foreign(&a.value()));
    match bad {
        None => Ok(aliases),
        Some(bad) => Err(syn::Error::new(
            bad.span(),
            format!(
                "the alias `{}` is not a name; use letters, digits and `_ - . : /`, at most 128",
                bad.value().escape_debug()
            ),
        )),
    }
}

/// A setting that is there or not.
pub(super) fn flag(key: &Ident, input: ParseStream<'_>) -> syn::Result<bool> {
    match input.is_empty() || input.peek(Token![,]) {
        true => Ok(true),
        false => Err(syn::Error::new(
            input.span(),
            format!("`{key}` has no value; write `{key}`, or leave it out"),
        )),
    }
}

/// `risk = "read"`: the variant.
pub(super) fn risk(key: &Ident, input: ParseStream<'_>) -> syn::Result<Ident> {
    let word: LitStr = assigned(key, input, "risk = \"read\"")?;
    let value = word.value();
    match RISKS.iter().find(|(known, _)| *known == value) {
        Some((_, variant)) => Ok(Ident::new(variant, word.span())),
        None => Err(syn::Error::new(
            word.span(),
            format!(
                "unknown risk `{}`; write `read`, `exec_low`, `exec_high` or `write`",
                value.escape_debug()
            ),
        )),
    }
}

/// `timeout = "30s"`, or in seconds.
pub(super) fn timeout(key: &Ident, input: ParseStream<'_>) -> syn::Result<Duration> {
    const WRITE: &str = "timeout = 30";
    equals(key, input, WRITE)?;
    let at = place(key, input);
    let time = match input.peek(LitInt) {
        true => {
            let seconds = input.parse::<LitInt>()?.base10_parse();
            seconds.ok().and_then(words::seconds)
        }
        false => words::duration(&parsed::<LitStr>(key, input, WRITE)?.value()),
    };
    time.ok_or_else(|| {
        syn::Error::new(
            at,
            "`timeout` must be a time above zero, at most a year; write seconds (`30`), or text \
             with a unit (`\"500ms\"`, `\"2m\"`)",
        )
    })
}

/// `version = "1.0.0"`.
pub(super) fn version(key: &Ident, input: ParseStream<'_>) -> syn::Result<LitStr> {
    let text: LitStr = assigned(key, input, "version = \"1.0.0\"")?;
    match semver::Version::parse(&text.value()) {
        Ok(_) => Ok(text),
        Err(e) => Err(syn::Error::new(
            text.span(),
            format!(
                "`{}` is not a semantic version: {e}; write it like `1.0.0`",
                text.value().escape_debug()
            ),
        )),
    }
}

/// A whole number up to a limit.
pub(super) fn whole(key: &Ident, input: ParseStream<'_>, most: u64) -> syn::Result<u64> {
    let at = place(key, input);
    let number = input.parse::<LitInt>();
    let number = number.and_then(|n| n.base10_parse::<u64>());
    number.ok().filter(|n| *n <= most).ok_or_else(|| {
        let message = format!("`{key}` must be a whole number of at most {most}");
        syn::Error::new(at, message)
    })
}

/// `key = value`; `write` is the example to give where it is not.
pub(super) fn assigned<T: Parse>(
    key: &Ident,
    input: ParseStream<'_>,
    write: &str,
) -> syn::Result<T> {
    equals(key, input, write)?;
    parsed(key, input, write)
}

/// `key = [item, item]`.
pub(super) fn list<T>(
    key: &Ident,
    input: ParseStream<'_>,
    write: &str,
    item: impl Fn(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<Vec<T>> {
    equals(key, input, write)?;
    if !input.peek(syn::token::Bracket) {
        return Err(instead(place(key, input), write));
    }
    let content;
    bracketed!(content in input);
    let mut items = Vec::new();
    inside(&content, || {
        while !content.is_empty() {
            items.push(item(&content)?);
            if !content.is_empty() {
                comma(&content)?;
            }
        }
        Ok(())
    })?;
    Ok(items)
}

/// Reads what is between brackets. After an error the rest is passed over, or the
/// parser would complain of it as well.
pub(super) fn inside(
    content: ParseStream<'_>,
    read: impl FnOnce() -> syn::Result<()>,
) -> syn::Result<()> {
    let result = read();
    if result.is_err() {
        content.parse::<TokenStream>()?;
    }
    result
}

/// The equals sign.
pub(super) fn equals(key: &Ident, input: ParseStream<'_>, write: &str) -> syn::Result<()> {
    parsed::<Token![=]>(key, input, write).map(drop)
}

/// A value; `write` is the example to give where it is not.
pub(super) fn parsed<T: Parse>(key: &Ident, input: ParseStream<'_>, write: &str) -> syn::Result<T> {
    let at = place(key, input);
    input.parse().map_err(|_| instead(at, write))
}

pub(super) fn instead(at: Span, write: &str) -> syn::Error {
    syn::Error::new(at, format!("write `{write}`"))
}

/// Where the next token is; where none is, the name of the setting.
pub(super) fn place(key: &Ident, input: ParseStream<'_>) -> Span {
    match input.is_empty() || input.peek(Token![,]) {
        true => key.span(),
        false => input.span(),
    }
}
