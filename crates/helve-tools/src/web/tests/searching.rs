//! Stand-ins for the three providers, which answer as theirs do.

use std::time::Duration;

use super::*;
use crate::web::Provider;

fn settings(provider: Provider, at: SocketAddr) -> Settings {
    Settings {
        search: Some(provider),
        search_url: Some(format!("http://{at}").parse().unwrap()),
        key: (provider != Provider::Searxng).then(|| "search".to_owned()),
        ..Settings::default()
    }
}

fn found(provider: Provider) -> Value {
    match provider {
        Provider::Tavily => json!({
            "query": "q", "answer": "In short.", "images": [], "response_time": 1.2, "request_id": "r",
            "results": [
                {"title": "One", "url": "https://docs.rs/a", "content": "first <b>text</b>", "score": 0.9, "raw_content": null},
                {"title": "Two", "url": "https://evil.example/b", "content": "second", "score": 0.5, "published_date": "Mon, 01 Jan 2024"},
            ],
        }),
        Provider::Searxng => json!({
            "query": "q", "number_of_results": 0, "answers": [{"answer": "In short.", "engine": "x"}],
            "corrections": [], "infoboxes": [], "suggestions": [], "unresponsive_engines": [],
            "results": [
                {"title": "One", "url": "https://docs.rs/a", "content": "first text", "score": 2.0, "engine": "x", "category": "general"},
                {"title": "Two", "url": "https://evil.example/b", "content": "second", "score": 1.0, "publishedDate": "2024-01-01T00:00:00"},
                {"title": "Bad", "url": "javascript:x", "content": ""},
            ],
        }),
        Provider::Brave => json!({
            "type": "search", "query": {"original": "q", "more_results_available": true},
            "web": {"type": "search", "results": [
                {"title": "One", "url": "https://docs.rs/a", "description": "first &amp; text", "extra_snippets": ["more"]},
                {"title": "Two", "url": "https://evil.example/b", "description": "second", "age": "January 1, 2024", "page_age": "2024-01-01T00:00:00"},
            ]},
        }),
    }
}

