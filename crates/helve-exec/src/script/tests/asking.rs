//! Scripts that call other tools of the hub.

use super::*;

#[tokio::test]
async fn a_call_like_any_other() {
    let rig = Rig::new().await;
    rig.js("text_upper", "return args.text.toUpperCase()", json!({}))
        .await;
    rig.js(
        "text_twice",
        "const t = await ctx.service.text.upper(args); return t + t",
        json!({}),
    )
    .await;
    let answer = rig.call("text_twice", json!({"text": "ab"})).await;
    assert_eq!(answer.result, Ok(json!("ABAB")));
    // On record, by the same person, through the one that asked.
    let runs = rig
        .kernel
        .store()
        .runs(RunFilter::default(), 10)
        .await
        .unwrap();
    let inner = runs.iter().find(|run| run.tool == "text_upper").unwrap();
    assert_eq!(
        (inner.owner.as_str(), inner.state),
        ("ann", RunState::Succeeded)
    );
    let many = "const all = await Promise.all([1, 2, 3, 4].map(n => ctx.call('text_upper', {text: 'a' + n}))); return all.join()";
    rig.js("many", many, json!({})).await;
    assert_eq!(rig.data("many", json!({})).await, "A1,A2,A3,A4");
    let body = "    import helve\n    return helve.call('text_upper', text='x') + '!'";
    rig.py("loud", body, json!({})).await;
    assert_eq!(rig.data("loud", json!({})).await, "X!");
}

#[tokio::test]
async fn what_the_caller_may_not_the_script_may_not() {
    let rules =
        json!([{"effect": "deny", "tool": "forbidden"}, {"effect": "ask", "tool": "asked"}]);
    let rig = Rig::with(
        ScriptSettings {
            pool: 2,
            ..ScriptSettings::default()
        },
        rules,
    )
    .await;
    for name in ["forbidden", "asked"] {
        rig.js(name, "return 'ran'", json!({"risk": "exec_high"}))
            .await;
    }
    let tries =
        "try { return await ctx.call(args.tool, {}) } catch (e) { return [e.type, e.message] }";
    rig.js("tries", tries, json!({})).await;
    let cases = [
        ("forbidden", "denied", "forbidden"),
        ("asked", "denied", "waits for approval"),
        ("not_there", "not_found", "not_there"),
    ];
    for (tool, kind, wanted) in cases {
        let found = rig.data("tries", json!({"tool": tool})).await;
        assert_eq!(found[0], kind, "{found}");
        assert!(found[1].as_str().unwrap().contains(wanted), "{found}");
    }
}

#[tokio::test]
async fn circles_end() {
    let rig = Rig::with(
        ScriptSettings {
            pool: 1,
            ..ScriptSettings::default()
        },
        json!([]),
    )
    .await;
    rig.js(
        "ping",
        "return await ctx.call('ping', {})",
        json!({"timeout": "50s"}),
    )
    .await;
    let error = rig.error("ping", json!({})).await;
    assert!(error.message.contains("deep"), "{error:?}");
    // One deep, although there is room for one call only.
    rig.js("inner", "return 'in'", json!({})).await;
    rig.js("outer", "return await ctx.call('inner', {})", json!({}))
        .await;
    assert_eq!(rig.data("outer", json!({})).await, "in");
}

#[tokio::test]
async fn nothing_happens_that_nobody_has_agreed_to() {
    let rules = json!([{"effect": "ask", "tool": "outer"}]);
    let rig = Rig::with(
        ScriptSettings {
            pool: 2,
            ..ScriptSettings::default()
        },
        rules,
    )
    .await;
    let may = json!({"risk": "write", "allowed_paths": ["data"], "reversible": "yes"});
    rig.js(
        "inner",
        "require('fs').writeFileSync('data/inner', 'x'); return 1",
        may.clone(),
    )
    .await;
    let outer = "require('fs').writeFileSync('data/outer', 'x'); \
                 try { await ctx.call('inner', {}) } catch (e) { return e.message } return 'called'";
    rig.js("outer", outer, may.clone()).await;
    let answer = rig.call("outer", json!({})).await;
    assert_eq!(answer.meta.state, Some(RunState::Staged));
    assert_eq!(rig.read("data/inner"), None);
    rig.js(
        "open_outer",
        &outer.replace("'data/outer'", "'data/outer2'"),
        may,
    )
    .await;
    let mut call = KernelCall::new(Principal::person("ann"), "open_outer", json!({}));
    call.dry_run = true;
    let answer = rig.kernel.call(call).await;
    assert_eq!(answer.result, Ok(json!("called")));
    assert_eq!(
        (rig.read("data/inner"), rig.read("data/outer2")),
        (None, None)
    );
}

#[tokio::test]
async fn what_nobody_waits_for_is_called_off() {
    let rig = Rig::new().await;
    let timeout = json!({"timeout": "50s"});
    rig.js("slow", "await new Promise(() => {})", timeout.clone())
        .await;
    let leaves = "ctx.call('slow', {}).catch(() => {}); const fs = require('fs'); \
                  while (!fs.existsSync('go')) await new Promise(r => setTimeout(r, 5)); return 1";
    rig.js("leaves", leaves, timeout).await;
    let slow = || async {
        let store = rig.kernel.store();
        let runs = store.runs(RunFilter::default(), 10).await.unwrap();
        let slow = runs.into_iter().find(|run| run.tool == "slow");
        slow.map(|run| run.state)
    };
    let go = async {
        while slow().await != Some(RunState::Running) {
            tokio::task::yield_now().await;
        }
        rig.write("go", "");
    };
    let (left, ()) = tokio::join!(rig.data("leaves", json!({})), go);
    assert_eq!(left, 1);
    while slow().await == Some(RunState::Running) {
        tokio::task::yield_now().await;
    }
    assert_eq!(slow().await, Some(RunState::Cancelled));
}
