//! What runs change: held back, shown, committed, taken back.

mod history;
mod undo;

use helve_kernel::{Ctx, Keeping, Tool, ToolError};

use super::*;

/// A rule by which nobody is asked.
fn unasked() -> Value {
    json!([{"effect": "allow", "tool": "note_*"}])
}

/// A bench with a tool that writes files in `data`, all of it through its context.
pub(super) async fn bench(rules: Value) -> Bench {
    with(Settings::default(), rules).await
}

async fn with(settings: Settings, rules: Value) -> Bench {
    let bench = Bench::with(settings, rules).await;
    std::fs::create_dir(bench.folder.path().join("data")).unwrap();
    let text = |says: &str| json!({"type": "string", "description": says});
    let def = |name: &str, properties: Value| {
        let def = json!({
            "name": name,
            "description": "Writes a note. Use it in tests.",
            "risk": "write",
            "allowed_paths": ["data"],
            "input_schema": {
                "type": "object",
                "properties": properties,
                "additionalProperties": false,
            },
        });
        ToolDef::from_value(&def).unwrap()
    };
    let properties = json!({"path": text("Where."), "text": text("What."), "times": {
        "type": "integer", "description": "How many files.", "default": 1,
    }});
    let write = Tool::new(
        def("note_write", properties),
        |ctx: Ctx, args: Value| async move {
            let (path, text) = (args["path"].as_str(), args["text"].as_str());
            let (path, text) = (path.unwrap_or("note"), text.unwrap_or("hello\n"));
            for n in 1..=args["times"].as_u64().unwrap_or(1) {
                let name = if n == 1 {
                    path.to_owned()
                } else {
                    format!("{path}{n}")
                };
                ctx.files().write(format!("data/{name}"), text).await?;
            }
            Ok::<_, ToolError>(json!("written"))
        },
    );
    let odd = Tool::new(
        def("note_odd", json!({})),
        |ctx: Ctx, _: Value| async move {
            use std::os::unix::ffi::OsStrExt as _;
            let name = std::ffi::OsStr::from_bytes(b"data/\xff");
            ctx.files().write(name, "odd\n").await?;
            Ok::<_, ToolError>(json!("written"))
        },
    );
    let kernel = bench.hub.kernel();
    kernel.add_tools([write.held(), odd.held()]).unwrap();
    bench
}

impl Bench {
    pub(super) fn data(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join("data").join(name)).ok()
    }

    /// Writes a note for somebody: the whole answer.
    pub(super) async fn note(&self, secret: &str, status: u16, args: Value) -> Value {
        let body = json!({"args": args});
        let ask = post("/tools/note_write/runs").by(secret).json(body);
        self.send(ask).await.is(status)
    }

    /// Writes a note where nobody is asked: the run.
    async fn noted(&self, args: Value) -> String {
        id(&self.note(&self.ann, 200, args).await, "run_id")
    }

    async fn undo(&self, body: Value) -> Value {
        self.post("/undo", body).await.is(200)
    }
}

