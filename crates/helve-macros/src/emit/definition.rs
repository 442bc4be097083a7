//! The part of the generated code that fills a definition.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{LitStr, Type};

use super::at;
use crate::settings::{Example, Prerequisite, Related, Retry, Reversible, Settings};

/// What every tool has.
pub(super) struct About {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) detail: Option<String>,
}

/// Statements that leave a full `ToolDef` in `__helve_tool`.
pub(super) fn statements(
    about: &About,
    settings: &Settings,
    args: &Type,
    returned: &Type,
) -> TokenStream {
    let (name, description) = (&about.name, &about.description);
    let set = [
        text("title", settings.title.as_ref().map(LitStr::value)),
        text("detail", about.detail.clone()),
        text("category", settings.category.as_ref().map(LitStr::value)),
        texts("tags", &settings.tags),
        texts("aliases", &settings.aliases),
        texts("triggers", &settings.triggers),
        texts("warnings", &settings.warnings),
        parts("prerequisites", &settings.prerequisites, prerequisite),
        parts("related_tools", &settings.related, related),
        parts("examples", &settings.examples, example),
        parts("allowed_paths", &settings.paths, allowed),
        flag("idempotent", settings.idempotent),
        flag("serial", settings.serial),
        flag("sensitive", settings.sensitive),
        flag("return_direct", settings.return_direct),
        behaviour(settings),
        output(settings, returned),
    ];
    let input = quote_spanned! {at(args)=>
        ::helve_kernel::__private::input_schema::<#args>()
    };
    quote! {
        #[allow(unused_imports)]
        use ::helve_kernel::__private::helve_core::def as __helve_def;
        let mut __helve_tool = ::helve_kernel::ToolDef::new(
            ::helve_kernel::__private::name(#name),
            #description,
        );
        __helve_tool.executor = ::core::option::Option::Some(
            __helve_def::Executor::of(__helve_def::ExecutorKind::Builtin),
        );
        __helve_tool.input_schema = #input;
        #(#set)*
    }
}

fn behaviour(settings: &Settings) -> TokenStream {
    let risk = settings.risk.as_ref().map(|variant| {
        let variant = syn::Ident::new(&variant.to_string(), proc_macro2::Span::call_site());
        quote!(__helve_tool.risk = ::core::option::Option::Some(__helve_def::Risk::#variant);)
    });
    let timeout = settings.timeout.map(|timeout| {
        let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        quote! {
            __helve_tool.timeout = ::core::option::Option::Some(
                ::core::time::Duration::from_millis(#millis),
            );
        }
    });
    let retry = settings.retry.as_ref().map(|Retry { max, delay_ms }| {
        let max = max.map(|max| quote!(max: #max,));
        let delay = delay_ms.map(|ms| quote!(delay: ::core::time::Duration::from_millis(#ms),));
        let rest = match max.is_some() && delay.is_some() {
            true => None,
            false => Some(quote!(..__helve_def::Retry::DEFAULT)),
        };
        quote! {
            __helve_tool.retry = ::core::option::Option::Some(__helve_def::Retry { #max #delay #rest });
        }
    });
    let reversible = settings.reversible.as_ref().map(|reversible| {
        let value = match reversible {
            Reversible::Yes => quote!(Yes),
            Reversible::No => quote!(No),
            Reversible::Compensate(tool) => quote!(Compensate(#tool.to_owned())),
        };
        quote!(__helve_tool.reversible = __helve_def::Reversible::#value;)
    });
    let version = settings.version.as_ref().map(|version| {
        quote! {
            __helve_tool.version = ::core::option::Option::Some(
                ::helve_kernel::__private::version(#version),
            );
        }
    });
    quote! { #risk #timeout #retry #reversible #version }
}

fn output(settings: &Settings, returned: &Type) -> TokenStream {
    if !settings.output {
        return TokenStream::new();
    }
    let schema = quote_spanned! {at(returned)=>
        ::helve_kernel::__private::Returned::<#returned>::new().output_schema()
    };
    quote! {
        #[allow(unused_imports)]
        use ::helve_kernel::__private::ReturnedPlain as _;
        __helve_tool.output_schema = ::core::option::Option::Some(#schema);
    }
}

fn text(field: &str, value: Option<String>) -> TokenStream {
    let field = quote::format_ident!("{field}");
    match value {
        None => TokenStream::new(),
        Some(value) => quote! {
            __helve_tool.#field = ::core::option::Option::Some(::std::string::String::from(#value));
        },
    }
}

fn texts(field: &str, values: &[LitStr]) -> TokenStream {
    parts(
        field,
        values,
        |value| quote!(::std::string::String::from(#value)),
    )
}

fn parts<T>(field: &str, values: &[T], one: fn(&T) -> TokenStream) -> TokenStream {
    let field = quote::format_ident!("{field}");
    let values = values.iter().map(one);
    match values.len() {
        0 => TokenStream::new(),
        _ => quote!(__helve_tool.#field = ::std::vec![#(#values),*];),
    }
}

fn flag(field: &str, set: bool) -> TokenStream {
    let field = quote::format_ident!("{field}");
    match set {
        false => TokenStream::new(),
        true => quote!(__helve_tool.#field = true;),
    }
}

fn optional(value: Option<&LitStr>) -> TokenStream {
    match value {
        None => quote!(::core::option::Option::None),
        Some(value) => {
            quote!(::core::option::Option::Some(::std::string::String::from(#value)))
        }
    }
}

fn prerequisite(prerequisite: &Prerequisite) -> TokenStream {
    match prerequisite {
        Prerequisite::Text(text) => {
            quote!(__helve_def::Prerequisite::Text(::std::string::String::from(#text)))
        }
        Prerequisite::Check {
            condition,
            check_tool,
            action_if_not_met,
        } => {
            let check_tool = optional(check_tool.as_ref());
            let action_if_not_met = optional(action_if_not_met.as_ref());
            quote! {
                __helve_def::Prerequisite::Check {
                    condition: ::std::string::String::from(#condition),
                    check_tool: #check_tool,
                    action_if_not_met: #action_if_not_met,
                }
            }
        }
    }
}

fn related(related: &Related) -> TokenStream {
    let (name, relation) = (&related.name, optional(related.relation.as_ref()));
    quote! {
        __helve_def::RelatedTool {
            name: ::std::string::String::from(#name),
            relation: #relation,
        }
    }
}

fn allowed(path: &LitStr) -> TokenStream {
    quote! {
        __helve_def::AllowedPath {
            path: ::std::string::String::from(#path),
            access: ::core::option::Option::None,
        }
    }
}

fn example(example: &Example) -> TokenStream {
    let params = &example.params;
    let (scenario, expected) = (
        optional(example.scenario.as_ref()),
        optional(example.expected.as_ref()),
    );
    quote! {
        __helve_def::Example {
            scenario: #scenario,
            params: ::helve_kernel::__private::serde_json::json!(#params),
            expected: #expected,
        }
    }
}
