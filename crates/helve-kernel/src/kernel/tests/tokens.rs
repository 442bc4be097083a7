//! Tokens: shown, expired, revoked, and never worth more than their maker's.

use std::time::Duration;

use super::harness::*;
use crate::{
    Call, Change, ErrorKind, NewToken, Permission, Principal, PrincipalKind, TokenId, ToolError,
};
use helve_core::def::Risk;
use serde_json::json;

fn person(owner: &str) -> NewToken {
    NewToken {
        kind: PrincipalKind::Person,
        owner: owner.to_owned(),
        ..NewToken::agent(owner)
    }
}

async fn made(hub: &Hub, by: &Principal, new: NewToken) -> Result<Principal, ToolError> {
    let (_, secret) = hub.kernel.create_token(by, new).await?;
    Ok(Principal::clone(
        &hub.kernel.authenticate(secret.reveal()).unwrap(),
    ))
}

#[tokio::test]
async fn a_secret_is_shown_once_and_never_kept() {
    let hub = Hub::new().await;
    let (token, secret) = hub
        .kernel
        .create_token(&ann(), NewToken::agent("bot"))
        .await
        .unwrap();
    let who = hub.kernel.authenticate(secret.reveal()).unwrap();
    assert_eq!(
        (who.owner.as_str(), who.under.as_deref()),
        ("agent:bot", Some("ann"))
    );
    assert_eq!(who.token, Some(token.id.clone()));
    assert!(!hub.keeps(secret.reveal()).await);
    assert!(!hub.keeps(&token.hash.to_string()).await);
    assert_eq!(format!("{secret:?}"), "Secret(…)");
    for wrong in [
        "",
        "hlv_",
        token.id.as_str(),
        &secret.reveal().to_uppercase(),
        &secret.reveal()[1..],
        &format!("{} ", secret.reveal()),
        &format!("hlv_{}", "0".repeat(64)),
    ] {
        assert!(hub.kernel.authenticate(wrong).is_none(), "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_token_is_nobody() {
    let hub = Hub::new().await;
    hub.add(echo("a_tool", json!({})));
    let new = NewToken {
        lasts: Some(Duration::from_secs(60)),
        ..NewToken::agent("bot")
    };
    let (token, secret) = hub.kernel.create_token(&ann(), new).await.unwrap();
    let who = hub.kernel.authenticate(secret.reveal()).unwrap();
    hub.clock.turn(59);
    assert_eq!(hub.kernel.token_end(&token.id), Some(token.expires));
    assert!(
        hub.kernel
            .call(Call::new(who.clone(), "a_tool", json!({})))
            .await
            .is_ok()
    );
    hub.clock.turn(1);
    assert!(hub.kernel.authenticate(secret.reveal()).is_none());
    assert_eq!(hub.kernel.token_end(&token.id), None);
    // Nor on a stream that was opened before.
    let answer = hub.kernel.call(Call::new(who, "a_tool", json!({}))).await;
    let said = told(&answer);
    assert!(
        said.starts_with("permission: the token was revoked, has expired"),
        "{said}"
    );
    hub.clock.turn(-3600);
    assert!(
        hub.kernel.authenticate(secret.reveal()).is_none(),
        "time does not go back"
    );
}

#[tokio::test]
async fn a_revoked_token_is_nobody() {
    let hub = Hub::new().await;
    hub.add(echo("a_tool", json!({})));
    let (token, secret) = hub
        .kernel
        .create_token(&ann(), person("dan"))
        .await
        .unwrap();
    let dan = hub.kernel.authenticate(secret.reveal()).unwrap();
    let other = made(&hub, &ann(), person("eve")).await.unwrap();
    let error = hub
        .kernel
        .revoke_token(&other, &token.id)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Permission, "not somebody else's");
    let mut changes = hub.kernel.changes();
    hub.kernel.revoke_token(&dan, &token.id).await.unwrap();
    assert_eq!(
        changes.recv().await.unwrap(),
        Change::Token(token.id.clone())
    );
    assert!(hub.kernel.authenticate(secret.reveal()).is_none());
    let answer = hub
        .kernel
        .call(Call::new(dan.clone(), "a_tool", json!({})))
        .await;
    assert!(told(&answer).starts_with("permission: "));
    let error = hub
        .kernel
        .revoke_token(&ann(), &token.id)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict);
    let unknown = TokenId::fresh();
    let error = hub.kernel.revoke_token(&ann(), &unknown).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    let made_up = Principal {
        token: Some(unknown),
        ..ann()
    };
    let answer = hub
        .kernel
        .call(Call::new(made_up, "a_tool", json!({})))
        .await;
    assert!(told(&answer).starts_with("permission: "), "nobody's token");
    // After a restart as well.
    let again = hub.restarted(|b| b).await;
    assert!(again.authenticate(secret.reveal()).is_none());
}

