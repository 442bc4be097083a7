use syn::parse_quote;

use super::*;

#[test]
fn the_first_paragraph_is_the_description_and_the_rest_the_detail() {
    let rows = [
        ("", None, None),
        (" \n \n", None, None),
        (" Reads.", Some("Reads."), None),
        ("\n Reads a\n file.\n", Some("Reads a file."), None),
        (
            " Reads.\n\n Lines:\n\n     code\n - a\n\n",
            Some("Reads."),
            Some("Lines:\n\n    code\n- a"),
        ),
    ];
    for (text, description, detail) in rows {
        let wanted = Docs {
            description: description.map(str::to_owned),
            detail: detail.map(str::to_owned),
        };
        assert_eq!(Docs::split(text), wanted, "{text:?}");
    }
}

#[test]
fn what_only_rustdoc_reads_is_passed_over() {
    let mut errors = Errors::default();
    let attrs = [
        parse_quote!(#[doc(hidden)]),
        parse_quote!(#[inline]),
        parse_quote!(#[doc = " Reads."]),
    ];
    let docs = Docs::read(&attrs, &mut errors);
    assert_eq!(docs.description.as_deref(), Some("Reads."));
    assert!(errors.shown().is_none());
}

#[test]
fn a_text_that_is_not_there_yet_is_an_error() {
    let mut errors = Errors::default();
    Docs::read(&[parse_quote!(#[doc = include_str!("a.md")])], &mut errors);
    assert!(errors.shown().is_some());
}
