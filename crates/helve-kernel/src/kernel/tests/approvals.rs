//! Approvals: who may, when, how often, and for exactly what.

use std::time::Duration;

use super::harness::*;
use crate::kernel::ApprovalRules;
use crate::{
    Answer, ApprovalState, Call, ErrorKind, NewToken, Permission, Principal, PrincipalKind,
    RunState, Tool, ToolError, Verdict, Wait,
};
use helve_core::def::Risk;
use helve_core::policy::Pattern;
use serde_json::json;

async fn hub() -> (Hub, Count) {
    let hub = Hub::new().await;
    let (tool, count) = counting("a_write", json!({"risk": "write"}));
    hub.add(tool);
    (hub, count)
}

fn refused(result: Result<crate::Approval, ToolError>) -> String {
    let error = result.unwrap_err();
    format!("{}: {}", error.kind, error.message)
}

/// A token's bearer.
async fn bearer(hub: &Hub, by: &Principal, owner: &str, rights: &[Permission]) -> Principal {
    let new = NewToken {
        name: owner.to_owned(),
        kind: PrincipalKind::Person,
        owner: owner.to_owned(),
        permissions: rights.to_vec(),
        scopes: vec!["*".to_owned()],
        max_risk: Risk::Write,
        lasts: None,
    };
    let (_, secret) = hub.kernel.create_token(by, new).await.unwrap();
    Principal::clone(&hub.kernel.authenticate(secret.reveal()).unwrap())
}

#[tokio::test]
async fn what_is_approved_runs_once_as_it_was_asked() {
    let (hub, count) = hub().await;
    let approval = hub.ask(&ann(), "a_write", json!({"x": 1})).await;
    assert_eq!((count.get(), approval.needed), (0, 1));
    assert_eq!(approval.args, json!({"x": 1}));
    let approval = hub.approve(&bob(), &approval).await.unwrap();
    assert_eq!(approval.state, ApprovalState::Approved);
    let run = hub.end_of(&approval).await;
    assert_eq!(run.state, RunState::Succeeded);
    let answer = run.answer.unwrap();
    assert_eq!(answer["data"], json!({"x": 1}));
    assert_eq!(answer["meta"]["approval_id"], approval.id.as_str());
    assert_eq!(count.get(), 1);
    let spent = hub.kernel.approval(&approval.id).await.unwrap();
    assert_eq!(spent.state, ApprovalState::Spent);
    let events = ["run.asked", "approval.decided", "run.started", "run.ended"];
    assert_eq!(hub.events().await, events);
    let again = refused(hub.approve(&cleo(), &approval).await);
    assert_eq!(again, "conflict: the approval is not open any more: spent");
}

#[tokio::test]
async fn nobody_approves_what_they_asked() {
    let (hub, count) = hub().await;
    let asker = bearer(&hub, &cleo(), "ann", &Permission::ALL).await;
    let second = bearer(&hub, &cleo(), "ann", &Permission::ALL).await;
    let approval = hub.ask(&asker, "a_write", json!({})).await;
    let straw = bearer(&hub, &asker, "straw", &Permission::ALL).await;
    let straws_straw = bearer(&hub, &straw, "man", &Permission::ALL).await;
    let agent = Principal {
        permissions: Permission::ALL.to_vec(),
        ..Principal::agent("bot")
    };
    let cannot = with_only("dan", &[Permission::ToolExecute, Permission::AuditRead]);
    for (who, why) in [
        (&asker, "whoever asked cannot be the one who decides"),
        (&second, "whoever asked cannot be the one who decides"),
        (&ann(), "whoever asked cannot be the one who decides"),
        (&straw, "has its token from `ann`, who asked"),
        (&straws_straw, "has its token from `ann`, who asked"),
        (&agent, "agents never decide"),
        (&cannot, "`dan` has no permission `approval:decide`"),
        (&scoped("dan", &["b_*"]), "outside the scopes"),
    ] {
        for verdict in [Verdict::Approve, Verdict::Deny] {
            let decided = hub.kernel.decide(who, &approval.id, verdict, None).await;
            let said = refused(decided);
            assert!(said.starts_with("permission: "), "{said}");
            assert!(said.contains(why), "{said}");
        }
        assert!(hub.kernel.can_decide(who, &approval).is_err());
    }
    assert_eq!(count.get(), 0);
    let still = hub.kernel.approval(&approval.id).await.unwrap();
    assert_eq!(
        (still.state, still.decisions.len()),
        (ApprovalState::Pending, 0)
    );
}

