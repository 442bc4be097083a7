//! The console, as a browser asks it: who gets in, what a form must say, who sees what.

use super::*;

/// A browser that is signed in.
struct Browser<'b> {
    bench: &'b Bench,
    cookie: String,
}

impl Bench {
    /// Asks for a page; what the document says of the REST door does not hold here.
    async fn page(&self, ask: Ask) -> Reply {
        let response = self.router.clone().oneshot(ask.request()).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        Reply {
            status: parts.status.as_u16(),
            headers: parts.headers,
            bytes,
        }
    }

    async fn enter(&self, secret: &str) -> Browser<'_> {
        let reply = self
            .page(form("/console/sign-in", &[("token", secret)]))
            .await;
        assert_eq!(reply.status, 303, "{reply:?}");
        Browser {
            bench: self,
            cookie: cookie(&reply),
        }
    }
}

fn cookie(reply: &Reply) -> String {
    let set = reply.header("set-cookie").unwrap();
    set.split(';').next().unwrap().to_owned()
}

fn form(path: &str, fields: &[(&str, &str)]) -> Ask {
    let mut body = form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(fields);
    post(path).raw(body.finish(), "application/x-www-form-urlencoded")
}

impl Browser<'_> {
    async fn get(&self, path: &str) -> Reply {
        self.bench
            .page(get(path).header("cookie", self.cookie.as_str()))
            .await
    }

    /// The word that its forms carry.
    async fn csrf(&self) -> String {
        let page = self.get("/console/tools").await.text();
        let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }

    async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let csrf = self.csrf().await;
        let mut all = vec![("csrf", csrf.as_str())];
        all.extend(fields);
        let sent = form(path, &all).header("cookie", self.cookie.as_str());
        self.bench.page(sent).await
    }
}

async fn asked(bench: &Bench, text: &str) -> (String, String) {
    let body = json!({"args": {"text": text}});
    let answer = bench
        .send(post("/tools/toy_write/runs").by(&bench.bot).json(body))
        .await
        .is(202);
    let text = |key: &str| answer["meta"][key].as_str().unwrap().to_owned();
    (text("run_id"), text("approval_id"))
}

const PAGES: [&str; 6] = [
    "/console",
    "/console/inbox",
    "/console/runs",
    "/console/tools",
    "/console/servers",
    "/console/audit",
];

#[tokio::test]
async fn without_a_session_there_is_only_the_door() {
    let bench = Bench::new().await;
    for page in PAGES {
        let reply = bench.page(get(page)).await;
        assert_eq!(reply.status, 303, "{page}");
        assert_eq!(reply.header("location"), Some("/console/sign-in"));
        let reply = bench
            .page(get(page).header("cookie", "helve_session=0"))
            .await;
        assert_eq!(reply.status, 303, "{page}");
        // A token that is good for the REST door opens no page by itself.
        let reply = bench.page(get(page).by(&bench.ann)).await;
        assert_eq!(reply.status, 303, "{page}");
    }
    let reply = bench.page(get("/")).await;
    assert_eq!(reply.header("location"), Some("/console"));
    let reply = bench.page(get("/console/sign-in")).await;
    assert_eq!(reply.status, 200);
    let reply = bench.page(get("/console/nowhere")).await;
    assert_eq!(reply.status, 404);
}

#[tokio::test]
async fn a_token_signs_in_and_what_pages_may_load_is_named() {
    let bench = Bench::new().await;
    let reply = bench
        .page(form(
            "/console/sign-in",
            &[("token", &format!(" {} ", bench.ann))],
        ))
        .await;
    let set = reply.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/console"] {
        assert!(set.contains(part), "{set}");
    }
    let ann = bench.enter(&bench.ann).await;
    for page in PAGES {
        let reply = ann.get(page).await;
        assert_eq!(reply.status, 200, "{page}: {reply:?}");
        let policy = reply.header("content-security-policy").unwrap();
        assert!(
            !policy.contains("unsafe") && policy.contains("script-src 'self'"),
            "{policy}"
        );
        let text = reply.text();
        assert!(
            !text.contains("<style") && !text.contains(" style="),
            "{page}"
        );
        assert!(
            !text.contains(" onclick") && !text.contains("<script>"),
            "{page}"
        );
    }
    for file in [
        "/console/console.js",
        "/console/style.css",
        "/console/icon.svg",
    ] {
        assert_eq!(bench.page(get(file)).await.status, 200, "{file}");
    }
    assert_eq!(
        bench.events("console").await,
        ["console.signed_in", "console.signed_in"]
    );
}