#[tokio::test]
async fn what_another_node_revoked_counts_here_once_it_is_heard_of() {
    let hub = Hub::new().await;
    let (token, secret) = hub
        .kernel
        .create_token(&ann(), person("dan"))
        .await
        .unwrap();
    let other = hub.restarted(|b| b).await;
    other.revoke_token(&ann(), &token.id).await.unwrap();
    let error = hub
        .kernel
        .revoke_token(&ann(), &token.id)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict);
    assert!(hub.kernel.authenticate(secret.reveal()).is_none());
}

#[tokio::test]
async fn a_revocation_is_seen_through_though_its_maker_has_gone() {
    let hub = Hub::new().await;
    let (token, secret) = hub
        .kernel
        .create_token(&ann(), person("dan"))
        .await
        .unwrap();
    let gate = hub.store.hold("revoke_token");
    let mut changes = hub.kernel.changes();
    let (kernel, id) = (hub.kernel.clone(), token.id.clone());
    let revoking = tokio::spawn(async move { kernel.revoke_token(&ann(), &id).await });
    gate.arrival().await;
    revoking.abort();
    gate.open();
    assert_eq!(changes.recv().await.unwrap(), Change::Token(token.id));
    assert!(hub.kernel.authenticate(secret.reveal()).is_none());
}

#[tokio::test(start_paused = true)]
async fn nobody_hands_out_more_than_they_have() {
    let hub = Hub::new().await;
    let clerk = NewToken {
        permissions: vec![Permission::TokenManage, Permission::ToolExecute],
        scopes: vec!["file_*".to_owned(), "web_get".to_owned()],
        max_risk: Risk::ExecLow,
        lasts: Some(Duration::from_secs(3600)),
        ..person("clerk")
    };
    let clerk = made(&hub, &ann(), clerk).await.unwrap();
    let base = || NewToken {
        permissions: vec![Permission::ToolExecute],
        scopes: vec!["file_read".to_owned()],
        max_risk: Risk::Read,
        lasts: Some(Duration::from_secs(60)),
        ..NewToken::agent("x")
    };
    let scope = |scope: &str| NewToken {
        scopes: vec![scope.to_owned()],
        ..base()
    };
    for (new, kind) in [
        (base(), None),
        (scope("file_*"), None),
        (scope("web_get"), None),
        (scope("*"), Some(ErrorKind::Permission)),
        (scope("web_*"), Some(ErrorKind::Permission)),
        (scope("file*"), Some(ErrorKind::Permission)),
        (scope("fil?_read"), Some(ErrorKind::Permission)),
        (
            NewToken {
                permissions: vec![Permission::AuditRead],
                ..base()
            },
            Some(ErrorKind::Permission),
        ),
        (
            NewToken {
                max_risk: Risk::Write,
                ..base()
            },
            Some(ErrorKind::Permission),
        ),
        (
            NewToken {
                lasts: None,
                ..base()
            },
            Some(ErrorKind::Permission),
        ),
        (
            NewToken {
                lasts: Some(Duration::from_secs(3601)),
                ..base()
            },
            Some(ErrorKind::Permission),
        ),
        (
            NewToken {
                name: " ".to_owned(),
                ..base()
            },
            Some(ErrorKind::Validation),
        ),
        (
            NewToken {
                owner: "a\nb".to_owned(),
                ..base()
            },
            Some(ErrorKind::Validation),
        ),
    ] {
        let said = format!("{new:?}");
        let got = made(&hub, &clerk, new).await.err().map(|e| e.kind);
        assert_eq!(got, kind, "{said}");
    }
    let none = with_only("dan", &[Permission::ToolExecute]);
    let error = made(&hub, &none, base()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Permission);
}

