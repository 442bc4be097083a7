//! The settings that have parts of their own.

use proc_macro2::{Delimiter, Group};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::token::{Brace, Paren};
use syn::{Ident, LitStr, Token, braced, parenthesized};

use super::values::{self, assigned, instead, list, parsed, place};
use crate::words::{self, MAX_DELAY_MS, MAX_RETRIES};

/// What to do after a transient error, where it is not the default.
#[derive(Default)]
pub(crate) struct Retry {
    pub(crate) max: Option<u32>,
    pub(crate) delay_ms: Option<u64>,
}

/// Whether what a tool did can be undone.
pub(crate) enum Reversible {
    Yes,
    No,
    Compensate(LitStr),
}

/// What must hold before a call.
pub(crate) enum Prerequisite {
    Text(LitStr),
    Check {
        condition: LitStr,
        check_tool: Option<LitStr>,
        action_if_not_met: Option<LitStr>,
    },
}

/// A tool used beside this one.
pub(crate) struct Related {
    pub(crate) name: LitStr,
    pub(crate) relation: Option<LitStr>,
}

/// A call that works.
pub(crate) struct Example {
    pub(crate) scenario: Option<LitStr>,
    /// The JSON object, braces and all.
    pub(crate) params: Group,
    pub(crate) expected: Option<LitStr>,
}

/// `retry`, or `retry(max = 3, delay_ms = 200)`.
pub(super) fn retry(key: &Ident, input: ParseStream<'_>) -> syn::Result<Retry> {
    const WRITE: &str = "retry(max = 3, delay_ms = 200)";
    let mut retry = Retry::default();
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(retry);
    }
    if !input.peek(Paren) {
        return Err(instead(input.span(), &format!("{key}` or `{WRITE}")));
    }
    let content;
    parenthesized!(content in input);
    keyed(&content, "part of `retry`", &["max", "delay_ms"], |key| {
        values::equals(key, &content, WRITE)?;
        match key == "max" {
            true => {
                let max = values::whole(key, &content, MAX_RETRIES)?;
                retry.max = u32::try_from(max).ok();
            }
            false => retry.delay_ms = Some(values::whole(key, &content, MAX_DELAY_MS)?),
        }
        Ok(())
    })?;
    Ok(retry)
}

/// `reversible = "no"`, or `compensate = "tool"`.
pub(super) fn reversible(
    word: &str,
    key: &Ident,
    input: ParseStream<'_>,
) -> syn::Result<Reversible> {
    if word == "compensate" {
        let tool: LitStr = assigned(key, input, "compensate = \"file_restore\"")?;
        return match words::name_problem(&tool.value()) {
            None => Ok(Reversible::Compensate(tool)),
            Some(problem) => Err(syn::Error::new(
                tool.span(),
                format!("{problem}; write the name of the tool that undoes this one"),
            )),
        };
    }
    let answer: LitStr = assigned(key, input, "reversible = \"no\"")?;
    match answer.value().as_str() {
        "yes" => Ok(Reversible::Yes),
        "no" => Ok(Reversible::No),
        other => Err(syn::Error::new(
            answer.span(),
            format!(
                "`reversible` cannot be `{}`; write `yes` or `no`, or name the tool that undoes \
                 this one: `compensate = \"…\"`",
                other.escape_debug()
            ),
        )),
    }
}

/// `prerequisites = ["text", {condition = "…"}]`.
pub(super) fn prerequisites(key: &Ident, input: ParseStream<'_>) -> syn::Result<Vec<Prerequisite>> {
    const WRITE: &str = "prerequisites = [\"…\", {condition = \"…\", check_tool = \"…\"}]";
    list(key, input, WRITE, |item| {
        if !item.peek(Brace) {
            return parsed(key, item, WRITE).map(Prerequisite::Text);
        }
        let (mut condition, mut check_tool, mut action_if_not_met) = (None, None, None);
        let content;
        let brace = braced!(content in item);
        let known = ["condition", "check_tool", "action_if_not_met"];
        keyed(&content, "part of a prerequisite", &known, |key| {
            let text = values::text(key, &content)?;
            match key.to_string().as_str() {
                "condition" => condition = Some(text),
                "check_tool" => check_tool = Some(text),
                _ => action_if_not_met = Some(text),
            }
            Ok(())
        })?;
        let missing = || {
            let message = "a prerequisite needs its condition; write `condition = \"…\"`";
            syn::Error::new(brace.span.join(), message)
        };
        Ok(Prerequisite::Check {
            condition: condition.ok_or_else(missing)?,
            check_tool,
            action_if_not_met,
        })
    })
}

