use serde_json::json;

use super::*;

#[test]
fn an_empty_context_knows_nothing() {
    let ctx = Ctx::default();
    let known = (
        ctx.run_id(),
        ctx.agent_id(),
        ctx.principal(),
        ctx.get("run_id"),
    );
    assert_eq!(known, (None, None, None, None));
}

#[test]
fn each_word_comes_back_where_it_was_put() {
    let ctx = Ctx::builder()
        .run_id("run-1")
        .agent_id("agent-2")
        .principal("ann")
        .set("tenant", "blue")
        .set("tenant", json!({"name": "green"}))
        .build();
    assert_eq!(ctx.run_id(), Some("run-1"));
    assert_eq!(ctx.agent_id(), Some("agent-2"));
    assert_eq!(ctx.principal(), Some("ann"));
    assert_eq!(ctx.get("tenant"), Some(&json!({"name": "green"})));
}

#[test]
fn a_custom_key_cannot_stand_in_for_the_principal() {
    let ctx = Ctx::builder().set("principal", "root").build();
    assert_eq!(ctx.principal(), None);
}

#[test]
fn a_clone_shares() {
    let ctx = Ctx::builder().set("big", "x".repeat(1000)).build();
    let twin = ctx.clone();
    let same = |c: &Ctx| c.get("big").map(std::ptr::from_ref);
    assert_eq!(same(&ctx), same(&twin));
}