fn id(answer: &Value, key: &str) -> String {
    answer["meta"][key].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn shown_approved_and_taken_back() {
    let bench = bench(json!([])).await;
    let bot = bench.bot.clone();
    let answer = bench.note(&bot, 202, json!({"text": "one\n"})).await;
    let (run, approval) = (id(&answer, "run_id"), id(&answer, "approval_id"));
    assert_eq!(answer["meta"]["state"], "staged");
    assert_eq!(answer["meta"]["changes"]["created"], 1);
    assert_eq!(bench.data("note"), None, "nothing is changed yet");

    let place = format!("/runs/{run}");
    let shown = bench.get(&place).await.is(200);
    assert_eq!(shown["changes"]["state"], "staged");
    assert_eq!(shown["changes"]["paths"], 1);
    assert_eq!(shown["answer"]["meta"]["state"], "staged");
    assert_eq!(shown["answer"]["meta"]["changes"]["created"], 1);
    let asked = bench.get(&format!("/approvals/{approval}")).await.is(200);
    assert_eq!(asked["changes"]["created"], 1);
    assert_eq!(asked["diff"], format!("{place}/diff"));
    let listed = bench.get("/approvals").await.is(200);
    assert_eq!(listed["items"][0]["changes"]["paths"], 1);

    let diff = bench.get(&format!("{place}/diff?format=text")).await;
    assert_eq!(
        diff.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert!(diff.text().contains("+one"), "{diff:?}");

    let yes = post(&format!("/approvals/{approval}/approve")).by(&bench.bob);
    bench.send(yes).await.is(200);
    let parsed = helve_kernel::RunId::parse(&run).unwrap();
    bench.hub.kernel().wait_for(&parsed).await.unwrap();
    assert_eq!(bench.data("note").as_deref(), Some("one\n"));
    let over = bench.get(&place).await.is(200);
    assert_eq!(over["state"], "succeeded");
    assert_eq!(over["changes"]["state"], "committed");
    assert_eq!(over["changes"]["order"], 1);

    let undone = bench
        .post(&format!("{place}/undo"), json!({}))
        .await
        .is(200);
    assert_eq!(undone["meta"]["tool"], "helve_undo");
    assert_eq!(undone["data"]["undone"], json!([run]));
    assert_eq!(bench.data("note"), None);
    let over = bench.get(&place).await.is(200);
    assert_eq!(over["state"], "undone");
    assert_eq!(over["changes"]["state"], "undone");
    let said = bench
        .post(&format!("{place}/undo"), json!({}))
        .await
        .problem(409);
    assert!(said.contains("undone before"), "{said}");
}

#[tokio::test]
async fn a_denial_leaves_nothing() {
    let bench = bench(json!([])).await;
    let answer = bench.note(&bench.bot, 202, json!({})).await;
    let (run, approval) = (id(&answer, "run_id"), id(&answer, "approval_id"));
    let no = post(&format!("/approvals/{approval}/deny")).by(&bench.bob);
    bench.send(no.json(json!({"reason": "no"}))).await.is(200);
    let over = bench.get(&format!("/runs/{run}")).await.is(200);
    assert_eq!(over["state"], "denied");
    assert_eq!(over["changes"]["state"], "dropped");
    assert_eq!(bench.data("note"), None);
    let said = bench.post(&format!("/runs/{run}/undo"), json!({})).await;
    said.problem(409);
    // What it would have been is still told.
    bench.get(&format!("/runs/{run}/diff")).await.is(200);
}

#[tokio::test]
async fn the_forms_of_a_diff() {
    let bench = bench(unasked()).await;
    let run = bench.noted(json!({"text": "a\u{202e}b\n"})).await;
    let place = format!("/runs/{run}/diff");
    let json = bench.get(&place).await.is(200);
    assert_eq!(json["changes"][0]["kind"], "created");
    assert!(
        json["changes"][0]["path"]
            .as_str()
            .unwrap()
            .ends_with("/data/note")
    );
    for (query, accept, kind, has) in [
        ("", "application/json", "application/json", "a\u{202e}b"),
        ("", "text/plain", "text/plain; charset=utf-8", "+a"),
        ("", "text/x-diff", "text/x-diff", "+a"),
        ("", "*/*", "application/json", "a\u{202e}b"),
        ("?format=json", "text/plain", "application/json", "hunks"),
        ("?format=text", "*/*", "text/plain; charset=utf-8", "+a"),
        ("?format=patch", "*/*", "text/x-diff", "+a\u{202e}b"),
    ] {
        let ask = get(&format!("{place}{query}")).by(&bench.ann);
        let reply = bench.send(ask.header("accept", accept)).await;
        assert_eq!(reply.header("content-type"), Some(kind), "{query} {accept}");
        assert!(reply.text().contains(has), "{query} {accept}: {reply:?}");
        let hidden = reply.text().contains('\u{202e}');
        assert_eq!(hidden, kind == "application/json" || has.len() > 2);
    }
    bench
        .get(&format!("{place}?format=html"))
        .await
        .problem(400);
}

#[tokio::test]
async fn a_run_that_changed_nothing_has_no_diff() {
    let bench = bench(unasked()).await;
    let answer = bench.post("/tools/toy_echo/runs", json!({})).await.is(200);
    let run = id(&answer, "run_id");
    assert_eq!(
        bench.get(&format!("/runs/{run}")).await.is(200)["changes"],
        Value::Null
    );
    for (ask, status) in [
        (get(&format!("/runs/{run}/diff")), 404),
        (post(&format!("/runs/{run}/undo")), 409),
        (post(&format!("/runs/{run}/pin")), 404),
    ] {
        let said = bench.send(ask.by(&bench.ann)).await.problem(status);
        assert!(said.contains("changed no files"), "{said}");
    }
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    for rules in [json!([]), unasked()] {
        let bench = bench(rules).await;
        let body = json!({"args": {"text": "dry\n"}, "dry_run": true});
        let answer = bench.post("/tools/note_write/runs", body).await.is(200);
        assert_eq!(answer["meta"]["dry_run"], true);
        assert_eq!(answer["meta"]["changes"]["created"], 1);
        assert!(answer["meta"]["diff"].as_str().unwrap().contains("+dry"));
        assert_eq!(bench.data("note"), None);
        let body = json!({"tool": "note_write", "dry_run": true});
        bench.post("/runs", body).await.is(200);
        assert_eq!(bench.data("note"), None);
        // What does more than change files cannot be tried.
        let body = json!({"dry_run": true});
        bench.post("/tools/toy_write/runs", body).await.problem(422);
        let body = json!({"dry_run": "yes"});
        bench
            .post("/tools/note_write/runs", body)
            .await
            .problem(422);
        let body = json!({"dry_run": null});
        let asked = bench.post("/tools/note_write/runs", body).await;
        assert!(asked.json()["meta"].get("dry_run").is_none());
    }
}

#[tokio::test]
async fn a_stream_tells_that_people_decide() {
    let bench = bench(json!([])).await;
    let answer = bench.note(&bench.bot, 202, json!({})).await;
    let (run, approval) = (id(&answer, "run_id"), id(&answer, "approval_id"));
    let yes = post(&format!("/approvals/{approval}/approve")).by(&bench.bob);
    let logs = get(&format!("/runs/{run}/logs")).by(&bench.ann);
    let hub = bench.router.clone();
    let response = hub.oneshot(logs.request()).await.unwrap();
    let mut body = response.into_body().into_data_stream();
    let first = futures_util::StreamExt::next(&mut body)
        .await
        .unwrap()
        .unwrap();
    let first = String::from_utf8(first.to_vec()).unwrap();
    assert!(first.contains("event: staged"), "{first}");
    assert!(first.contains(&approval), "{first}");
    bench.send(yes).await.is(200);
    let rest = axum::body::to_bytes(Body::from_stream(body), usize::MAX).await;
    let rest = String::from_utf8(rest.unwrap().to_vec()).unwrap();
    assert!(rest.contains("event: end"), "{rest}");
}

#[tokio::test]
async fn those_who_decide_see_what_about() {
    let bench = bench(json!([])).await;
    let rights = [Permission::RunRead, Permission::ApprovalDecide];
    let judge = bench.person("judge", &rights).await;
    let reader = bench.person("reader", &[Permission::RunRead]).await;
    let answer = bench.note(&bench.bot, 202, json!({})).await;
    let (run, approval) = (id(&answer, "run_id"), id(&answer, "approval_id"));
    let diff = || get(&format!("/runs/{run}/diff"));
    bench.send(diff().by(&judge)).await.is(200);
    bench.send(diff().by(&reader)).await.problem(404);
    bench
        .send(get(&format!("/runs/{run}")).by(&judge))
        .await
        .problem(404);
    let no = post(&format!("/approvals/{approval}/deny")).by(&judge);
    bench.send(no).await.is(200);
    bench.send(diff().by(&judge)).await.problem(404);
}
