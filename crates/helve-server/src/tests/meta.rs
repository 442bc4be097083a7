//! What the hub says about itself.

use super::*;

/// A name, its labels, its value.
type Sample = (String, Vec<(String, String)>, f64);

/// Reads the text format of Prometheus, strictly: name, labels, value by line.
fn samples(text: &str) -> Vec<Sample> {
    let name = |t: &str| {
        let first = t.chars().next().unwrap();
        assert!(first.is_ascii_alphabetic() || first == '_', "{t}");
        assert!(
            t.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'),
            "{t}"
        );
    };
    assert!(text.ends_with('\n'));
    let mut found: Vec<Sample> = Vec::new();
    let (mut helped, mut kinds) = (Vec::new(), HashMap::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (of, says) = rest.split_once(' ').unwrap();
            assert!(!says.is_empty() && !helped.contains(&of), "{line}");
            helped.push(of);
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (of, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(helped.last(), Some(&of));
            assert!(kinds.insert(of, kind).is_none());
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (of, labels) = match series.split_once('{') {
            None => (series, Vec::new()),
            Some((of, labels)) => {
                let labels = labels.strip_suffix('}').unwrap();
                let labels = labels.split("\",").map(|label| {
                    let (key, value) = label.trim_end_matches('"').split_once("=\"").unwrap();
                    name(key);
                    assert!(!value.contains(['"', '\\', '\n']), "{line}");
                    (key.to_owned(), value.to_owned())
                });
                (of, labels.collect())
            }
        };
        name(of);
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| of.strip_suffix(end));
        let family = family
            .filter(|f| kinds.get(f) == Some(&"histogram"))
            .unwrap_or(of);
        assert!(kinds.contains_key(family), "no type for {line}");
        assert!(
            !found.iter().any(|(o, l, _)| o == of && *l == labels),
            "twice: {line}"
        );
        found.push((of.to_owned(), labels, value.parse().unwrap()));
    }
    found
}

