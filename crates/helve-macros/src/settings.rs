//! What stands in `#[tool(…)]`.
//!
//! Each setting is read on its own: one that is wrong is reported, and reading
//! goes on after the next comma.

mod parts;
mod values;

use std::time::Duration;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Ident, LitStr, Token};

use crate::errors::Errors;
use crate::words;
pub(crate) use parts::{Example, Prerequisite, Related, Retry, Reversible};

/// What stands in `#[tool(…)]`, checked.
#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) group: Option<LitStr>,
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) category: Option<LitStr>,
    pub(crate) tags: Vec<LitStr>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) triggers: Vec<LitStr>,
    pub(crate) warnings: Vec<LitStr>,
    /// The variant that stands for the risk.
    pub(crate) risk: Option<Ident>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: Option<Retry>,
    pub(crate) idempotent: bool,
    pub(crate) serial: bool,
    pub(crate) sensitive: bool,
    pub(crate) return_direct: bool,
    pub(crate) held: bool,
    pub(crate) paths: Vec<LitStr>,
    pub(crate) output: bool,
    pub(crate) reversible: Option<Reversible>,
    pub(crate) version: Option<LitStr>,
    pub(crate) prerequisites: Vec<Prerequisite>,
    pub(crate) related: Vec<Related>,
    pub(crate) examples: Vec<Example>,
}

/// What an unknown one may have been meant to be.
const KNOWN: &[&str] = &[
    "group",
    "name",
    "title",
    "description",
    "category",
    "tags",
    "aliases",
    "triggers",
    "warnings",
    "risk",
    "timeout",
    "retry",
    "idempotent",
    "serial",
    "sensitive",
    "return_direct",
    "held",
    "paths",
    "output",
    "reversible",
    "compensate",
    "version",
    "prerequisites",
    "related",
    "example",
];

impl Settings {
    /// Reads the tokens between the parentheses.
    pub(crate) fn read(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut settings = Self::default();
        let mut seen: Vec<Ident> = Vec::new();
        let read = |input: ParseStream<'_>| {
            while !input.is_empty() {
                let one = settings.read_one(input, &mut seen);
                if errors.keep(one).is_none() {
                    skip_to_comma(input)?;
                }
                if !input.is_empty() && errors.keep(values::comma(input)).is_none() {
                    skip_to_comma(input)?;
                    input.parse::<Option<Token![,]>>()?;
                }
            }
            Ok(())
        };
        let all = read.parse2(tokens);
        errors.keep(all);
        settings
    }

    fn read_one(&mut self, input: ParseStream<'_>, seen: &mut Vec<Ident>) -> syn::Result<()> {
        let key = values::key(input)?;
        let word = key.unraw().to_string();
        let twice = word != "example" && seen.contains(&key);
        seen.push(key.clone());
        self.take(&word, &key, input)?;
        match twice {
            true => Err(syn::Error::new(
                key.span(),
                format!("`{word}` is given twice; remove one"),
            )),
            false => Ok(()),
        }
    }

    fn take(&mut self, word: &str, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        match word {
            "group" => self.group = Some(values::text(key, input)?),
            "name" => self.name = Some(values::text(key, input)?),
            "title" => self.title = Some(values::full_text(key, input)?),
            "description" => {
                // Kept even if blank, so that it is not missing as well.
                let text = self.description.insert(values::text(key, input)?);
                values::full(key, text)?;
            }
            "category" => self.category = Some(values::full_text(key, input)?),
            "tags" => self.tags = values::texts(key, input)?,
            "aliases" => self.aliases = values::aliases(key, input)?,
            "triggers" => self.triggers = values::texts(key, input)?,
            "warnings" => self.warnings = values::texts(key, input)?,
            "risk" => self.risk = Some(values::risk(key, input)?),
            "timeout" => self.timeout = Some(values::timeout(key, input)?),
            "retry" => self.retry = Some(parts::retry(key, input)?),
            "idempotent" => self.idempotent = values::flag(key, input)?,
            "serial" => self.serial = values::flag(key, input)?,
            "sensitive" => self.sensitive = values::flag(key, input)?,
            "return_direct" => self.return_direct = values::flag(key, input)?,
            "held" => self.held = values::flag(key, input)?,
            "paths" => self.paths = values::texts(key, input)?,
            "output" => self.output = values::flag(key, input)?,
            "reversible" | "compensate" => {
                if self.reversible.is_some() {
                    let message = "`reversible` and `compensate` say the same; remove one";
                    parts::reversible(word, key, input)?;
                    return Err(syn::Error::new(key.span(), message));
                }
                self.reversible = Some(parts::reversible(word, key, input)?);
            }
            "version" => self.version = Some(values::version(key, input)?),
            "prerequisites" => self.prerequisites = parts::prerequisites(key, input)?,
            "related" => self.related = parts::related(key, input)?,
            "example" => self.examples.push(parts::example(key, input)?),
            _ => return Err(values::unknown("setting", key, KNOWN)),
        }
        Ok(())
    }

    /// The tool's full name, and where to say what is wrong with it.
    pub(crate) fn full_name(&self, function: &Ident, errors: &mut Errors) -> String {
        let (name, span) = match (&self.name, &self.group) {
            (Some(name), Some(group)) => {
                errors.at(
                    group.span(),
                    "`name` is the whole name; remove `group`, or `name`",
                );
                (name.value(), name.span())
            }
            (Some(name), None) => (name.value(), name.span()),
            (None, Some(group)) => {
                let function_name = function.unraw().to_string();
                let full = words::in_group(&group.value(), &function_name);
                let own = words::name_problem(&group.value()).is_none();
                (full, if own { function.span() } else { group.span() })
            }
            (None, None) => (function.unraw().to_string(), function.span()),
        };
        check_name(&name, span, errors);
        name
    }
}

fn check_name(name: &str, span: Span, errors: &mut Errors) {
    let Some(problem) = words::name_problem(name) else {
        return;
    };
    let fix = match words::canonical(name) {
        Some(better) => format!("write `name = \"{better}\"`"),
        None => "write a name such as `name = \"file_read\"`".to_owned(),
    };
    errors.at(span, format!("{problem}; {fix}"));
}

fn skip_to_comma(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}