#[tokio::test]
async fn each_provider_is_asked_as_it_wants() {
    for provider in [Provider::Tavily, Provider::Searxng, Provider::Brave] {
        let (at, asked) =
            serve(move |_| page("application/json", found(provider).to_string())).await;
        let rig = rig(&[at], settings(provider, at)).await;
        let args = json!({"query": " q & r ", "max_results": 7, "search_depth": "advanced", "topic": "news",
            "time_range": "week", "exclude_domains": ["Evil.example"], "include_answer": true});
        let data = rig.data("mcp__web__web_search", args).await;
        assert_eq!(
            (&data["query"], &data["provider"]),
            (&json!("q & r"), &json!(provider.word()))
        );
        let results = data["results"].as_array().unwrap();
        assert_eq!(results.len(), 1, "{data}");
        assert_eq!(
            (&results[0]["title"], &results[0]["url"]),
            (&json!("One"), &json!("https://docs.rs/a"))
        );
        assert!(data["note"].as_str().unwrap().contains("strangers"));
        let line = asked.all().remove(0);
        let lost = data["not_honoured"].as_array().map_or(0, Vec::len);
        match provider {
            Provider::Tavily => {
                let (head, body) = line.split_once('{').unwrap();
                assert!(
                    head.starts_with("POST /search authorization=Bearer k3y-s3cr3t "),
                    "{line}"
                );
                let body: Value = serde_json::from_str(&format!("{{{body}")).unwrap();
                let wanted = json!({"query": "q & r", "max_results": 7, "search_depth": "advanced", "topic": "news",
                    "include_answer": true, "include_raw_content": false, "include_images": false,
                    "time_range": "week", "exclude_domains": ["evil.example"]});
                assert_eq!(body, wanted);
                assert_eq!(
                    (&results[0]["snippet"], &results[0]["score"]),
                    (&json!("first text"), &json!(0.9))
                );
                assert_eq!((&data["answer"], lost), (&json!("In short."), 0));
            }
            Provider::Searxng => {
                let wanted = "GET /search?q=q+%26+r+-site%3Aevil.example&format=json&categories=news&time_range=month ";
                assert!(
                    line.starts_with(wanted) && !line.contains("authorization"),
                    "{line}"
                );
                assert_eq!((&data["answer"], lost), (&json!("In short."), 2), "{data}");
            }
            Provider::Brave => {
                let wanted = "GET /res/v1/web/search?q=q+%26+r+-site%3Aevil.example&count=7&text_decorations=false\
                              &result_filter=web&freshness=pw x-subscription-token=k3y-s3cr3t ";
                assert!(line.starts_with(wanted), "{line}");
                assert_eq!(results[0]["snippet"], "first & text … more");
                assert_eq!((&data["answer"], lost), (&Value::Null, 3), "{data}");
            }
        }
        // As little as can be asked for.
        let data = rig.data("web_search", json!({"query": "q"})).await;
        let results = data["results"].as_array().unwrap();
        assert_eq!(
            (results.len(), &data["answer"], &data["not_honoured"]),
            (2, &Value::Null, &Value::Null)
        );
        assert!(
            results[1]["published"].as_str().unwrap().contains("2024"),
            "{data}"
        );
        let one = rig.data("web_search", json!({"query": "q", "include_domains": ["docs.rs", "a.example"], "max_results": 1})).await;
        assert_eq!(one["results"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn what_goes_wrong_is_told_without_the_key() {
    let table: [(Provider, u16, &str, &str, &str); 14] = [
        (
            Provider::Tavily,
            401,
            "application/json",
            r#"{"detail":{"error":"Unauthorized: bad key k3y-s3cr3t"}}"#,
            "dependency: `tavily` does not take the key (401): Unauthorized",
        ),
        (
            Provider::Tavily,
            429,
            "application/json",
            r#"{"detail":{"error":"too many"}}"#,
            "transient: `tavily` was asked too often (429): too many",
        ),
        (
            Provider::Tavily,
            432,
            "application/json",
            "{}",
            "dependency: the plan of the key is used up (432)",
        ),
        (
            Provider::Tavily,
            400,
            "application/json",
            r#"{"detail":{"error":"Query is too long"}}"#,
            "validation: `tavily` does not take the question (400): Query is too long",
        ),
        (
            Provider::Tavily,
            502,
            "text/html",
            "<h1>Bad gateway k3y-s3cr3t</h1>",
            "transient: `tavily` is in trouble (502)",
        ),
        (
            Provider::Tavily,
            200,
            "text/html",
            "<html>log in</html>",
            "dependency: `tavily` answered with a page instead of JSON",
        ),
        (
            Provider::Tavily,
            200,
            "application/json",
            "{\"results\": [",
            "dependency: `tavily` answered with broken JSON",
        ),
        (
            Provider::Tavily,
            200,
            "application/json",
            "{\"results\": 5}",
            "dependency: `tavily` answered without a list",
        ),
        (
            Provider::Searxng,
            403,
            "text/html",
            "Forbidden",
            "dependency: `searxng` refuses to answer in JSON (403)",
        ),
        (
            Provider::Searxng,
            404,
            "text/html",
            "no",
            "dependency: `searxng` answered 404",
        ),
        (
            Provider::Searxng,
            200,
            "application/json",
            "[]",
            "dependency: `searxng` answered without a list",
        ),
        (
            Provider::Brave,
            401,
            "application/json",
            r#"{"type":"ErrorResponse","error":{"detail":"no such token","status":401}}"#,
            "dependency: `brave` does not take the key (401): no such token",
        ),
        (
            Provider::Brave,
            422,
            "application/json",
            r#"{"error":{"detail":"Unable to validate"}}"#,
            "validation: `brave` does not take the question (422): Unable to validate",
        ),
        (
            Provider::Brave,
            429,
            "application/json",
            r#"{"error":{"code":"RATE_LIMITED"}}"#,
            "transient: `brave` was asked too often",
        ),
    ];
    for (provider, code, kind, body, said) in table {
        let (at, _) = serve(move |_| status(code, kind, body)).await;
        let rig = rig(&[at], settings(provider, at)).await;
        let told = rig.refused("web_search", json!({"query": "q"})).await;
        assert!(told.starts_with(said), "{told}\n wanted: {said}");
        assert!(!told.contains("k3y-s3cr3t"), "{told}");
    }
    // Brave leaves out what it did not find.
    let (at, _) = serve(|_| {
        page(
            "application/json",
            r#"{"type":"search","query":{"original":"q"}}"#,
        )
    })
    .await;
    let rig = rig(&[at], settings(Provider::Brave, at)).await;
    assert_eq!(
        rig.data("web_search", json!({"query": "q"})).await["results"],
        json!([])
    );
    let long = json!({"query": "word ".repeat(60)});
    rig.refuses(
        "web_search",
        &[(long, "validation: `brave` takes at most 400 characters")],
    )
    .await;
}

#[tokio::test]
async fn what_is_not_configured_says_what_to_write() {
    let (at, asked) =
        serve(|_| page("application/json", found(Provider::Tavily).to_string())).await;
    let with = |change: fn(&mut Settings)| {
        let mut settings = settings(Provider::Tavily, at);
        change(&mut settings);
        settings
    };
    for (settings, said, hint) in [
        (
            Settings::default(),
            "dependency: nobody is configured to search",
            "`[web]` `search = \"tavily\"`",
        ),
        (
            with(|s| s.key = None),
            "dependency: `tavily` needs a key",
            "`[secrets.tavily]` `from = \"env:TAVILY_API_KEY\"`",
        ),
        (
            with(|s| s.key = Some("missing".to_owned())),
            "dependency: the secret `missing` is not configured",
            "`[secrets]`",
        ),
        (
            with(|s| s.key = Some("elsewhere".to_owned())),
            "dependency: the secret `elsewhere` is not for `127.0.0.1`",
            "`hosts`",
        ),
        (
            with(|s| (s.search, s.search_url) = (Some(Provider::Searxng), None)),
            "dependency: SearXNG is to search",
            "`search_url = ",
        ),
    ] {
        let rig = rig(&[at], settings).await;
        let told = rig.refused("web_search", json!({"query": "q"})).await;
        assert!(told.starts_with(said) && told.contains(hint), "{told}");
    }
    assert!(asked.all().is_empty());
    // Not granted, not reached; slow, not waited for; bad questions, not sent.
    let hub = rig(&[], settings(Provider::Tavily, at)).await;
    hub.refuses(
        "web_search",
        &[(json!({"query": "q"}), "denied: `127.0.0.1` is not reached")],
    )
    .await;
    let hub = rig(&[at], settings(Provider::Tavily, at)).await;
    hub.refuses(
        "web_search",
        &[
            (json!({"query": "  "}), "validation: `query` is empty"),
            (json!({"query": "q", "max_results": 0}), "max_results"),
            (
                json!({"query": "q", "search_depth": "deep"}),
                "search_depth",
            ),
            (
                json!({"query": "q", "include_domains": ["a b.example"]}),
                "`a b.example` is no domain",
            ),
        ],
    )
    .await;
    assert!(asked.all().is_empty());
    let mute = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = mute.local_addr().unwrap();
    let patience = Duration::from_millis(200);
    let hub = rig(
        &[at],
        Settings {
            timeout: patience,
            ..settings(Provider::Tavily, at)
        },
    )
    .await;
    hub.refuses(
        "web_search",
        &[(
            json!({"query": "q"}),
            "timeout: the search provider did not answer",
        )],
    )
    .await;
}