#[tokio::test]
async fn no_agent_gets_or_gives_the_right_to_decide() {
    let hub = Hub::new().await;
    let deciding = NewToken {
        permissions: vec![Permission::ApprovalDecide],
        ..NewToken::agent("bot")
    };
    let error = made(&hub, &ann(), deciding.clone()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Validation);
    // Not even one that says it had it.
    let bot = Principal {
        permissions: Permission::ALL.to_vec(),
        ..Principal::agent("bot")
    };
    let puppet = NewToken {
        kind: PrincipalKind::Person,
        owner: "puppet".to_owned(),
        ..deciding
    };
    let error = made(&hub, &bot, puppet).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Permission);
}

#[tokio::test]
async fn a_revoked_maker_makes_nothing() {
    let hub = Hub::new().await;
    let manager = NewToken {
        permissions: vec![Permission::TokenManage],
        ..person("dan")
    };
    let dan = made(&hub, &ann(), manager).await.unwrap();
    let id = dan.token.clone().unwrap();
    hub.kernel.revoke_token(&ann(), &id).await.unwrap();
    let new = NewToken {
        permissions: vec![],
        ..person("eve")
    };
    assert_eq!(
        made(&hub, &dan, new).await.unwrap_err().kind,
        ErrorKind::Permission
    );
}

#[tokio::test]
async fn everybody_sees_their_own_tokens_and_managers_all() {
    let hub = Hub::new().await;
    made(&hub, &ann(), person("dan")).await.unwrap();
    made(&hub, &ann(), person("eve")).await.unwrap();
    let dan = with_only("dan", &[]);
    assert_eq!(hub.kernel.tokens(&dan).await.unwrap().len(), 1);
    assert_eq!(hub.kernel.tokens(&ann()).await.unwrap().len(), 2);
    assert_eq!(hub.events().await, ["token.created"; 2]);
}

#[tokio::test]
async fn an_owner_is_plain_and_of_one_kind() {
    let hub = Hub::new().await;
    made(&hub, &ann(), person("dan")).await.unwrap();
    let agent = |owner: &str| NewToken {
        owner: owner.to_owned(),
        ..NewToken::agent("any name, as it comes: ü")
    };
    for owner in ["agent:x", "ci", "a.b-c_d:e@f"] {
        made(&hub, &ann(), agent(owner)).await.unwrap();
    }
    made(&hub, &ann(), person("eve@example.org")).await.unwrap();
    let long = "x".repeat(129);
    let wrong = [
        "",
        " ",
        "a b",
        "dаn",
        "a\u{200b}b",
        "a/b",
        "a*",
        "hub",
        &long,
    ];
    let wrong = wrong.into_iter().flat_map(|o| [agent(o), person(o)]);
    let wrong = wrong.chain([person("agent:x")]);
    let wrong = wrong.map(|new| (new, ErrorKind::Validation));
    let taken = [agent("dan"), agent("ann"), person("ci")];
    let taken = taken.into_iter().map(|new| (new, ErrorKind::Conflict));
    for (mut new, kind) in wrong.chain(taken) {
        new.name = "n".to_owned();
        let said = format!("{new:?}");
        let error = made(&hub, &ann(), new).await.expect_err(&said);
        assert_eq!(error.kind, kind, "{said}");
    }
}