#[tokio::test]
async fn only_listed_approvers_decide_and_an_empty_list_is_nobody() {
    for (list, may) in [
        (vec![], false),
        (vec!["cleo"], false),
        (vec!["bo"], false),
        (vec!["cleo", "b*"], true),
    ] {
        let approvers = Some(list.iter().map(|p| Pattern::new(*p)).collect());
        let hub = Hub::with(|b| {
            b.approvals(ApprovalRules {
                approvers,
                ..ApprovalRules::default()
            })
        })
        .await;
        hub.add(echo("a_write", json!({"risk": "write"})));
        let approval = hub.ask(&ann(), "a_write", json!({})).await;
        // Bob has every right there is.
        assert_eq!(
            hub.approve(&bob(), &approval).await.is_ok(),
            may,
            "{list:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn after_its_time_nobody_can_decide() {
    let (hub, count) = hub().await;
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    hub.clock.turn(3600);
    let said = refused(hub.approve(&bob(), &approval).await);
    assert_eq!(said, "conflict: the approval is not open any more: expired");
    // The clock going back brings nothing back.
    hub.clock.turn(-7200);
    let said = refused(hub.approve(&bob(), &approval).await);
    assert_eq!(said, "conflict: the approval is not open any more: expired");
    assert_eq!(hub.end_of(&approval).await.state, RunState::Expired);
    assert_eq!(count.get(), 0);
    assert_eq!(hub.events().await, ["run.asked", "run.expired"]);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_goes_back_does_not_lengthen_a_question() {
    let (hub, _) = hub().await;
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    hub.clock.turn(3600);
    hub.kernel.now();
    hub.clock.turn(-3000);
    assert!(hub.approve(&bob(), &approval).await.is_err());
    // Nor after a restart: the record knows what time it was.
    let again = hub.restarted(|b| b).await;
    assert!(again.now() >= hub.kernel.now());
}

#[tokio::test(start_paused = true)]
async fn the_sweep_ends_what_nobody_decided() {
    let (hub, _) = hub().await;
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    hub.clock.turn(3599);
    hub.kernel.expire().await.unwrap();
    assert_eq!(
        hub.kernel.run(&approval.run).await.unwrap().state,
        RunState::PendingApproval
    );
    hub.clock.turn(1);
    hub.kernel.expire().await.unwrap();
    let run = hub.kernel.run(&approval.run).await.unwrap();
    assert_eq!(run.state, RunState::Expired);
    let answer = run.answer.unwrap();
    assert_eq!(answer["error"]["type"], "denied");
    assert!(hub.kernel.inner.waiting.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_granted_approval_that_is_not_used_in_time_is_worth_nothing() {
    let slow = Slow::default();
    let gate = slow.0.clone();
    let hub = Hub::with(|b| b.filter(std::sync::Arc::new(slow))).await;
    let (tool, count) = counting("a_write", json!({"risk": "write"}));
    hub.add(tool);
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    hub.approve(&bob(), &approval).await.unwrap();
    gate.arrival().await;
    hub.clock.turn(600);
    gate.open();
    assert_eq!(hub.end_of(&approval).await.state, RunState::Expired);
    let over = hub.kernel.approval(&approval.id).await.unwrap();
    assert_eq!((over.state, count.get()), (ApprovalState::Expired, 0));
}

/// A filter that holds every call.
#[derive(Default)]
struct Slow(Gate);

#[async_trait::async_trait]
impl crate::Filter for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    async fn around(
        &self,
        call: crate::Passing,
        next: crate::Next<'_>,
    ) -> Result<crate::Reply, ToolError> {
        self.0.pass().await;
        next.run(call).await
    }
}

#[tokio::test]
async fn a_tool_that_was_edited_after_the_question_does_not_run() {
    for edit in [
        "command",
        "program",
        "disabled",
        "removed",
        "denied",
        "more approvals",
    ] {
        let hub = Hub::new().await;
        hub.register(host("a_write", Risk::Write, "echo"))
            .await
            .unwrap();
        let approval = hub.ask(&ann(), "a_write", json!({"say": "x"})).await;
        match edit {
            "command" => hub
                .register(host("a_write", Risk::Write, "ok"))
                .await
                .unwrap(),
            "program" => {
                hub.executor
                    .replaced
                    .lock()
                    .unwrap()
                    .insert("echo".to_owned());
                hub.register(host("a_write", Risk::Write, "echo"))
                    .await
                    .unwrap();
            }
            "disabled" => drop(
                hub.kernel
                    .set_enabled(&ann(), "a_write", false)
                    .await
                    .unwrap(),
            ),
            "removed" => hub.kernel.remove(&ann(), "a_write").await.unwrap(),
            "denied" => hub.kernel.set_policy(rules(json!([{"effect": "deny"}]))),
            _ => hub
                .kernel
                .set_policy(rules(json!([{"effect": "ask", "approvals": 2}]))),
        }
        hub.approve(&bob(), &approval).await.unwrap();
        let run = hub.end_of(&approval).await;
        let denied = ["denied", "more approvals"].contains(&edit);
        let state = if denied {
            RunState::Denied
        } else {
            RunState::Failed
        };
        assert_eq!(run.state, state, "{edit}");
        assert_eq!(
            hub.executor.runs(),
            Vec::<serde_json::Value>::new(),
            "{edit}"
        );
        let over = hub.kernel.approval(&approval.id).await.unwrap();
        assert_eq!(over.state, ApprovalState::Withdrawn, "{edit}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_was_edited_after_the_approval_does_not_run() {
    let slow = Slow::default();
    let gate = slow.0.clone();
    let hub = Hub::with(|b| b.filter(std::sync::Arc::new(slow))).await;
    hub.register(host("a_write", Risk::Write, "echo"))
        .await
        .unwrap();
    let approval = hub.ask(&ann(), "a_write", json!({"say": "x"})).await;
    hub.approve(&bob(), &approval).await.unwrap();
    gate.arrival().await;
    hub.register(host("a_write", Risk::Write, "other"))
        .await
        .unwrap();
    gate.open();
    // What runs is the version that was approved, or nothing.
    let run = hub.end_of(&approval).await;
    assert_eq!(run.answer.unwrap()["data"]["say"], "x");
    assert_eq!(run.version, "1.0.0");
}

#[tokio::test]
async fn a_link_that_was_turned_after_the_question_leads_nowhere() {
    let hub = Hub::new().await;
    let root = hub.root.path();
    for folder in ["one", "two"] {
        std::fs::create_dir(root.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink("one", root.join("link")).unwrap();
    let schema = json!({"type": "object", "properties": {"path": {"format": "path"}}});
    let more = json!({"risk": "write", "input_schema": schema, "allowed_paths": ["."]});
    let (tool, count) = counting("a_write", more);
    hub.add(tool);
    let approval = hub.ask(&ann(), "a_write", json!({"path": "link/x"})).await;
    std::fs::remove_file(root.join("link")).unwrap();
    std::os::unix::fs::symlink("two", root.join("link")).unwrap();
    hub.approve(&bob(), &approval).await.unwrap();
    assert_eq!(hub.end_of(&approval).await.state, RunState::Failed);
    assert_eq!(count.get(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_spend_an_approval_once() {
    for _ in 0..20 {
        let hub = Hub::new().await;
        let other = hub.restarted(|b| b).await;
        let count = Count::default();
        for kernel in [&hub.kernel, &other] {
            let count = count.clone();
            let tool = Tool::of_args(def("a_write", json!({"risk": "write"})), move |args| {
                count.add();
                async move { Ok(args) }
            });
            kernel.add_tool(tool).unwrap();
        }
        let policy = json!([{"effect": "ask", "approvals": 2}]);
        hub.kernel.set_policy(rules(policy.clone()));
        other.set_policy(rules(policy));
        let (bobs, cleos) = (bob(), cleo());
        let approval = hub.ask(&ann(), "a_write", json!({})).await;
        let yes = Verdict::Approve;
        let (one, two) = tokio::join!(
            hub.kernel.decide(&bobs, &approval.id, yes, None),
            other.decide(&cleos, &approval.id, yes, None),
        );
        assert!(one.is_ok() && two.is_ok());
        // And both find it approved, as after a start.
        let (one, two) = tokio::join!(hub.kernel.resume_approved(), other.resume_approved());
        assert!(one.is_ok() && two.is_ok());
        let run = hub.end_of(&approval).await;
        hub.kernel.close(Duration::from_secs(5)).await;
        other.close(Duration::from_secs(5)).await;
        let started = hub
            .events()
            .await
            .iter()
            .filter(|e| *e == "run.started")
            .count();
        assert_eq!(started as i64, count.get(), "{:?}", run.answer);
        assert!(count.get() <= 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_yes_and_no_at_once_one_wins() {
    for round in 0..50 {
        let (hub, count) = hub().await;
        let approval = hub.ask(&ann(), "a_write", json!({})).await;
        let (yes, no) = (Verdict::Approve, Verdict::Deny);
        let (kernel, id) = (&hub.kernel, &approval.id);
        let (bob, cleo) = (bob(), cleo());
        let decide = |who, verdict| kernel.decide(who, id, verdict, None);
        let (one, two) = match round % 2 {
            0 => tokio::join!(decide(&bob, yes), decide(&cleo, no)),
            _ => {
                let (no, yes) = tokio::join!(decide(&cleo, no), decide(&bob, yes));
                (yes, no)
            }
        };
        assert_ne!(one.is_ok(), two.is_ok());
        let run = hub.end_of(&approval).await;
        let approved = one.is_ok();
        assert_eq!(run.state == RunState::Succeeded, approved);
        assert_eq!(run.state == RunState::Denied, !approved);
        assert_eq!(count.get(), i64::from(approved));
        let lost = one.err().or(two.err()).unwrap();
        assert_eq!(lost.kind, ErrorKind::Conflict);
    }
}

#[tokio::test]
async fn two_are_two_people() {
    let policy = json!([{"effect": "ask", "approvals": 2}]);
    let hub = Hub::with(|b| b.policy(rules(policy))).await;
    let (tool, count) = counting("a_write", json!({"risk": "write"}));
    hub.add(tool);
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    let first = hub.approve(&bob(), &approval).await.unwrap();
    assert_eq!(first.state, ApprovalState::Pending);
    let root = Principal::person("root");
    let second = bearer(&hub, &root, "bob", &Permission::ALL).await;
    for who in [bob(), second] {
        let said = refused(hub.approve(&who, &approval).await);
        assert_eq!(said, "conflict: `bob` has decided this before");
    }
    assert_eq!(count.get(), 0);
    hub.approve(&cleo(), &approval).await.unwrap();
    assert_eq!(hub.end_of(&approval).await.state, RunState::Succeeded);
    assert_eq!(count.get(), 1);
}

#[tokio::test]
async fn an_approver_who_lost_the_right_decides_nothing() {
    let (hub, count) = hub().await;
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    let dan = bearer(&hub, &cleo(), "dan", &Permission::ALL).await;
    assert!(hub.kernel.can_decide(&dan, &approval).is_ok());
    let id = dan.token.clone().unwrap();
    hub.kernel.revoke_token(&cleo(), &id).await.unwrap();
    // On a stream that was opened before.
    let said = refused(hub.approve(&dan, &approval).await);
    assert!(
        said.starts_with("permission: the token was revoked"),
        "{said}"
    );
    assert_eq!(count.get(), 0);
}

#[tokio::test]
async fn what_a_revoked_token_asked_does_not_run() {
    let (hub, count) = hub().await;
    let asker = bearer(&hub, &cleo(), "dan", &Permission::ALL).await;
    let approval = hub.ask(&asker, "a_write", json!({})).await;
    let id = asker.token.clone().unwrap();
    hub.kernel.revoke_token(&cleo(), &id).await.unwrap();
    hub.approve(&bob(), &approval).await.unwrap();
    let run = hub.end_of(&approval).await;
    assert_eq!((run.state, count.get()), (RunState::Failed, 0));
    let message = run.answer.unwrap()["error"]["message"].clone();
    assert_eq!(message, "the token that asked no longer counts");
}

async fn waited(hub: &Hub, then: impl AsyncFnOnce(&Hub, &crate::ApprovalId), tool: &str) -> Answer {
    let mut changes = hub.kernel.changes();
    let call = hub.kernel.call(waiting(&ann(), tool, json!({"x": 1})));
    let decide = async {
        let id = loop {
            if let crate::Change::Approval(id) = changes.recv().await.unwrap() {
                break id;
            }
        };
        then(hub, &id).await;
    };
    let (answer, ()) = tokio::join!(call, decide);
    answer
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_gets_the_result_itself() {
    let hub = Hub::new().await;
    let more = json!({"risk": "write", "sensitive": true, "return_direct": true});
    hub.add(Tool::of_args(def("a_write", more), |_| async {
        Ok(crate::Reply::new("a result").write("slot", 1))
    }));
    let answer = waited(
        &hub,
        async |hub, id| {
            let yes = Verdict::Approve;
            hub.kernel.decide(&bob(), id, yes, None).await.unwrap();
        },
        "a_write",
    )
    .await;
    // Nothing of this is kept.
    assert_eq!(answer.result, Ok(json!("a result")));
    assert_eq!(answer.writes, [("slot".to_owned(), json!(1))]);
    assert!(answer.meta.return_direct && answer.meta.approval.is_some());
    assert_eq!(answer.meta.state, Some(RunState::Succeeded));
    assert!(!hub.keeps("a result").await);
    assert!(hub.kernel.inner.askers.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_is_told_who_denied_and_why() {
    let (hub, count) = hub().await;
    let answer = waited(
        &hub,
        async |hub, id| {
            let why = Some("not today".to_owned());
            let decided = hub.kernel.decide(&bob(), id, Verdict::Deny, why).await;
            assert_eq!(decided.unwrap().state, ApprovalState::Denied);
        },
        "a_write",
    )
    .await;
    assert_eq!(
        told(&answer),
        "denied: `a_write` was denied by bob: not today"
    );
    assert_eq!(answer.meta.state, Some(RunState::Denied));
    assert_eq!(count.get(), 0);
    assert_eq!(
        hub.events().await,
        ["run.asked", "approval.decided", "run.denied"]
    );
}

#[tokio::test(start_paused = true)]
async fn expiry_ends_the_wait() {
    let (hub, count) = hub().await;
    let answer = hub.kernel.call(waiting(&ann(), "a_write", json!({}))).await;
    assert_eq!(
        told(&answer),
        "denied: the approval of `a_write` expired: nobody decided it in time"
    );
    assert_eq!(answer.meta.state, Some(RunState::Expired));
    assert_eq!(count.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_may_go_on_past_the_end_of_its_question() {
    let hub = Hub::new().await;
    let (tool, gate) = gated("a_write", json!({"risk": "write", "timeout": "3h"}));
    hub.add(tool);
    let answer = waited(
        &hub,
        async |hub, id| {
            let yes = Verdict::Approve;
            hub.kernel.decide(&bob(), id, yes, None).await.unwrap();
            gate.arrival().await;
            tokio::time::sleep(Duration::from_secs(7200)).await;
            gate.open();
        },
        "a_write",
    )
    .await;
    assert!(answer.is_ok(), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn what_another_node_decides_ends_the_wait_too() {
    let (hub, _) = hub().await;
    // The other node knows whoever asked by their token only.
    bearer(&hub, &cleo(), "ann", &Permission::ALL).await;
    let other = hub.restarted(|b| b).await;
    other
        .add_tool(echo("a_write", json!({"risk": "write"})))
        .unwrap();
    let answer = waited(
        &hub,
        async |_, id| {
            other
                .decide(&bob(), id, Verdict::Approve, None)
                .await
                .unwrap();
        },
        "a_write",
    )
    .await;
    assert_eq!(answer.result, Ok(json!({"x": 1})));
}

#[tokio::test]
async fn risk_is_not_lowered_to_get_around_it() {
    let hub = Hub::new().await;
    hub.register(host("a_write", Risk::Write, "echo"))
        .await
        .unwrap();
    let bot = Principal {
        permissions: vec![Permission::ToolRegister, Permission::ToolExecute],
        ..Principal::agent("bot")
    };
    let clerk = with_only("dan", &[Permission::ToolRegister]);
    let lower = || registration(host("a_write", Risk::Read, "echo"));
    for who in [&bot, &clerk] {
        let error = hub.kernel.register(who, lower()).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Permission);
    }
    // Nor by removing it and registering it anew.
    hub.kernel.remove(&bot, "a_write").await.unwrap();
    let error = hub.kernel.register(&bot, lower()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Permission);
    // A person who could approve the call may.
    hub.register(host("a_write", Risk::Read, "echo"))
        .await
        .unwrap();
    // And what was raised again by a roll-back is not lowered by anything in between.
    let first = semver::Version::new(1, 0, 0);
    hub.kernel
        .roll_back(&ann(), "a_write", &first, None)
        .await
        .unwrap();
    let error = hub.kernel.register(&bot, lower()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Permission);
    let second = semver::Version::new(1, 0, 1);
    let error = hub.kernel.roll_back(&bot, "a_write", &second, None).await;
    assert_eq!(error.unwrap_err().kind, ErrorKind::Permission);
    assert_eq!(
        hub.kernel.resolve("a_write").unwrap().def.risk,
        Some(Risk::Write)
    );
}

#[tokio::test]
async fn the_answer_that_waits_says_what_to_do() {
    let (hub, _) = hub().await;
    for wait in [Wait::Run, Wait::Nothing] {
        let call = Call::new(ann(), "a_write", json!({})).wait(wait);
        let answer = hub.kernel.call(call).await;
        let (run, id) = (
            answer.meta.run_id.clone().unwrap(),
            answer.meta.approval.clone(),
        );
        let id = id.unwrap();
        assert_eq!(
            answer.result,
            Err(
                ToolError::permission(format!("`a_write` waits for approval `{id}`")).with_hint(
                    format!(
                        "it has not run; once somebody approves, its result is in run `{run}`. To \
                     decide: `helve approve {id}`"
                    )
                )
            )
        );
        // The same as whoever looks at the run later is told.
        let kept = hub.kernel.run(&run).await.unwrap();
        let shown = crate::run_answer(&kept);
        assert_eq!(shown["error"], answer.to_value()["error"]);
    }
}

#[tokio::test]
async fn a_decision_is_carried_out_though_its_maker_has_gone() {
    let (hub, count) = hub().await;
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    let gate = hub.store.hold("decide");
    let (kernel, id) = (hub.kernel.clone(), approval.id.clone());
    let deciding =
        tokio::spawn(async move { kernel.decide(&bob(), &id, Verdict::Approve, None).await });
    gate.arrival().await;
    deciding.abort();
    gate.open();
    assert_eq!(hub.end_of(&approval).await.state, RunState::Succeeded);
    assert_eq!(count.get(), 1);
}

#[tokio::test]
async fn a_question_is_told_though_its_asker_has_gone() {
    let (hub, _) = hub().await;
    let mut changes = hub.kernel.changes();
    let gate = hub.store.hold("open_run");
    let kernel = hub.kernel.clone();
    let asking =
        tokio::spawn(async move { kernel.call(waiting(&ann(), "a_write", json!({}))).await });
    gate.arrival().await;
    asking.abort();
    gate.open();
    loop {
        if let crate::Change::Approval(id) = changes.recv().await.unwrap() {
            let approval = hub.kernel.approval(&id).await.unwrap();
            assert_eq!(approval.state, ApprovalState::Pending);
            break;
        }
    }
}

async fn two_needed() -> (Hub, Count) {
    let hub = Hub::with(|b| b.policy(rules(json!([{"effect": "ask", "approvals": 2}])))).await;
    let (tool, count) = counting("a_write", json!({"risk": "write"}));
    hub.add(tool);
    (hub, count)
}

#[tokio::test]
async fn whoever_has_a_token_from_another_approver_is_not_a_second_one() {
    for maker_first in [true, false] {
        let (hub, count) = two_needed().await;
        let root = Principal::person("root");
        let maker = bearer(&hub, &root, "bob", &Permission::ALL).await;
        let straw = bearer(&hub, &maker, "straw", &Permission::ALL).await;
        let other = bearer(&hub, &root, "cleo", &Permission::ALL).await;
        let approval = hub.ask(&ann(), "a_write", json!({})).await;
        let (one, two) = match maker_first {
            true => (&maker, &straw),
            false => (&straw, &maker),
        };
        hub.approve(one, &approval).await.unwrap();
        let said = refused(hub.approve(two, &approval).await);
        assert!(said.starts_with("permission: "), "{said}");
        assert!(said.contains("count as one"), "{said}");
        assert_eq!(count.get(), 0);
        hub.approve(&other, &approval).await.unwrap();
        assert_eq!(hub.end_of(&approval).await.state, RunState::Succeeded);
        // To say no needs no second person.
        let approval = hub.ask(&ann(), "a_write", json!({})).await;
        hub.approve(one, &approval).await.unwrap();
        let no = Verdict::Deny;
        hub.kernel
            .decide(two, &approval.id, no, None)
            .await
            .unwrap();
        assert_eq!(hub.end_of(&approval).await.state, RunState::Denied);
    }
}

#[tokio::test]
async fn a_yes_of_somebody_who_may_not_decide_any_more_does_not_count() {
    let (hub, count) = two_needed().await;
    let root = Principal::person("root");
    let first = bearer(&hub, &root, "bob", &Permission::ALL).await;
    let second = bearer(&hub, &root, "cleo", &Permission::ALL).await;
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    hub.approve(&first, &approval).await.unwrap();
    let id = first.token.clone().unwrap();
    hub.kernel.revoke_token(&root, &id).await.unwrap();
    hub.approve(&second, &approval).await.unwrap();
    let run = hub.end_of(&approval).await;
    assert_eq!((run.state, count.get()), (RunState::Denied, 0));
    let message = run.answer.unwrap()["error"]["message"].clone();
    assert_eq!(message, "`bob`, who approved it, may not decide any more");
    let over = hub.kernel.approval(&approval.id).await.unwrap();
    assert_eq!(over.state, ApprovalState::Withdrawn);
    // With another token of theirs it does.
    bearer(&hub, &root, "bob", &Permission::ALL).await;
    let again = bearer(&hub, &root, "bob", &Permission::ALL).await;
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    hub.approve(&again, &approval).await.unwrap();
    let id = again.token.clone().unwrap();
    hub.kernel.revoke_token(&root, &id).await.unwrap();
    hub.approve(&second, &approval).await.unwrap();
    assert_eq!(hub.end_of(&approval).await.state, RunState::Succeeded);
}
