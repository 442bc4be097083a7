//! One argument: a parameter, and what is written above it.

use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Ident, Meta, PatType, Type};

use crate::errors::Errors;
use crate::words;

/// An argument that is a parameter of its own.
pub(crate) struct Parameter {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    /// What goes onto the field: its doc comment, and what others understand.
    pub(crate) field: Vec<Attribute>,
    /// What it is when it is left out.
    pub(crate) default: Option<Expr>,
    /// Not for the record.
    pub(crate) secret: bool,
    /// To be held against the allowed paths.
    pub(crate) path: bool,
}

/// What may stand above a parameter.
const KNOWN: &[&str] = &["default", "secret", "path", "schemars", "serde"];

/// What else may: the compiler's own.
const LINTS: &[&str] = &["allow", "expect", "warn", "deny", "forbid"];

impl Parameter {
    /// Reads what stands above a parameter, and takes it away.
    pub(crate) fn read(name: Ident, parameter: &mut PatType, errors: &mut Errors) -> Self {
        let mut this = Self {
            name,
            ty: (*parameter.ty).clone(),
            field: Vec::new(),
            default: None,
            secret: false,
            path: false,
        };
        for attr in take_marks(parameter) {
            if let Err(e) = this.mark(attr) {
                errors.push(e);
            }
        }
        this
    }

    /// Takes away what stands above a parameter that is no argument of its own.
    pub(crate) fn refuse_marks(parameter: &mut PatType, message: &str, errors: &mut Errors) {
        for attr in take_marks(parameter) {
            errors.at(attr.path().span(), message);
        }
    }

    fn mark(&mut self, attr: Attribute) -> syn::Result<()> {
        let span = attr.path().span();
        let word = attr.path().get_ident().map(|i| i.unraw().to_string());
        match word.as_deref() {
            Some("doc") => self.field.push(attr),
            Some("schemars") => self.field.push(attr),
            Some("serde") => {
                refuse_flatten(&attr)?;
                self.field.push(attr);
            }
            Some("default") if self.default.is_some() => {
                return Err(syn::Error::new(
                    span,
                    "an argument has one default; remove this",
                ));
            }
            Some("default") => match &attr.meta {
                Meta::List(list) => {
                    let write = || syn::Error::new(span, "write a value, as in `#[default(5)]`");
                    self.default = Some(syn::parse2(list.tokens.clone()).map_err(|_| write())?);
                }
                _ => {
                    let message = "write the default in parentheses, as in `#[default(5)]`";
                    return Err(syn::Error::new(span, message));
                }
            },
            Some("secret") => self.secret = bare(&attr)?,
            Some("path") => self.path = bare(&attr)?,
            Some(word) => {
                let hint = words::did_you_mean(word, KNOWN);
                let message = format!("unknown attribute `{word}` on an argument; {hint}");
                return Err(syn::Error::new(span, message));
            }
            None => {}
        }
        Ok(())
    }
}

/// Everything but what the compiler and its lints read.
fn take_marks(parameter: &mut PatType) -> Vec<Attribute> {
    let all = std::mem::take(&mut parameter.attrs);
    let (kept, marks) = all.into_iter().partition(|a: &Attribute| {
        let path = a.path();
        path.segments.len() > 1 || LINTS.iter().any(|l| path.is_ident(l))
    });
    parameter.attrs = kept;
    marks
}

fn bare(attr: &Attribute) -> syn::Result<bool> {
    match &attr.meta {
        Meta::Path(_) => Ok(true),
        other => {
            let word = other.path().get_ident().map(ToString::to_string);
            let word = word.unwrap_or_default();
            let message = format!("`{word}` has no value; write `#[{word}]`");
            Err(syn::Error::new(attr.path().span(), message))
        }
    }
}

/// Unknown arguments are refused, and a flattened field would make all known.
fn refuse_flatten(attr: &Attribute) -> syn::Result<()> {
    let Meta::List(list) = &attr.meta else {
        return Ok(());
    };
    let flatten = list.tokens.clone().into_iter().find(|t| {
        let proc_macro2::TokenTree::Ident(word) = t else {
            return false;
        };
        word == "flatten"
    });
    match flatten {
        None => Ok(()),
        Some(t) => Err(syn::Error::new(
            t.span(),
            "an argument of its own cannot be flattened; take all arguments as `args: YourStruct`",
        )),
    }
}
