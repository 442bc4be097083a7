//! What the table of routes promises, for every row of it.

use super::*;
use crate::routes::Access;

/// A request of a route that would pass its check, with ids that are not there.
fn of(route: &Route) -> Ask {
    let id = "run_0123456789abcdef0123456789abcdef";
    let path = route.path.replace("{id}", id).replace("{name}", "result");
    let method = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    let method = method
        .into_iter()
        .find(|m| m.eq_ignore_ascii_case(route.method));
    let request = ask(method.unwrap(), &path);
    match route.body {
        Some(_) => request.json(json!({})),
        None => request,
    }
}

fn guarded() -> impl Iterator<Item = (&'static Route, Permission)> {
    ROUTES.iter().filter_map(|route| match route.access {
        Access::Needs(permission) => Some((route, permission)),
        Access::Open => None,
    })
}

#[tokio::test]
async fn without_a_token_that_counts_nothing_is_shown() {
    let settings = Settings {
        burst: 10_000,
        ..Settings::default()
    };
    let bench = Bench::with(settings, json!([])).await;
    let root = Principal::person("root");
    let mut new = NewToken::agent("short");
    new.lasts = Some(Duration::from_secs(60));
    let (expired, _) = bench.token_of(&root, new).await;
    let (revoked, id) = bench.token_of(&root, NewToken::agent("gone")).await;
    bench.hub.kernel().revoke_token(&root, &id).await.unwrap();
    bench.clock.go(Duration::from_secs(60));
    let unknown = format!("hlv_{}", "0".repeat(64));
    let upper = bench.ann.to_uppercase();
    let longer = format!("{}0", bench.ann);
    for (route, _) in guarded() {
        let reply = bench.send(of(route)).await;
        assert_eq!(
            reply.header("www-authenticate"),
            Some("Bearer realm=\"helve\"")
        );
        assert_eq!(reply.status, 401, "{}", route.id);
        for secret in [
            &expired, &revoked, &unknown, &upper, &longer, "", "x", "\u{e9}",
        ] {
            let reply = bench.send(of(route).by(secret)).await;
            assert_eq!(reply.status, 401, "{} with `{secret}`", route.id);
        }
        for value in [
            format!("Basic {}", bench.ann),
            bench.ann.clone(),
            format!("Bearer{}", bench.ann),
        ] {
            let reply = bench.send(of(route).header("authorization", value)).await;
            assert_eq!(reply.status, 401, "{}", route.id);
        }
        let twice = of(route).by(&bench.ann).by(&bench.bob);
        assert_eq!(bench.send(twice).await.status, 401, "{}", route.id);
        let address = ask(of(route).method, &format!("{}?why=1", of(route).path));
        let in_cookie = address.header("cookie", format!("token={}", bench.ann));
        assert_eq!(bench.send(in_cookie).await.status, 401, "{}", route.id);
    }
    let details = bench.send(get("/me").by(&expired)).await.problem(401);
    for secret in [&revoked, &unknown] {
        let reply = bench.send(get("/me").by(secret)).await;
        assert_eq!(reply.problem(401), details, "why is nobody's business");
    }
}

#[tokio::test]
async fn each_route_needs_its_permission_and_no_other() {
    let bench = Bench::new().await;
    for (route, needed) in guarded() {
        let all_but: Vec<Permission> = Permission::ALL
            .into_iter()
            .filter(|p| *p != needed)
            .collect();
        let without = bench.person("without", &all_but).await;
        let reply = bench.send(of(route).by(&without)).await;
        assert!(reply.text().contains(needed.as_str()), "{reply:?}");
        assert_eq!(reply.status, 403, "{}", route.id);

        let with = bench.person("with", &[needed]).await;
        let reply = bench.send(of(route).by(&with)).await;
        assert!(
            ![401, 403, 429].contains(&reply.status),
            "{}: {reply:?}",
            route.id
        );
        let lower = of(route).header("authorization", format!("bearer  {with}"));
        let reply = bench.send(lower).await;
        assert!(
            ![401, 403, 429].contains(&reply.status),
            "{}: {reply:?}",
            route.id
        );
    }
}

