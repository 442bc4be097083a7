//! Requests as they go out, and arguments that try to be more than data.

#![allow(clippy::needless_pass_by_value)]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::settings::tests::def;

fn built(settings: Value, args: Value) -> Result<Request, ToolError> {
    let settings = Settings::of(&def(settings)).unwrap();
    build(&settings, args.as_object().unwrap())
}

fn url(extra: Value, args: Value) -> String {
    let mut settings = json!({"url": "https://api.example.com/v1"});
    settings
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    let request = built(settings, args).unwrap();
    request
        .url
        .as_str()
        .trim_start_matches("https://api.example.com/v1")
        .to_owned()
}

#[test]
fn lists_and_objects_in_every_style() {
    let list = json!(["a b", "c,d", 3]);
    let object = json!({"r": 100, "g": "x&y"});
    for (place, argument, value, wanted) in [
        ("query", json!({}), &list, "?q=a%20b&q=c%2Cd&q=3"),
        (
            "query",
            json!({"explode": false}),
            &list,
            "?q=a%20b,c%2Cd,3",
        ),
        (
            "query",
            json!({"style": "spaceDelimited", "explode": false}),
            &list,
            "?q=a%20b%20c%2Cd%203",
        ),
        (
            "query",
            json!({"style": "pipeDelimited", "explode": false}),
            &list,
            "?q=a%20b%7Cc%2Cd%7C3",
        ),
        ("query", json!({}), &object, "?r=100&g=x%26y"),
        (
            "query",
            json!({"explode": false}),
            &object,
            "?q=r,100,g,x%26y",
        ),
        (
            "query",
            json!({"style": "deepObject", "explode": true}),
            &object,
            "?q%5Br%5D=100&q%5Bg%5D=x%26y",
        ),
        (
            "query",
            json!({"json": true}),
            &object,
            "?q=%7B%22r%22%3A100%2C%22g%22%3A%22x%26y%22%7D",
        ),
        (
            "query",
            json!({"name": "Q[]"}),
            &list,
            "?Q%5B%5D=a%20b&Q%5B%5D=c%2Cd&Q%5B%5D=3",
        ),
        ("query", json!({}), &json!([]), ""),
        ("query", json!({}), &json!(true), "?q=true"),
        ("query", json!({}), &json!(null), ""),
        ("path", json!({}), &list, "/p/a%20b,c%2Cd,3"),
        (
            "path",
            json!({"explode": true}),
            &object,
            "/p/r=100,g=x%26y",
        ),
        (
            "path",
            json!({"style": "label", "explode": true}),
            &list,
            "/p/.a%20b.c%2Cd.3",
        ),
        (
            "path",
            json!({"style": "label"}),
            &list,
            "/p/.a%20b,c%2Cd,3",
        ),
        ("path", json!({"style": "matrix"}), &json!(5), "/p/;q=5"),
        (
            "path",
            json!({"style": "matrix", "explode": true}),
            &list,
            "/p/;q=a%20b;q=c%2Cd;q=3",
        ),
        (
            "path",
            json!({"style": "matrix", "explode": true}),
            &object,
            "/p/;r=100;g=x%26y",
        ),
    ] {
        let mut argument = argument;
        argument["in"] = json!(place);
        let path = if place == "path" { "/p/{q}" } else { "" };
        let extra = json!({"path": path, "arguments": {"q": argument}});
        assert_eq!(url(extra, json!({"q": value})), wanted, "{argument}");
    }
}

