//! What is written out for a tool.
//!
//! The function itself, without our marks; a type of the same name that lives only
//! in the type namespace; and, in a scope of its own, the struct of its arguments
//! and the definition. Generated names begin with `__helve`, so that none of them
//! hides one of the user's.

mod definition;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Ident, ItemFn, LitStr, ReturnType, Type, parse_quote};

use crate::docs::Docs;
use crate::errors::Errors;
use crate::function::{Function, Takes};
use crate::parameter::Parameter;
use crate::settings::Settings;

const PRIVATE: &str = "::helve_kernel::__private";

/// The tool, or what is wrong with it and the function nevertheless, so that
/// whatever uses it does not fail as well.
pub(crate) fn expand(settings: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let settings = Settings::read(settings, &mut errors);
    let mut item = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(function) => function,
        Err(_) => {
            errors.at(
                after_attributes(item.clone()),
                "`#[tool]` goes on a function; write `async fn name(…) { … }`",
            );
            let shown = errors.shown();
            return quote! { #item #shown };
        }
    };
    let function = Function::read(&mut item, &mut errors);
    let name = settings.full_name(&item.sig.ident, &mut errors);
    let docs = Docs::read(&item.attrs, &mut errors);
    let written = settings.description.as_ref().map(LitStr::value);
    let description = written.or(docs.description);
    if description.is_none() {
        errors.at(
            item.sig.ident.span(),
            format!(
                "a tool needs a description; write a doc comment above `{}` that says what it \
                 does and when to use it",
                item.sig.ident.unraw()
            ),
        );
    }
    if let Some(shown) = errors.shown() {
        if function.method {
            return shown;
        }
        let stub = type_beside(&item, &quote!(::core::unreachable!()), &TokenStream::new());
        return quote! { #item #stub #shown };
    }
    let about = definition::About {
        name,
        description: description.unwrap_or_default(),
        detail: docs.detail,
    };
    let (arguments, args_type) = arguments(&function.takes);
    let definition = definition::statements(&about, &settings, &args_type, &returned(&item));
    let handler = handler(&item.sig.ident, &function, &args_type, &returned(&item));
    let held = settings.held.then(|| quote!(.held()));
    let body = quote! {
        #definition
        let __helve_shown = ::helve_kernel::__private::Shown::of(&__helve_tool.input_schema);
        ::helve_kernel::Tool::new(__helve_tool, #handler) #held
    };
    let beside = type_beside(&item, &body, &arguments);
    quote! { #item #beside }
}

/// The type that stands for the function where a path to a tool is wanted.
fn type_beside(item: &ItemFn, body: &TokenStream, scope: &TokenStream) -> TokenStream {
    let (vis, name) = (&item.vis, &item.sig.ident);
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, unreachable_pub)]
        #vis struct #name {}

        const _: () = {
            #scope

            #[automatically_derived]
            impl ::helve_kernel::DefineTool for #name {
                fn tool() -> ::helve_kernel::Tool {
                    #body
                }
            }
        };
    }
}

/// The struct of the arguments, where it is ours to write, and its name.
fn arguments(takes: &Takes) -> (TokenStream, Type) {
    let parameters = match takes {
        Takes::Struct(ty) => return (TokenStream::new(), (**ty).clone()),
        Takes::Each(parameters) => parameters,
    };
    let (serde, schemars) = (format!("{PRIVATE}::serde"), format!("{PRIVATE}::schemars"));
    let fields = parameters.iter().map(field);
    let defaults = parameters.iter().filter_map(default);
    let written = quote! {
        #(#defaults)*

        #[derive(
            ::helve_kernel::__private::serde::Deserialize,
            ::helve_kernel::__private::schemars::JsonSchema,
        )]
        #[serde(crate = #serde, deny_unknown_fields)]
        #[schemars(crate = #schemars)]
        struct __HelveArgs {
            #(#fields,)*
        }
    };
    (written, parse_quote!(__HelveArgs))
}

fn field(parameter: &Parameter) -> TokenStream {
    let Parameter {
        name, ty, field, ..
    } = parameter;
    let default = parameter.default.as_ref().map(|_| {
        let function = default_name(name).to_string();
        quote!(#[serde(default = #function)])
    });
    let secret = parameter
        .secret
        .then(|| quote!(#[schemars(extend("writeOnly" = true))]));
    let path = parameter
        .path
        .then(|| quote!(#[schemars(transform = ::helve_kernel::__private::mark_path)]));
    quote! { #(#field)* #default #secret #path #name: #ty }
}

fn default(parameter: &Parameter) -> Option<TokenStream> {
    let (ty, value) = (&parameter.ty, parameter.default.as_ref()?);
    let function = default_name(&parameter.name);
    let text = syn::parse2::<LitStr>(quote!(#value)).is_ok();
    let value = match text {
        // A literal is a `&str`, and an argument owns its text.
        true => quote_spanned!(value.span()=> ::core::convert::Into::into(#value)),
        false => quote!(#value),
    };
    Some(quote! {
        fn #function() -> #ty {
            #value
        }
    })
}

fn default_name(parameter: &Ident) -> Ident {
    format_ident!("__helve_default_{}", parameter.unraw())
}

fn returned(item: &ItemFn) -> Type {
    match &item.sig.output {
        ReturnType::Default => parse_quote!(()),
        ReturnType::Type(_, ty) => (**ty).clone(),
    }
}

/// The closure that reads the arguments, calls the function, and writes its result.
fn handler(name: &Ident, function: &Function, args: &Type, returned: &Type) -> TokenStream {
    let ctx = function.ctx.then(|| quote!(&__helve_ctx,));
    let passed = match &function.takes {
        Takes::Struct(_) => quote!(__helve_args),
        Takes::Each(parameters) => {
            let names = parameters.iter().map(|p| &p.name);
            quote!(#(__helve_args.#names),*)
        }
    };
    // An error about a type is shown at that type.
    let arguments = quote_spanned! {at(args)=>
        ::helve_kernel::__private::arguments::<#args>(__helve_args, __helve_shown)?
    };
    let answer = quote_spanned! {at(returned)=>
        ::helve_kernel::__private::Answer(__helve_answer).give()
    };
    quote! {
        move |
            __helve_ctx: ::helve_kernel::Ctx,
            __helve_args: ::helve_kernel::__private::serde_json::Value,
        | async move {
            #[allow(unused_imports)]
            use ::helve_kernel::__private::Plain as _;
            #[allow(unused_variables)]
            let (__helve_ctx, __helve_args) = (__helve_ctx, #arguments);
            let __helve_answer = #name(#ctx #passed).await;
            #answer
        }
    }
}

/// The place of a type, for code that is still ours.
fn at(ty: &Type) -> Span {
    Span::call_site().located_at(ty.span())
}

/// Where an item itself begins.
fn after_attributes(item: TokenStream) -> Span {
    let mut tokens = item.into_iter();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Punct(hash) if hash.as_char() == '#' => drop(tokens.next()),
            _ => return token.span(),
        }
    }
    Span::call_site()
}