#[tokio::test]
async fn other_methods_are_refused_with_those_that_are_not() {
    let bench = Bench::new().await;
    for route in ROUTES {
        let path = of(route).path;
        let here: Vec<&str> = ROUTES
            .iter()
            .filter(|r| r.path == route.path)
            .map(|r| r.method)
            .collect();
        for method in [
            "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW",
        ] {
            if here.iter().any(|m| m.eq_ignore_ascii_case(method)) {
                continue;
            }
            for asked in [ask(method, &path), ask(method, &path).by(&bench.ann)] {
                let reply = bench.send(asked).await;
                assert_eq!(reply.status, 405, "{method} {path}");
                let allowed = reply.header("allow").unwrap().to_owned();
                for method in &here {
                    assert!(allowed.contains(&method.to_uppercase()), "{allowed}");
                }
            }
        }
    }
}

#[tokio::test]
async fn parameters_that_nobody_knows_are_refused() {
    let bench = Bench::new().await;
    for route in ROUTES {
        let plain = of(route);
        let with = |query: &str| {
            let mut request = plain.clone().by(&bench.ann);
            request.path = format!("{}?{query}", plain.path);
            request
        };
        let said = bench.send(with("colour=red")).await.problem(400);
        assert!(said.contains("unknown query parameter `colour`"), "{said}");
        for secret in [
            "token",
            "access_token",
            "api_key",
            "authorization",
            "Token",
            "%74oken",
        ] {
            let query = format!("{secret}={}", bench.ann);
            let said = bench.send(with(&query)).await.problem(400);
            assert!(said.contains("does not belong into an address"), "{said}");
            assert!(!said.contains(&bench.ann), "{said}");
            let mut bare = plain.clone();
            bare.path = format!("{}?{query}", plain.path);
            assert_eq!(bench.send(bare).await.status, 400, "{}", route.id);
        }
        for broken in ["a=%", "a=%f", "a=%zz", "%ff=1"] {
            bench.send(with(broken)).await.problem(400);
        }
        if let Some(known) = route.query.first() {
            let said = bench
                .send(with(&format!("{}=1&{}=1", known.name, known.name)))
                .await;
            assert!(said.problem(400).contains("given twice"));
            let near = format!("{}s=1", known.name);
            let said = bench.send(with(&near)).await.problem(400);
            assert!(
                said.contains(&format!("did you mean `{}`?", known.name)),
                "{said}"
            );
        }
    }
}

#[tokio::test]
async fn numbers_and_words_in_a_query_are_read_strictly() {
    let bench = Bench::new().await;
    for path in [
        "/tools?limit=0",
        "/tools?limit=201",
        "/tools?limit=+5",
        "/tools?limit=%2B5",
        "/tools?limit=5.0",
        "/tools?limit=",
        "/tools?limit=-1",
        "/tools?limit=99999999999999999999",
        "/tools?enabled=yes",
        "/tools?dialect=klingon",
        "/runs?state=walking",
        "/runs?cursor=x",
        "/approvals?state=maybe",
        "/approvals?cursor=run_0123456789abcdef0123456789abcdef",
        "/audit?since=yesterday",
        "/audit?until=2026",
        "/audit?after=-1",
        "/audit?after=9223372036854775808",
        "/audit/export?after=x",
        "/catalog?budget=0",
        "/catalog?budget=1000001",
    ] {
        bench.get(path).await.problem(400);
    }
    for path in [
        "/tools?limit=200",
        "/tools?enabled=true&group=toy&tag=loud",
        "/audit?after=9223372036854775807",
        "/audit?since=2026-01-31T12:00:00Z&until=2027-01-31T12:00:00%2B02:00",
        "/catalog?budget=1000000",
    ] {
        bench.get(path).await.is(200);
    }
}

#[tokio::test]
async fn paths_that_are_not_there() {
    let bench = Bench::new().await;
    for path in [
        "/tool",
        "/tools/",
        "/tools/a/b",
        "//tools",
        "/runs/x/artifacts",
        "/TOOLS",
        "/tools/%2e%2e/%2e%2e/etc/passwd",
        "/.git/config",
        "/%00",
        "/%ff",
        "/a%0d%0aSet-Cookie:%20x=1",
    ] {
        let reply = bench.send(get(path)).await;
        assert!(reply.headers.get("set-cookie").is_none());
        reply.problem(404);
    }
}

#[test]
fn ids_are_unlike_and_statuses_known() {
    for route in ROUTES {
        let answers = &DOCUMENT["paths"][route.path][route.method]["responses"];
        for answer in answers.as_object().unwrap().values() {
            assert_ne!(answer["description"], "", "{}", route.id);
        }
        assert_eq!(answers["500"]["description"], "The hub failed.");
    }
}