#[tokio::test]
async fn who_is_not_known_or_is_an_agent_stays_outside() {
    let bench = Bench::new().await;
    let reply = bench
        .page(form("/console/sign-in", &[("token", "hlv_no")]))
        .await;
    assert_eq!(reply.status, 401);
    assert!(reply.header("set-cookie").is_none());
    assert!(reply.text().contains("role=\"alert\""), "{reply:?}");
    let reply = bench
        .page(form("/console/sign-in", &[("token", &bench.bot)]))
        .await;
    assert_eq!(reply.status, 403);
    assert!(reply.text().contains("for people"), "{reply:?}");
    let reply = bench.send(post("/console/links").by(&bench.bot)).await;
    reply.problem(403);
    // Those who guess are slowed down; who is signed in does not notice.
    let mut slowed = None;
    for _ in 0..30 {
        let reply = bench
            .page(form("/console/sign-in", &[("token", "x")]))
            .await;
        if reply.status == 429 {
            slowed = reply.header("retry-after").map(str::to_owned);
            break;
        }
    }
    assert!(slowed.is_some());
}

#[tokio::test]
async fn a_link_works_once() {
    let bench = Bench::new().await;
    let made = bench
        .send(post("/console/links").by(&bench.bob))
        .await
        .is(201);
    let path = made["path"].as_str().unwrap();
    assert_eq!(made["url"], format!("http://{HOST}{path}"));
    let reply = bench.page(get(path)).await;
    assert_eq!(reply.status, 200);
    assert!(reply.text().contains("http-equiv=\"refresh\""), "{reply:?}");
    let bob = Browser {
        bench: &bench,
        cookie: cookie(&reply),
    };
    assert!(bob.get("/console").await.text().contains("bob"));
    let reply = bench.page(get(path)).await;
    assert_eq!(reply.status, 401);
    assert!(reply.header("set-cookie").is_none());
}

