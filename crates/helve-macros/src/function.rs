//! The function behind a tool: its shape, and what it is called with.

use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{FnArg, Ident, ItemFn, Pat, PatType, Signature, Token, Type};

use crate::errors::Errors;
use crate::parameter::Parameter;

/// What the function takes.
pub(crate) struct Function {
    /// Whether the context comes first.
    pub(crate) ctx: bool,
    /// The arguments.
    pub(crate) takes: Takes,
    /// Whether it is a method, and so can stand nowhere but where it is.
    pub(crate) method: bool,
}

/// The arguments of a function.
pub(crate) enum Takes {
    /// All in one struct.
    Struct(Box<Type>),
    /// One by one.
    Each(Vec<Parameter>),
}

impl Function {
    /// Reads the signature, and takes out of it what only this macro understands.
    pub(crate) fn read(item: &mut ItemFn, errors: &mut Errors) -> Self {
        check_shape(&item.sig, errors);
        let method = item.sig.receiver().is_some();
        let mut parameters = typed(&mut item.sig.inputs, errors);
        let first_is_ctx = parameters.first().is_some_and(|p| is_ctx(&p.ty));
        if first_is_ctx {
            let ctx = parameters.remove(0);
            Parameter::refuse_marks(ctx, "the context is no argument; remove this", errors);
        }
        for misplaced in parameters.iter().filter(|p| is_ctx(&p.ty)) {
            errors.at(
                place(&misplaced.ty),
                "the context comes first, once; write `ctx: &Ctx` before the other parameters",
            );
        }
        parameters.retain(|p| !is_ctx(&p.ty));
        Self {
            ctx: first_is_ctx,
            takes: takes(parameters, errors),
            method,
        }
    }
}

fn takes(mut parameters: Vec<&mut PatType>, errors: &mut Errors) -> Takes {
    if let [only] = parameters.as_mut_slice()
        && name_of(&only.pat).is_some_and(|n| n == "args")
    {
        if is_no_struct(&only.ty) {
            errors.at(
                only.ty.span(),
                "`args` is a struct with all arguments; write such a struct, or give this one \
                 argument another name",
            );
        }
        let message = "`args` is a struct; put this on the struct's field";
        Parameter::refuse_marks(only, message, errors);
        return Takes::Struct(only.ty.clone());
    }
    let mut each = Vec::new();
    for parameter in parameters {
        let Some(name) = name_of(&parameter.pat).cloned() else {
            errors.at(
                parameter.pat.span(),
                "an argument needs a name; write `name: Type`, and take it apart in the body",
            );
            continue;
        };
        check_owned(&parameter.ty, errors);
        each.push(Parameter::read(name, parameter, errors));
    }
    Takes::Each(each)
}

fn check_shape(sig: &Signature, errors: &mut Errors) {
    if sig.asyncness.is_none() {
        let message = format!("a tool is async; write `async fn {}`", sig.ident);
        errors.at(sig.fn_token.span, message);
    }
    let mut plain = |span: Option<Span>, what: &str| {
        if let Some(span) = span {
            errors.at(span, format!("a tool is a plain function; remove `{what}`"));
        }
    };
    plain(sig.constness.map(|t| t.span), "const");
    plain(sig.unsafety.map(|t| t.span), "unsafe");
    plain(sig.abi.as_ref().map(Spanned::span), "extern");
    plain(sig.variadic.as_ref().map(Spanned::span), "...");
    if let Some(first) = sig.generics.params.first() {
        errors.at(
            first.span(),
            "a tool has one schema, so it cannot be generic; write the types out",
        );
    }
}

fn typed<'s>(
    inputs: &'s mut Punctuated<FnArg, Token![,]>,
    errors: &mut Errors,
) -> Vec<&'s mut PatType> {
    let mut typed = Vec::new();
    for input in inputs {
        match input {
            FnArg::Typed(parameter) => typed.push(parameter),
            FnArg::Receiver(own) => errors.at(
                own.self_token.span,
                "a tool is a free function; take what it needs from `ctx: &Ctx`, not from `self`",
            ),
        }
    }
    typed
}

fn name_of(pat: &Pat) -> Option<&Ident> {
    match pat {
        Pat::Ident(p) if p.by_ref.is_none() && p.subpat.is_none() => Some(&p.ident),
        _ => None,
    }
}

/// A type of that name, behind a reference.
fn is_ctx(ty: &Type) -> bool {
    match ty {
        Type::Reference(r) if r.mutability.is_none() => named(&r.elem, &["Ctx"]),
        Type::Paren(p) => is_ctx(&p.elem),
        Type::Group(g) => is_ctx(&g.elem),
        _ => false,
    }
}

fn check_owned(ty: &Type, errors: &mut Errors) {
    let message = match ty {
        _ if named(ty, &["Ctx"]) => "the context is lent; write `ctx: &Ctx`",
        Type::Reference(r) if named(&r.elem, &["Ctx"]) => {
            "the context is read-only; write `ctx: &Ctx`"
        }
        Type::Reference(r) if named(&r.elem, &["str"]) => {
            "an argument is owned by its call; write `String`"
        }
        Type::Reference(r) if named(&r.elem, &["Path"]) => {
            "an argument is owned by its call; write `PathBuf`"
        }
        Type::Reference(r) if matches!(*r.elem, Type::Slice(_)) => {
            "an argument is owned by its call; write `Vec<…>`"
        }
        Type::Reference(_) => "an argument is owned by its call; remove the `&`",
        Type::ImplTrait(_) => "a tool has one schema, so it cannot be generic; write the type out",
        _ => return,
    };
    errors.at(place(ty), message);
}

/// Where to point: past the `&`, which alone says little.
fn place(ty: &Type) -> Span {
    match ty {
        Type::Reference(r) => r.elem.span(),
        _ => ty.span(),
    }
}

/// Types that can be no struct of arguments, whatever is in scope.
fn is_no_struct(ty: &Type) -> bool {
    const PLAIN: &[&str] = &[
        "String", "Vec", "Option", "PathBuf", "bool", "char", "u8", "u16", "u32", "u64", "u128",
        "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64",
    ];
    !matches!(ty, Type::Path(_) | Type::Paren(_) | Type::Group(_)) || named(ty, PLAIN)
}

fn named(ty: &Type, names: &[&str]) -> bool {
    match ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|s| names.iter().any(|n| s.ident == n)),
        Type::Paren(p) => named(&p.elem, names),
        Type::Group(g) => named(&g.elem, names),
        _ => false,
    }
}
