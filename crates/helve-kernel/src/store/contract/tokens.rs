//! Tokens.

use helve_core::def::Risk;

use super::*;
use crate::token::{Secret, Token};
use crate::{Permission, PrincipalKind, TokenId};

fn a_token() -> Token {
    Token {
        id: TokenId::fresh(),
        name: "the laptop — 中".to_owned(),
        hash: Secret::fresh().unwrap().hash(),
        kind: PrincipalKind::Person,
        owner: "bob".to_owned(),
        under: None,
        permissions: Vec::new(),
        scopes: Vec::new(),
        max_risk: Risk::Read,
        created: At(1_000),
        created_by: "ann".to_owned(),
        expires: None,
        revoked: None,
    }
}

async fn add(store: &Kept, token: &Token) {
    let record = record("token.created", &token.id);
    adds(store, 1, store.add_token(token.clone(), record)).await;
}

pub async fn tokens_are_kept(store: Kept) {
    let bare = a_token();
    let full = Token {
        kind: PrincipalKind::Agent,
        under: Some("bob".to_owned()),
        permissions: Permission::ALL.to_vec(),
        scopes: vec!["file_*".to_owned(), "a,b \"c\"".to_owned()],
        max_risk: Risk::Write,
        expires: Some(At(9_000)),
        revoked: Some(At(2_000)),
        ..a_token()
    };
    let levels = Risk::ALL.map(|max_risk| Token {
        max_risk,
        ..a_token()
    });
    let mut all = vec![bare.clone(), full];
    all.extend(levels);
    for token in &all {
        add(&store, token).await;
    }
    assert_eq!(store.tokens().await.unwrap(), all);

    let other = Token {
        owner: "eve".to_owned(),
        ..bare.clone()
    };
    let note = record("token.created", &bare.id);
    fails(&store, store.add_token(other, note)).await;
    assert_eq!(store.tokens().await.unwrap(), all);
}

pub async fn a_token_is_revoked_once(store: Kept) {
    let (one, two) = (a_token(), a_token());
    add(&store, &one).await;
    add(&store, &two).await;
    let nobodys = TokenId::fresh();
    for (id, at, wanted) in [
        (&one.id, 5_000, true),
        (&one.id, 6_000, false),
        (&nobodys, 5_000, false),
    ] {
        let revoked = store.revoke_token(id, At(at), record("token.revoked", id));
        assert_eq!(adds(&store, u64::from(wanted), revoked).await, wanted);
    }
    let revoked = Token {
        revoked: Some(At(5_000)),
        ..one
    };
    assert_eq!(store.tokens().await.unwrap(), [revoked, two]);
}