#[tokio::test]
async fn a_session_ends_with_its_token_and_by_the_button() {
    let bench = Bench::new().await;
    let root = Principal::person("root");
    let new = NewToken {
        kind: PrincipalKind::Person,
        owner: "eve".to_owned(),
        permissions: Permission::ALL.to_vec(),
        ..NewToken::agent("eve's")
    };
    let (secret, id) = bench.token_of(&root, new).await;
    let eve = bench.enter(&secret).await;
    assert_eq!(eve.get("/console").await.status, 200);
    bench.hub.kernel().revoke_token(&root, &id).await.unwrap();
    assert_eq!(eve.get("/console").await.status, 303);

    let ann = bench.enter(&bench.ann).await;
    let reply = ann.post("/console/sign-out", &[]).await;
    assert_eq!(reply.header("location"), Some("/console/sign-in"));
    assert!(reply.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(ann.get("/console").await.status, 303);
}

#[tokio::test]
async fn a_form_of_no_session_does_nothing() {
    let bench = Bench::new().await;
    let bob = bench.enter(&bench.bob).await;
    let ann = bench.enter(&bench.ann).await;
    let (_, approval) = asked(&bench, "x").await;
    let place = format!("/console/inbox/{approval}/approve");
    let foreign = ann.csrf().await;
    for fields in [
        &[][..],
        &[("csrf", "")],
        &[("csrf", "0")],
        &[("csrf", foreign.as_str())],
    ] {
        let sent = form(&place, fields).header("cookie", bob.cookie.as_str());
        let reply = bench.page(sent).await;
        assert_eq!(reply.status, 403, "{fields:?}");
        assert!(reply.text().contains("nothing was done"), "{reply:?}");
    }
    // Nor one from a page of somebody else.
    let word = bob.csrf().await;
    let sent = form(&place, &[("csrf", &word)])
        .header("cookie", bob.cookie.as_str())
        .header("origin", "http://elsewhere.example");
    assert_eq!(bench.page(sent).await.status, 403);
    // Nor JSON that a page could send without being asked.
    let sent = post(&place)
        .json(json!({"csrf": word}))
        .header("cookie", bob.cookie.as_str());
    assert_eq!(bench.page(sent).await.status, 415);
    let shown = bench.get(&format!("/approvals/{approval}")).await.is(200);
    assert_eq!(shown["state"], "pending");
    assert_eq!(bench.toy.count(), 0);
}

#[tokio::test]
async fn an_approval_is_seen_and_decided_once() {
    let bench = Bench::new().await;
    let bob = bench.enter(&bench.bob).await;
    let (run, approval) = asked(&bench, "<b>\u{202e}").await;
    let page = bob.get("/console/inbox").await.text();
    for part in [
        "toy_write",
        "agent:bot",
        "&lt;b&gt;",
        "U+202E",
        approval.as_str(),
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<b>\u{202e}") && !page.contains('\u{202e}'));
    let reply = bob
        .post(&format!("/console/inbox/{approval}/approve"), &[])
        .await;
    let next = format!("/console/inbox?done=approved&run={run}");
    assert_eq!(reply.header("location"), Some(next.as_str()), "{reply:?}");
    let page = bob.get(&next).await.text();
    assert!(page.contains("data-said") && page.contains(&run), "{page}");
    assert!(!page.contains("data-item"), "{page}");
    assert_eq!(bench.toy.count(), 1);
    // Decided elsewhere meanwhile: it says so, and nothing happens.
    for act in ["approve", "deny"] {
        let reply = bob
            .post(&format!("/console/inbox/{approval}/{act}"), &[])
            .await;
        assert_eq!(reply.status, 409, "{reply:?}");
        assert!(reply.text().contains("role=\"alert\""), "{reply:?}");
    }
    assert_eq!(bench.toy.count(), 1);
}

/// Two staged writes; the stage of the second is gone from the disk.
#[tokio::test]
async fn what_cannot_be_shown_is_not_approved_and_keeps_nobody_waiting() {
    let bench = super::changes::bench(json!([])).await;
    let bob = bench.enter(&bench.bob).await;
    let place = |answer: &Value| {
        let id = answer["meta"]["approval_id"].as_str().unwrap();
        format!("/console/inbox/{id}/approve")
    };
    let lost = bench.note(&bench.bot, 202, json!({"path": "lost"})).await;
    let stages = bench.folder.path().join(".helve/changes");
    let files: Vec<_> = walk(&stages).into_iter().filter(|f| f.is_file()).collect();
    assert!(!files.is_empty(), "{stages:?}");
    for file in files {
        std::fs::remove_file(file).unwrap();
    }
    let whole = bench.note(&bench.bot, 202, json!({"path": "whole"})).await;
    let page = bob.get("/console/inbox").await;
    assert_eq!(page.status, 200, "{page:?}");
    let page = page.text();
    assert!(page.contains(&place(&whole)), "{page}");
    assert!(!page.contains(&place(&lost)), "{page}");
    assert!(
        page.contains(&place(&lost).replace("/approve", "/deny")),
        "{page}"
    );
    assert!(page.contains("role=\"alert\""), "{page}");
    let reply = bob.post(&place(&whole), &[]).await;
    assert_eq!(reply.status, 303, "{reply:?}");
    assert_eq!(bench.data("whole").as_deref(), Some("hello\n"));
    assert_eq!(bench.data("lost"), None);
}

/// All that is in a folder, however deep.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        found.extend(walk(&entry.path()));
        found.push(entry.path());
    }
    found
}

#[tokio::test]
async fn a_denial_has_its_reason_and_too_late_is_told() {
    let bench = Bench::new().await;
    let bob = bench.enter(&bench.bob).await;
    let (run, approval) = asked(&bench, "x").await;
    let deny = format!("/console/inbox/{approval}/deny");
    let long = "x".repeat(1001);
    assert_eq!(bob.post(&deny, &[("reason", &long)]).await.status, 422);
    let reply = bob.post(&deny, &[("reason", " not today ")]).await;
    assert_eq!(reply.status, 303, "{reply:?}");
    let shown = bench.get(&format!("/approvals/{approval}")).await.is(200);
    assert_eq!(shown["decisions"][0]["reason"], "not today");
    assert_eq!(
        bench.get(&format!("/runs/{run}")).await.is(200)["state"],
        "denied"
    );

    let (_, approval) = asked(&bench, "y").await;
    bench.clock.go(Duration::from_secs(2 * 3600));
    let page = bob.get("/console/inbox").await.text();
    assert!(!page.contains(&approval), "{page}");
    let reply = bob
        .post(&format!("/console/inbox/{approval}/approve"), &[])
        .await;
    assert_eq!(reply.status, 409, "{reply:?}");
    assert_eq!(bench.toy.count(), 0);
}

