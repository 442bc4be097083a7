//! What leaves word for word, by every way out.

use serde_json::{Map, Value, json};

use super::support::{Hub, wired};

/// A result with keys in no order, of which nobody here knows some.
const STRANGE: &str = r#"{"zeta":{"b":1,"a":[{"y":null,"x":1.50}]},"content":[{"type":"hologram","depth":3,"angle":7},{"text":"hi","type":"text","annotations":{"zz":1,"aa":2}}],"isError":false,"structuredContent":{"z":1,"a":2},"_meta":{"vendor/late":1,"helve/mark":"guessed","helve/verbatim":{"not":"ours"},"early":2}}"#;

/// What our own results look like on the wire, as far as it does not differ by run.
const OWN: &str = r#""structuredContent":{"zeta":1,"alpha":{"y":2,"b":[3]},"mid":null}"#;

fn strange() -> Map<String, Value> {
    serde_json::from_str(STRANGE).unwrap()
}

async fn hub() -> Hub {
    let hub = Hub::new().await;
    hub.kernel.add_tool(wired("far_call", strange())).unwrap();
    let own = super::support::echo("own_call", json!({}));
    hub.kernel.add_tool(own).unwrap();
    hub
}

fn far() -> Value {
    json!({"name": "far_call", "arguments": {}})
}

fn own() -> Value {
    json!({"name": "own_call", "arguments": {"zeta": 1, "alpha": {"y": 2, "b": [3]}, "mid": null}})
}

/// The wire says exactly the result, and our own one in its order.
fn check(far: &str, own: &str, modern: bool) {
    let strange = match modern {
        true => format!(
            r#"{},"resultType":"complete"}}"#,
            STRANGE.strip_suffix('}').unwrap()
        ),
        false => STRANGE.to_owned(),
    };
    // A number is the same, however it is written.
    let strange = strange.replace("1.50", "1.5");
    assert!(far.contains(&format!(r#""result":{strange}"#)), "{far}");
    assert!(own.contains(OWN), "{own}");
    let place = |key: &str| own.find(&format!(r#""{key}""#)).unwrap();
    assert!(place("content") < place("structuredContent"), "{own}");
    assert!(place("structuredContent") < place("_meta"), "{own}");
    assert!(!own.contains("helve/verbatim"), "{own}");
}

#[tokio::test(start_paused = true)]
async fn over_streams() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    for modern in [false, true] {
        let mut client = match modern {
            true => hub.modern(&who, json!({})).await,
            false => hub.legacy(&who, json!({})).await,
        };
        client.send("tools/call", far()).await;
        let far = client.line().await;
        client.send("tools/call", own()).await;
        let own = client.line().await;
        check(&far, &own, modern);
    }
}

#[tokio::test]
async fn over_http_in_a_session() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    let door = hub.door(&[("a", &who)]).await;
    let session = door.open("a").await;
    // A field that is not known is for the protocol library, which answers by a stream.
    for (kind, more) in [("application/json", None), ("text/event-stream", Some(1))] {
        let call = |mut call: Value| {
            if let Some(more) = more {
                call["later"] = more.into();
            }
            door.in_session("a", &session, "tools/call", call)
        };
        let (far, own) = (call(far()).await, call(own()).await);
        assert!(far.kind.starts_with(kind), "{}", far.kind);
        check(&far.message(), &own.message(), false);
    }
}

#[tokio::test]
async fn over_http_without_one() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    let door = hub.door(&[("a", &who)]).await;
    let far = door.once("a", "tools/call", far(), json!({})).await;
    assert!(far.kind.starts_with("application/json"), "{}", far.kind);
    let own = door.once("a", "tools/call", own(), json!({})).await;
    check(&far.message(), &own.message(), true);
}