/// `related = ["name", ("name", "relation")]`.
pub(super) fn related(key: &Ident, input: ParseStream<'_>) -> syn::Result<Vec<Related>> {
    const WRITE: &str = "related = [\"file_list\", (\"file_write\", \"changes what this reads\")]";
    list(key, input, WRITE, |item| {
        if !item.peek(Paren) {
            let (name, relation) = (parsed(key, item, WRITE)?, None);
            return Ok(Related { name, relation });
        }
        let content;
        parenthesized!(content in item);
        let (mut name, mut relation) = (None, None);
        values::inside(&content, || {
            name = Some(parsed(key, &content, WRITE)?);
            parsed::<Token![,]>(key, &content, WRITE)?;
            relation = Some(parsed(key, &content, WRITE)?);
            content.parse::<Option<Token![,]>>()?;
            match content.is_empty() {
                true => Ok(()),
                false => Err(instead(content.span(), WRITE)),
            }
        })?;
        let name = name.ok_or_else(|| instead(key.span(), WRITE))?;
        Ok(Related { name, relation })
    })
}

/// `example(scenario = "…", params = {"a": 1}, expected = "…")`.
pub(super) fn example(key: &Ident, input: ParseStream<'_>) -> syn::Result<Example> {
    const WRITE: &str =
        "example(scenario = \"…\", params = {\"path\": \"notes.md\"}, expected = \"…\")";
    let (mut scenario, mut params, mut expected) = (None, None, None);
    if !input.peek(Paren) {
        return Err(instead(place(key, input), WRITE));
    }
    let content;
    parenthesized!(content in input);
    let known = ["scenario", "params", "expected"];
    keyed(&content, "part of an example", &known, |key| {
        match key.to_string().as_str() {
            "scenario" => scenario = Some(values::text(key, &content)?),
            "expected" => expected = Some(values::text(key, &content)?),
            _ => params = Some(object(key, &content)?),
        }
        Ok(())
    })?;
    let missing = || {
        let message = "an example needs its arguments; write `params = {}`, with them in it";
        syn::Error::new(key.span(), message)
    };
    Ok(Example {
        scenario,
        params: params.ok_or_else(missing)?,
        expected,
    })
}

fn object(key: &Ident, input: ParseStream<'_>) -> syn::Result<Group> {
    const WRITE: &str = "params = {\"path\": \"notes.md\"}";
    values::equals(key, input, WRITE)?;
    let at = place(key, input);
    match input.parse::<Group>() {
        Ok(group) if group.delimiter() == Delimiter::Brace => Ok(group),
        _ => Err(instead(at, WRITE)),
    }
}

/// Names with values, with commas between; `one` reads what is after a name.
fn keyed(
    input: ParseStream<'_>,
    what: &str,
    known: &[&str],
    mut one: impl FnMut(&Ident) -> syn::Result<()>,
) -> syn::Result<()> {
    let mut seen: Vec<Ident> = Vec::new();
    values::inside(input, || {
        while !input.is_empty() {
            let key = values::key(input)?;
            if !known.contains(&key.unraw().to_string().as_str()) {
                return Err(values::unknown(what, &key, known));
            }
            if seen.contains(&key) {
                let message = format!("`{key}` is given twice; remove one");
                return Err(syn::Error::new(key.span(), message));
            }
            one(&key)?;
            seen.push(key);
            if !input.is_empty() {
                values::comma(input)?;
            }
        }
        Ok(())
    })
}
