//! How a connection over HTTP begins, and whom a question on the stream beside is for.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse as _;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use super::support::{Client, Hub, tool, until};
use super::web::{event, json_answer, legacy, modern, web};
use crate::upstream::Era;

/// An old server may have an empty answer for whatever it does not know.
#[tokio::test]
async fn an_empty_answer_is_not_the_modern_era() {
    let (_, server) = web("http", json!([tool("echo")]), |web, method, _, body| {
        if body["method"] == "server/discover" {
            return json_answer(body, &json!({}));
        }
        legacy(web, method, body).unwrap_or_else(|| {
            json_answer(body, &json!({"content": [{"type": "text", "text": "x"}]}))
        })
    })
    .await;
    let hub = Hub::with(server).await;
    assert_eq!(hub.gate.status("w").unwrap().era, Some(Era::Legacy));
    assert_eq!(hub.call("w_echo", json!({})).await.result, Ok(json!("x")));
    hub.close().await;
}

/// A refusal names what to try instead, and it is tried: once.
#[tokio::test]
async fn a_refused_revision_that_is_named_is_tried_again() {
    for (refusals, era, asked) in [(1, Era::Modern, 2), (9, Era::Legacy, 2)] {
        let (seen, server) = web("http", json!([tool("echo")]), move |web, method, _, body| {
            let count = web.methods().iter().filter(|m| *m == "POST server/discover").count();
            if body["method"] == "server/discover" {
                if count > refusals {
                    return modern(web, body).unwrap();
                }
                let error = json!({"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}});
                let answer = json!({"jsonrpc": "2.0", "id": body["id"], "error": error});
                let kind = [("content-type", "application/json")];
                return (StatusCode::BAD_REQUEST, kind, answer.to_string()).into_response();
            }
            legacy(web, method, body).unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
        })
        .await;
        let hub = Hub::with(server).await;
        assert_eq!(hub.gate.status("w").unwrap().era, Some(era));
        let methods = seen.methods();
        let count = methods
            .iter()
            .filter(|m| *m == "POST server/discover")
            .count();
        assert_eq!(count, asked, "{methods:?}");
        hub.close().await;
    }
}

/// Many servers ask on the stream beside. Such a question is for the one who has a call
/// under way; where there are two, it is for nobody.
#[tokio::test]
async fn a_question_on_the_stream_beside_is_for_the_only_caller() {
    let (ask, asked) = tokio::sync::mpsc::unbounded_channel::<String>();
    let asked = Arc::new(Mutex::new(Some(asked)));
    let (seen, server) = web("http", json!([tool("ask")]), move |web, method, _, body| {
        if *method == Method::GET {
            let Some(asked) = asked.lock().unwrap().take() else {
                return StatusCode::METHOD_NOT_ALLOWED.into_response();
            };
            let asked = futures_util::stream::unfold(asked, |mut asked| async {
                let id = asked.recv().await?;
                let question = json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": {"message": "who?"}});
                Some((Ok::<_, Infallible>(event(&question)), asked))
            });
            return ([("content-type", "text/event-stream")], Body::from_stream(asked)).into_response();
        }
        if body.get("method").is_none() {
            return StatusCode::ACCEPTED.into_response();
        }
        legacy(web, method, body).unwrap_or_else(|| {
            let (id, until) = (body["id"].clone(), body["params"]["arguments"]["until"].clone());
            let seen = web.seen.clone();
            let rest = futures_util::stream::once(async move {
                loop {
                    let found = seen.lock().unwrap().iter().any(|(_, _, b)| b["id"] == until);
                    if found {
                        let result = json!({"content": [{"type": "text", "text": "done"}]});
                        return event(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
            let body = Body::from_stream(rest.map(Ok::<_, Infallible>));
            ([("content-type", "text/event-stream")], body).into_response()
        })
    })
    .await;
    let hub = Hub::with(server).await;
    let calls = |count: usize| {
        let methods = seen.methods();
        methods.iter().filter(|m| *m == "POST tools/call").count() == count
    };
    let answer = |id: &str| -> Value {
        let seen = seen.seen.lock().unwrap();
        let found = seen.iter().find(|(_, _, b)| b["id"] == id);
        found.map(|(_, _, b)| b.clone()).unwrap_or_default()
    };
    let (ann, bob) = (Client::legacy("ann"), Client::legacy("bob"));

    let alone = async {
        until("the call is there", || calls(1)).await;
        ask.send("q1".to_owned()).unwrap();
    };
    let (done, ()) = tokio::join!(hub.call_as(&ann, "w_ask", json!({"until": "q1"})), alone);
    assert_eq!(done.result, Ok(json!("done")));
    assert_eq!(answer("q1")["result"]["content"]["name"], "ann");

    let together = async {
        until("both calls are there", || calls(3)).await;
        ask.send("q2".to_owned()).unwrap();
    };
    let (first, second, ()) = tokio::join!(
        hub.call_as(&ann, "w_ask", json!({"until": "q2"})),
        hub.call_as(&bob, "w_ask", json!({"until": "q2"})),
        together
    );
    assert_eq!(
        (first.result, second.result),
        (Ok(json!("done")), Ok(json!("done")))
    );
    assert_eq!(answer("q2")["error"]["code"], -32600);
    assert_eq!(ann.asked.lock().unwrap().len(), 1);
    assert!(bob.asked.lock().unwrap().is_empty());
    hub.close().await;
}