#[tokio::test]
async fn metrics_are_prometheus() {
    let bench = Bench::new().await;
    bench.post("/tools/toy_echo/runs", json!({})).await.is(200);
    bench
        .post("/tools/toy_write/runs", json!({"args": {}}))
        .await
        .is(202);
    bench.get("/tools/none").await.problem(404);
    bench.send(get("/tools")).await.problem(401);
    let reply = bench.get("/metrics").await;
    assert_eq!(
        reply.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let found = samples(&reply.text());
    let value = |of: &str, labels: &[(&str, &str)]| {
        let wanted: Vec<(String, String)> = labels
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        found
            .iter()
            .find(|(o, l, _)| o == of && *l == wanted)
            .map(|s| s.2)
    };
    let request = |path, status| {
        value(
            "helve_requests_total",
            &[
                ("method", path),
                ("path", "/tools/{id}/runs"),
                ("status", status),
            ],
        )
    };
    assert_eq!(request("POST", "200"), Some(1.0));
    assert_eq!(request("POST", "202"), Some(1.0));
    assert_eq!(
        value("helve_calls_total", &[("outcome", "succeeded")]),
        Some(1.0)
    );
    assert_eq!(
        value("helve_calls_total", &[("outcome", "pending_approval")]),
        Some(1.0)
    );
    assert_eq!(value("helve_tools", &[]), Some(6.0));
    assert_eq!(value("helve_approvals_pending", &[]), Some(1.0));
    assert_eq!(value("helve_request_seconds_count", &[]), Some(4.0));
    assert_eq!(
        value("helve_request_seconds_bucket", &[("le", "+Inf")]),
        Some(4.0)
    );
    let buckets: Vec<f64> = found
        .iter()
        .filter(|s| s.0.ends_with("_bucket"))
        .map(|s| s.2)
        .collect();
    assert!(buckets.is_sorted() && buckets.len() == 11);
}

#[tokio::test]
async fn health_tells_everybody_that_and_nobody_why() {
    let bench = Bench::new().await;
    let well = bench.send(get("/healthz")).await.is(200);
    assert_eq!(
        (&well["status"], &well["store"]),
        (&json!("ok"), &json!("ok"))
    );
    bench.store.fail(true);
    let reply = bench.send(get("/healthz")).await;
    assert!(!reply.text().contains("secret"), "{reply:?}");
    assert_eq!(reply.is(503)["status"], "failing");
    bench.store.fail(false);
    bench.send(get("/healthz")).await.is(200);
}

#[tokio::test]
async fn a_store_that_fails_is_a_problem_of_its_own() {
    let bench = Bench::new().await;
    let run = bench.post("/tools/toy_echo/runs", json!({})).await.is(200);
    let run = run["meta"]["run_id"].as_str().unwrap().to_owned();
    bench.store.fail(true);
    for path in [
        "/tools/toy_echo/versions",
        "/runs",
        &format!("/runs/{run}"),
        &format!("/runs/{run}/logs"),
        &format!("/runs/{run}/artifacts/x"),
        "/approvals",
        "/approvals/apr_0123456789abcdef0123456789abcdef",
        "/audit",
        "/audit/export",
        "/tokens",
        "/policy",
        "/metrics",
    ] {
        bench.get(path).await.problem(503);
    }
    let def = json!({"name": "new_tool", "description": "New. Use it.", "risk": "read", "input_schema": {"type": "object"}});
    for asked in [
        post("/tools").json(def),
        ask("DELETE", "/tools/toy_echo"),
        post("/tools/toy_echo/disable"),
        post("/tools/toy_echo/rollback").json(json!({"version": "1.0.0"})),
        post("/tokens").json(json!({"name": "x"})),
        post(&format!("/runs/{run}/cancel")),
    ] {
        bench.send(asked.by(&bench.ann)).await.problem(503);
    }
    for path in [
        "/tools",
        "/tools/toy_echo",
        "/catalog",
        "/me",
        "/openapi.json",
        "/docs",
    ] {
        assert_eq!(bench.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn the_page_shows_every_operation() {
    let bench = Bench::new().await;
    let page = bench.send(get("/docs")).await;
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let page = page.text();
    for route in ROUTES {
        assert!(
            page.contains(&format!("<details id=\"{}\">", route.id)),
            "{}",
            route.id
        );
        assert!(
            page.contains(route.says.replace('"', "&quot;").as_str()),
            "{}",
            route.id
        );
    }
    for name in DOCUMENT["components"]["schemas"]
        .as_object()
        .unwrap()
        .keys()
    {
        assert!(page.contains(&format!("id=\"schema-{name}\"")), "{name}");
    }
    for bad in ["<script", "http://", "https://example", "onclick"] {
        assert!(!page.contains(bad), "{bad}");
    }
    let links: Vec<&str> = page
        .split("href=\"#")
        .skip(1)
        .map(|l| l.split('"').next().unwrap())
        .collect();
    assert!(links.len() > 50);
    for link in links {
        assert!(page.contains(&format!("id=\"{link}\"")), "{link}");
    }
}

#[tokio::test]
async fn the_description_is_the_one_that_is_served() {
    let bench = Bench::new().await;
    let served = bench.send(get("/openapi.json")).await.is(200);
    assert_eq!(served, *DOCUMENT);
    assert_eq!(
        served["paths"]
            .as_object()
            .unwrap()
            .values()
            .map(|p| p.as_object().unwrap().len())
            .sum::<usize>(),
        ROUTES.len()
    );
}

#[tokio::test]
async fn what_others_may_do_is_for_those_who_read_the_record() {
    let bench = Bench::new().await;
    let of_bob = json!({"tool": "toy_echo", "principal": "bob"});
    bench
        .send(post("/policy/explain").by(&bench.bot).json(of_bob.clone()))
        .await
        .problem(403);
    assert_eq!(
        bench.post("/policy/explain", of_bob).await.is(200)["principal"],
        "bob"
    );
    let own = json!({"tool": "echo-it", "args": {"text": "x"}});
    let said = bench
        .send(post("/policy/explain").by(&bench.bot).json(own))
        .await
        .is(200);
    assert_eq!(
        (&said["principal"], &said["tool"]),
        (&json!("agent:bot"), &json!("toy_echo"))
    );
    for body in [
        json!({}),
        json!({"tool": 1}),
        json!({"tool": "toy_echo", "args": []}),
        json!({"tool": "toy_echo", "x": 1}),
        json!({"tool": "toy_echo", "principal": "a\nb"}),
    ] {
        bench.post("/policy/explain", body).await.problem(422);
    }
    let table = bench.get("/policy?principal=eve").await.is(200);
    for name in ["eve", "ann", "bob", "agent:bot"] {
        assert!(table["text"].as_str().unwrap().contains(name), "{name}");
    }
}