#[tokio::test]
async fn pages_show_what_their_reader_may_see() {
    let bench = Bench::new().await;
    let (run, approval) = asked(&bench, "x").await;
    let few = [Permission::RunRead, Permission::ToolRead];
    let eve = bench.person("eve", &few).await;
    let eve = bench.enter(&eve).await;
    for page in ["/console/inbox", "/console/runs", "/console"] {
        let text = eve.get(page).await.text();
        assert!(
            !text.contains(&run) && !text.contains(&approval),
            "{page}: {text}"
        );
        assert!(!text.contains("/console/audit"), "{page}");
    }
    for place in [
        format!("/console/runs/{run}"),
        format!("/console/inbox/{approval}"),
    ] {
        assert_eq!(eve.get(&place).await.status, 404, "{place}");
    }
    assert_eq!(eve.get("/console/audit").await.status, 403);
    assert_eq!(eve.get("/console/audit/1").await.status, 403);
    assert_eq!(eve.get("/console/audit/export").await.status, 403);
    for place in [
        "/console/tools/toy_write/disable",
        "/console/tools/toy_write/call",
    ] {
        let reply = eve.post(place, &[("arg.text", "x")]).await;
        assert_eq!(reply.status, 403, "{place}: {reply:?}");
    }
    let none = bench.person("nil", &[Permission::ToolRead]).await;
    let none = bench.enter(&none).await;
    assert_eq!(none.get("/console").await.status, 403);
    let scoped = bench.scoped("sue", &["other_*"]).await;
    let scoped = bench.enter(&scoped).await;
    assert!(
        !scoped
            .get("/console/tools")
            .await
            .text()
            .contains("toy_write")
    );
    assert_eq!(scoped.get("/console/tools/toy_write").await.status, 404);
}

#[tokio::test]
async fn every_page_needs_its_right() {
    let bench = Bench::new().await;
    // Few may sign in at once, so each does only once.
    let mut cookies: HashMap<String, String> = HashMap::new();
    for (path, needs, _) in crate::console::pages() {
        let Some(needs) = needs else { continue };
        let others: Vec<Permission> = Permission::ALL
            .into_iter()
            .filter(|p| *p != needs)
            .collect();
        let owner = format!("without:{needs}");
        if !cookies.contains_key(&owner) {
            let browser = bench.enter(&bench.person(&owner, &others).await).await;
            cookies.insert(owner.clone(), browser.cookie);
        }
        let cookie = cookies[&owner].clone();
        let browser = Browser {
            bench: &bench,
            cookie,
        };
        let path = path
            .replace("{id}", "x")
            .replace("{name}", "x")
            .replace("{act}", "x")
            .replace("{seq}", "1");
        let sent = form(&path, &[]).header("cookie", browser.cookie.as_str());
        let both = [
            browser.get(&path).await.status,
            bench.page(sent).await.status,
        ];
        assert!(both.contains(&403), "{path} without {needs}: {both:?}");
        assert!(
            both.iter().all(|s| [403, 405].contains(s)),
            "{path} without {needs}: {both:?}"
        );
    }
}

#[tokio::test]
async fn whoever_may_not_keep_a_rule_does_not_approve_by_one() {
    let bench = Bench::new().await;
    let (_, approval) = asked(&bench, "x").await;
    let decides: Vec<Permission> = Permission::ALL
        .into_iter()
        .filter(|p| *p != Permission::ToolRegister)
        .collect();
    let eve = bench.enter(&bench.person("eve", &decides).await).await;
    let page = eve.get("/console/inbox").await.text();
    assert!(page.contains("data-act=\"approve\""), "{page}");
    assert!(!page.contains("data-act=\"remember\""), "{page}");
    let place = format!("/console/inbox/{approval}/remember");
    assert_eq!(eve.get(&place).await.status, 403);
    let reply = eve.post(&place, &[("like", "tool")]).await;
    assert_eq!(reply.status, 403, "{reply:?}");
    let shown = bench.get(&format!("/approvals/{approval}")).await.is(200);
    assert_eq!(shown["state"], "pending");
}

