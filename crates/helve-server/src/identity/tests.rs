//! Tokens of a provider: what counts, and all that does not.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ed25519_dalek::{Signer as _, SigningKey};
use helve_core::def::Risk;
use helve_core::policy::Pattern;
use helve_kernel::{Permission, PrincipalKind};
use serde_json::{Value, json};

use super::{Identity, IdentitySettings};

fn settings() -> IdentitySettings {
    IdentitySettings {
        issuer: "https://login.example".to_owned(),
        audience: "helve".to_owned(),
        owner: "sub".to_owned(),
        kind: PrincipalKind::Agent,
        permissions: Permission::AGENT.to_vec(),
        scopes: vec![Pattern::new("*")],
        max_risk: Risk::ExecLow,
    }
}

fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

fn jwks(id: &str) -> String {
    let x = BASE64.encode(key().verifying_key().as_bytes());
    json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": id, "use": "sig", "x": x}]}).to_string()
}

fn signed(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| BASE64.encode(value.to_string());
    let text = format!("{}.{}", part(header), part(claims));
    let signature = key().sign(text.as_bytes()).to_bytes();
    format!("{text}.{}", BASE64.encode(signature))
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap().as_secs()).unwrap()
}

fn claims() -> Value {
    json!({"iss": "https://login.example", "aud": "helve", "sub": "ann", "exp": now() + 600})
}

fn with(claims: Value, key: &str, value: Value) -> Value {
    let mut claims = claims;
    claims[key] = value;
    claims
}

fn header() -> Value {
    json!({"alg": "EdDSA", "kid": "k1", "typ": "JWT"})
}

fn known() -> Identity {
    let identity = Identity::new(settings());
    assert_eq!(identity.set_keys(&jwks("k1")), Ok(1));
    identity
}

#[test]
fn a_sound_token_is_somebody() {
    let who = known().principal(&signed(&header(), &claims())).unwrap();
    assert_eq!(who.owner, "jwt:ann");
    assert_eq!(who.kind, PrincipalKind::Agent);
    assert_eq!(who.permissions, Permission::AGENT);
    assert_eq!(who.max_risk, Risk::ExecLow);
}

#[test]
fn a_token_can_have_less_and_never_more() {
    let less = with(claims(), "scope", json!("openid tool:read"));
    let who = known().principal(&signed(&header(), &less)).unwrap();
    assert_eq!(who.permissions, [Permission::ToolRead]);
    let more = with(claims(), "scope", json!("token:manage approval:decide"));
    let who = known().principal(&signed(&header(), &more)).unwrap();
    assert_eq!(who.permissions, []);
}

#[test]
fn whatever_is_not_sound_is_nobody() {
    let without = |key: &str| {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove(key);
        claims
    };
    let other = |key: &str, value: Value| with(claims(), key, value);
    let refused = [
        (
            "another issuer",
            header(),
            other("iss", json!("https://evil.example")),
        ),
        ("another audience", header(), other("aud", json!("other"))),
        ("over", header(), other("exp", json!(now() - 600))),
        ("not yet", header(), other("nbf", json!(now() + 600))),
        ("without issuer", header(), without("iss")),
        ("without audience", header(), without("aud")),
        ("without end", header(), without("exp")),
        ("without owner", header(), without("sub")),
        (
            "an owner that hides",
            header(),
            other("sub", json!("a\u{202e}nn")),
        ),
        ("no key named", json!({"alg": "EdDSA"}), claims()),
        (
            "an unknown key",
            json!({"alg": "EdDSA", "kid": "k2"}),
            claims(),
        ),
        (
            "another algorithm",
            json!({"alg": "RS256", "kid": "k1"}),
            claims(),
        ),
        (
            "a shared secret",
            json!({"alg": "HS256", "kid": "k1"}),
            claims(),
        ),
        (
            "no signature wanted",
            json!({"alg": "none", "kid": "k1"}),
            claims(),
        ),
    ];
    for (why, header, claims) in refused {
        assert_eq!(known().principal(&signed(&header, &claims)), None, "{why}");
    }
    let sound = signed(&header(), &claims());
    let (text, _) = sound.rsplit_once('.').unwrap();
    for token in [
        format!("{text}."),
        format!("{text}.{}", BASE64.encode([0; 64])),
        text.to_owned(),
        String::new(),
        "a.b.c".to_owned(),
        format!("{sound}{}", "x".repeat(20_000)),
    ] {
        assert_eq!(known().principal(&token), None, "{token}");
    }
}

#[test]
fn without_keys_nobody_counts() {
    let identity = Identity::new(settings());
    assert_eq!(identity.principal(&signed(&header(), &claims())), None);
    // A secret key is no public one, and one for encryption does not sign.
    for keys in [
        json!({"keys": []}),
        json!({"keys": [{"kty": "oct", "kid": "k1", "k": "AAAA"}]}),
        json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k1", "use": "enc",
            "x": BASE64.encode(key().verifying_key().as_bytes())}]}),
        json!("no"),
    ] {
        assert!(identity.set_keys(&keys.to_string()).is_err(), "{keys}");
    }
    assert_eq!(identity.principal(&signed(&header(), &claims())), None);
}

#[tokio::test]
async fn an_unknown_key_is_asked_for() {
    let identity = known();
    let header = json!({"alg": "EdDSA", "kid": "k2"});
    assert_eq!(identity.principal(&signed(&header, &claims())), None);
    identity.keys_wanted().await;
    assert_eq!(identity.set_keys(&jwks("k2")), Ok(1));
    assert!(identity.principal(&signed(&header, &claims())).is_some());
}
