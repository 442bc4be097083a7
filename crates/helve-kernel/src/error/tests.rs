use std::io::{Error, ErrorKind as Io};

use super::*;

#[test]
fn every_kind_has_its_word_and_its_constructor() {
    type Make = fn(&'static str) -> ToolError;
    let rows: [(&str, Make, bool); 9] = [
        ("not_found", ToolError::not_found, false),
        ("validation", ToolError::validation, false),
        ("permission", ToolError::permission, false),
        ("denied", ToolError::denied, false),
        ("timeout", ToolError::timeout, false),
        ("transient", ToolError::transient, true),
        ("conflict", ToolError::conflict, false),
        ("dependency", ToolError::dependency, false),
        ("internal", ToolError::internal, false),
    ];
    for ((word, make, retryable), kind) in rows.into_iter().zip(ErrorKind::ALL) {
        let error = make("no");
        assert_eq!(error, ToolError::new(kind, "no"));
        assert_eq!((kind.as_str(), kind.to_string()), (word, word.to_owned()));
        assert_eq!(error.retryable(), retryable, "{word}");
    }
}

#[test]
fn a_hint_is_beside_the_message() {
    let error = ToolError::not_found("no note `a`").with_hint("list them with `note_list`");
    assert_eq!(error.to_string(), "no note `a`");
    assert_eq!(error.hint.as_deref(), Some("list them with `note_list`"));
}

#[test]
fn a_failure_of_the_system_gets_the_kind_a_caller_can_act_on() {
    let rows = [
        (Io::NotFound, ErrorKind::NotFound),
        (Io::PermissionDenied, ErrorKind::Permission),
        (Io::AlreadyExists, ErrorKind::Conflict),
        (Io::TimedOut, ErrorKind::Timeout),
        (Io::ConnectionReset, ErrorKind::Transient),
        (Io::NetworkUnreachable, ErrorKind::Dependency),
        (Io::IsADirectory, ErrorKind::Validation),
        (Io::UnexpectedEof, ErrorKind::Internal),
    ];
    for (from, to) in rows {
        assert_eq!(ToolError::from(Error::from(from)).kind, to, "{from:?}");
    }
}

#[test]
fn foreign_words_are_put_in_our_form() {
    let rows = [
        ("No such file.", "no such file"),
        ("EOF while reading", "EOF while reading"),
        ("I give up", "I give up"),
        ("Über alles", "über alles"),
        ("", ""),
    ];
    for (from, to) in rows {
        assert_eq!(ToolError::from(Error::other(from)).message, to);
    }
}

#[test]
fn json_that_cannot_be_read_is_a_fault_inside() {
    let error = serde_json::from_str::<u8>("x").expect_err("no number");
    let error = ToolError::from(error);
    assert_eq!(
        error,
        ToolError::internal("expected value at line 1 column 1")
    );
}

#[test]
fn json_that_the_system_did_not_deliver_keeps_the_systems_kind() {
    struct Gone;
    impl std::io::Read for Gone {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(Io::PermissionDenied.into())
        }
    }
    let error = serde_json::from_reader::<_, u8>(Gone).expect_err("nothing to read");
    let error = ToolError::from(error);
    assert_eq!(error, ToolError::permission("permission denied"));
}