#[test]
fn headers_cookies_and_bodies() {
    let request = built(
        json!({
            "url": "https://api.example.com", "method": "POST", "path": "/pets?fixed=1",
            "headers": {"X-Version": "2"},
            "arguments": {"note": {"in": "header", "name": "X-Note"}, "session": "cookie", "q": "query"},
        }),
        json!({"note": [1, 2], "session": "a;b", "q": 1, "name": "Rex", "tags": ["x"]}),
    )
    .unwrap();
    assert_eq!(
        request.url.as_str(),
        "https://api.example.com/pets?fixed=1&q=1"
    );
    let headers: Vec<String> = request
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    assert_eq!(
        headers,
        [
            "x-version: 2",
            "x-note: 1,2",
            "accept: application/json, */*;q=0.5",
            "content-type: application/json"
        ]
    );
    assert_eq!(request.cookies, ["session=a%3Bb"]);
    assert_eq!(request.body.unwrap(), br#"{"name":"Rex","tags":["x"]}"#);
    let body = |extra: Value, args: Value| {
        let mut settings = json!({"url": "https://api.example.com", "method": "POST"});
        settings
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        built(settings, args)
            .unwrap()
            .body
            .map(|b| String::from_utf8(b).unwrap())
    };
    let form = json!({"content_type": "application/x-www-form-urlencoded"});
    assert_eq!(
        body(form, json!({"name": "a&b=c", "tags": [1, 2]})).unwrap(),
        "name=a%26b%3Dc&tags=1&tags=2"
    );
    assert_eq!(
        body(json!({"body": "body"}), json!({"body": [1, {"a": null}]})).unwrap(),
        r#"[1,{"a":null}]"#
    );
    let text = json!({"body": "body", "content_type": "text/plain"});
    assert_eq!(body(text, json!({"body": "as it is"})).unwrap(), "as it is");
    assert_eq!(body(json!({}), json!({})), None);
    assert_eq!(
        body(json!({"arguments": {"name": "body"}}), json!({})).unwrap(),
        "{}"
    );
}

#[test]
fn a_path_stays_where_it_is() {
    let go = |id: &str| {
        built(
            json!({"url": "https://api.example.com/v1", "path": "/pets/{id}/toys"}),
            json!({"id": id}),
        )
    };
    for (id, wanted) in [
        ("../../admin", "/v1/pets/..%2F..%2Fadmin/toys"),
        ("a/b", "/v1/pets/a%2Fb/toys"),
        ("a\\b", "/v1/pets/a%5Cb/toys"),
        ("a?b#c", "/v1/pets/a%3Fb%23c/toys"),
        ("%2e%2e", "/v1/pets/%252e%252e/toys"),
        ("...", "/v1/pets/.../toys"),
        ("@evil.example", "/v1/pets/%40evil.example/toys"),
        ("a\r\nHost: evil", "/v1/pets/a%0D%0AHost%3A%20evil/toys"),
        ("é", "/v1/pets/%C3%A9/toys"),
    ] {
        let url = go(id).unwrap().url;
        assert_eq!(url.path(), wanted);
        assert_eq!(url.host_str(), Some("api.example.com"));
        assert_eq!(url.query(), None);
    }
    for id in ["", ".", ".."] {
        let error = go(id).unwrap_err();
        assert_eq!(error.kind, helve_kernel::ErrorKind::Validation, "{id:?}");
    }
    for id in [".", ".."] {
        // At the end, one dot would leave as many folders as there were.
        let last = json!({"url": "https://api.example.com/v1", "path": "/pets/{id}"});
        let error = built(last, json!({"id": id})).unwrap_err();
        assert!(
            error.message.contains("means another place"),
            "{id}: {error}"
        );
    }
    let split = json!({"url": "https://api.example.com", "path": "/{id}{q}/x"});
    assert!(
        built(split, json!({"id": ".", "q": "."})).is_err(),
        "dots of two arguments"
    );
    let missing = built(
        json!({"url": "https://api.example.com", "path": "/{id}"}),
        json!({}),
    );
    assert!(missing.unwrap_err().message.contains("cannot be empty"));
}

#[test]
fn a_header_holds_no_line_end() {
    let settings = json!({"url": "https://api.example.com", "arguments": {"note": {"in": "header", "name": "X-Note"}}});
    let error = built(settings, json!({"note": "a\r\nX-Evil: 1"})).unwrap_err();
    assert_eq!(error.kind, helve_kernel::ErrorKind::Validation);
}

proptest! {
    /// Whatever an argument holds, the request goes to the same host, into a path of
    /// the same shape, and the server reads back exactly what was given.
    #[test]
    fn an_argument_is_data(id in "\\PC{1,12}|[./\\\\%?#@:;=&2eEfF]{1,10}|[\\x00-\\x7f]{1,8}", q in "\\PC{0,12}|[&=#%+]{0,8}") {
        let settings = json!({"url": "https://api.example.com/v1", "path": "/pets/{id}/toys", "arguments": {"q": "query"}});
        match built(settings, json!({"id": id, "q": q})) {
            Err(error) => prop_assert!(id == "." || id == "..", "{id:?}: {error}"),
            Ok(request) => {
                let url = request.url;
                prop_assert_eq!(url.host_str(), Some("api.example.com"));
                prop_assert_eq!(url.port(), None);
                prop_assert_eq!(url.fragment(), None);
                let segments: Vec<&str> = url.path_segments().unwrap().collect();
                prop_assert_eq!(segments.len(), 4);
                prop_assert_eq!((segments[0], segments[1], segments[3]), ("v1", "pets", "toys"));
                prop_assert_eq!(decoded(segments[2]), id.as_bytes());
                let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
                prop_assert_eq!(pairs, vec![("q".to_owned(), q)]);
            }
        }
    }
}

fn decoded(segment: &str) -> Vec<u8> {
    let bytes = segment.as_bytes();
    let mut out = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'%' => {
                out.push(u8::from_str_radix(&segment[i + 1..i + 3], 16).unwrap());
                i += 3;
            }
            byte => {
                out.push(byte);
                i += 1;
            }
        }
    }
    out
}