#[tokio::test]
async fn a_tool_is_called_by_its_form_and_stands_on_the_record() {
    let bench = Bench::new().await;
    let ann = bench.enter(&bench.ann).await;
    let page = ann.get("/console/tools/toy_echo").await.text();
    assert!(page.contains("name=\"arg.text\""), "{page}");
    let reply = ann
        .post("/console/tools/toy_echo/call", &[("arg.text", "héllo")])
        .await;
    let place = reply.header("location").unwrap().to_owned();
    let run = place.strip_prefix("/console/runs/").unwrap();
    let id = helve_kernel::RunId::parse(run).unwrap();
    bench.hub.kernel().wait_for(&id).await.unwrap();
    let page = ann.get(&place).await.text();
    assert!(
        page.contains("data-state=\"succeeded\"") && page.contains("héllo"),
        "{page}"
    );
    assert_eq!(bench.events(run).await.first().unwrap(), "run.queued");
    let wrong = ann
        .post("/console/tools/toy_echo/call", &[("arg.none", "{")])
        .await;
    assert_eq!(wrong.status, 422, "{wrong:?}");
    let off = ann.post("/console/tools/toy_echo/disable", &[]).await;
    assert_eq!(off.status, 303, "{off:?}");
    let page = ann.get("/console/tools/toy_echo").await.text();
    assert!(
        !page.contains("data-form=\"call\"") && page.contains("data-act=\"enable\""),
        "{page}"
    );
}

#[tokio::test]
async fn what_a_run_wrote_and_left_is_on_its_page() {
    let bench = Bench::new().await;
    let ann = bench.enter(&bench.ann).await;
    let left = bench.post("/tools/toy_file/runs", json!({})).await.is(200);
    let run = left["meta"]["run_id"].as_str().unwrap().to_owned();
    let page = ann.get(&format!("/console/runs/{run}")).await.text();
    let link = format!("/console/runs/{run}/artifacts/toy.bin");
    assert!(page.contains(&link), "{page}");
    let file = ann.get(&link).await;
    assert_eq!(file.bytes[..], [0, 159, 146, 150]);
    assert_eq!(file.header("content-disposition"), Some("attachment"));
    for name in ["link", "..%2Fescape", "none"] {
        let link = format!("/console/runs/{run}/artifacts/{name}");
        assert_eq!(ann.get(&link).await.status, 404, "{name}");
    }
    let said = bench.post("/tools/toy_echo/runs", json!({})).await.is(200);
    let run = said["meta"]["run_id"].as_str().unwrap().to_owned();
    let page = ann.get(&format!("/console/runs/{run}")).await.text();
    assert!(page.contains("hello"), "{page}");
    // Of what is long, the end is shown, and how much stands before it.
    let waits = bench
        .post("/tools/toy_wait/runs", json!({"wait": "nothing"}))
        .await
        .is(202);
    let run = waits["meta"]["run_id"].as_str().unwrap().to_owned();
    bench.toy.out("é".repeat(50_000));
    bench.toy.err("x".repeat(20_000) + "<end>");
    bench.toy.done();
    let id = helve_kernel::RunId::parse(&run).unwrap();
    bench.hub.kernel().wait_for(&id).await.unwrap();
    let page = ann.get(&format!("/console/runs/{run}")).await.text();
    assert!(page.contains("&lt;end&gt;"), "{}", page.len());
    assert!(page.contains("10005 earlier characters"), "{}", page.len());
    assert_eq!(page.matches('é').count(), 39_995);
}

#[tokio::test]
async fn the_chain_is_followed_and_a_break_is_told() {
    let bench = Bench::new().await;
    let ann = bench.enter(&bench.ann).await;
    let page = ann.get("/console/audit").await.text();
    assert!(page.contains("data-verified=\"yes\""), "{page}");
    let reply = ann.get("/console/audit/1").await;
    assert!(reply.text().contains("data-record"), "{reply:?}");
    assert_eq!(ann.get("/console/audit/0").await.status, 404);
    assert_eq!(ann.get("/console/audit/99999").await.status, 404);
    assert_eq!(ann.get("/console/audit/x").await.status, 404);
    let export = ann.get("/console/audit/export").await;
    assert_eq!(export.status, 200);
    let lines = export.text().lines().count();
    assert!(lines > 3, "{lines}");
}

#[tokio::test]
async fn the_browser_chooses_the_language() {
    let bench = Bench::new().await;
    let asked = get("/console/sign-in").header("accept-language", "zh-CN,zh;q=0.9");
    let text = bench.page(asked).await.text();
    assert!(
        text.contains("<html lang=\"zh\">") && text.contains("登录"),
        "{text}"
    );
    let text = bench.page(get("/console/sign-in")).await.text();
    assert!(text.contains("<html lang=\"en\">"), "{text}");
}
