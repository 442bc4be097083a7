//! What a definition may say about a request, and what it may not.

#![allow(clippy::needless_pass_by_value)]

use helve_core::def::Executor;
use helve_core::{ToolDef, ToolName};
use serde_json::json;

use super::*;

pub(crate) fn def(settings: Value) -> ToolDef {
    let mut def = ToolDef::new(
        ToolName::new("pet_get").unwrap(),
        "Gets a pet. Use it to look.",
    );
    def.input_schema = json!({"type": "object", "properties": {
        "id": {}, "q": {}, "tags": {}, "filter": {}, "note": {}, "session": {}, "name": {}, "body": {},
    }});
    def.executor = Some(Executor {
        kind: ExecutorKind::Http,
        settings: settings.as_object().unwrap().clone(),
    });
    def
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for (settings, wanted) in [
        (json!({"url": "https://{id}.example.com"}), "placeholder"),
        (json!({"url": "ftp://example.com"}), "https://"),
        (json!({"url": "api.example.com/v1"}), "no address"),
        (json!({"url": "https://u:p@example.com"}), "password"),
        (json!({"url": "https://example.com?x=1"}), "query"),
        (
            json!({"url": "https://example.com/a?x=1", "path": "/b"}),
            "query",
        ),
        (
            json!({"url": "https://example.com", "method": "CONNECT"}),
            "CONNECT",
        ),
        (
            json!({"url": "https://example.com", "path": "pets"}),
            "begin with `/`",
        ),
        (
            json!({"url": "https://example.com", "path": "/a/../b"}),
            "`..`",
        ),
        (
            json!({"url": "https://example.com", "path": "/a/%2E%2e/b"}),
            "`..`",
        ),
        (
            json!({"url": "https://example.com", "path": "/a\\b"}),
            "characters",
        ),
        (
            json!({"url": "https://example.com", "path": "/{id"}),
            "not closed",
        ),
        (
            json!({"url": "https://example.com", "path": "/{}"}),
            "placeholder",
        ),
        (
            json!({"url": "https://example.com", "path": "/{nobody}"}),
            "`nobody` is no argument",
        ),
        (
            json!({"url": "https://example.com", "arguments": {"nobody": "query"}}),
            "`nobody`",
        ),
        (
            json!({"url": "https://example.com", "arguments": {"id": "path"}}),
            "missing",
        ),
        (
            json!({"url": "https://example.com", "path": "/{id}", "arguments": {"id": "query"}}),
            "must go there",
        ),
        (
            json!({"url": "https://example.com", "arguments": {"id": "elsewhere"}}),
            "`arguments.id`",
        ),
        (
            json!({"url": "https://example.com", "arguments": {"id": {"in": "query", "styl": "form"}}}),
            "styl",
        ),
        (
            json!({"url": "https://example.com", "headers": {"Authorization": "Bearer x"}}),
            "cannot be set",
        ),
        (
            json!({"url": "https://example.com", "headers": {"Host": "a"}}),
            "cannot be set",
        ),
        (
            json!({"url": "https://example.com", "headers": {"X-A": "a\r\nX-B: b"}}),
            "characters",
        ),
        (
            json!({"url": "https://example.com", "arguments": {"id": {"in": "header", "name": "Cookie"}}}),
            "cannot be set",
        ),
        (
            json!({"url": "https://example.com", "content_type": "multipart/form-data"}),
            "multipart",
        ),
        (
            json!({"url": "https://example.com", "max_bytes": 0}),
            "max_bytes",
        ),
        (
            json!({"url": "https://example.com", "max_bytes": MOST + 1}),
            "max_bytes",
        ),
        (
            json!({"url": "https://example.com", "auth": {"scheme": "bearer", "secret": "a b"}}),
            "not the name of a secret",
        ),
        (
            json!({"url": "https://example.com", "auth": {"scheme": "header", "secret": "a"}}),
            "needs the `name`",
        ),
        (
            json!({"url": "https://example.com", "auth": {"scheme": "bearer", "secret": "a", "name": "X"}}),
            "only for",
        ),
        (
            json!({"url": "https://example.com", "auth": {"scheme": "header", "secret": "a", "name": "Host"}}),
            "cannot be set",
        ),
        (
            json!({"url": "https://example.com", "surprise": 1}),
            "surprise",
        ),
    ] {
        let error = Settings::of(&def(settings.clone())).expect_err(&settings.to_string());
        assert!(error.message.contains(wanted), "{settings}: {error}");
        assert!(error.hint.is_some(), "{settings}: {error}");
    }
}

#[test]
fn a_secret_that_is_written_out_is_not_repeated() {
    let auth = json!({"scheme": "bearer", "secret": "Bearer ghp_abc/def="});
    let error =
        Settings::of(&def(json!({"url": "https://example.com", "auth": auth}))).unwrap_err();
    assert!(!format!("{error:?}").contains("ghp_"), "{error:?}");
}

#[test]
fn an_address_may_hold_its_path() {
    let of = |url: &str| {
        let settings = Settings::of(&def(json!({"url": url})))?;
        Ok::<_, ToolError>((settings.url.to_string(), settings.path))
    };
    let (text, id) = (
        |t: &str| Piece::Text(t.to_owned()),
        Piece::Argument("id".to_owned()),
    );
    let whole = of("https://a.example/v1/pets/{id}?x=1").unwrap();
    assert_eq!(
        whole,
        (
            "https://a.example/".to_owned(),
            vec![text("/v1/pets/"), id, text("?x=1")]
        )
    );
    assert_eq!(
        of("https://a.example/v1").unwrap(),
        ("https://a.example/v1".to_owned(), vec![text("")])
    );
    for bad in [
        "https://{id}/v1",
        "https://{id}.a.example/{id}",
        "https://a.example/{id}/../x",
        "{id}/x",
    ] {
        assert!(of(bad).is_err(), "{bad}");
    }
}

#[test]
fn what_is_not_said_is_guessed_from_the_method() {
    let at = |method: &str| {
        let settings = json!({"url": "https://example.com", "method": method, "path": "/p/{id}"});
        let settings = Settings::of(&def(settings)).unwrap();
        (settings.argument("id").place, settings.argument("q").place)
    };
    assert_eq!(at("get"), (Location::Path, Location::Query));
    assert_eq!(at("DELETE"), (Location::Path, Location::Query));
    assert_eq!(at("Post"), (Location::Path, Location::Body));
}
