use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use helve_kernel::{Call, Caller, Ctx, Principal, Question, ToolError};
use serde_json::{Map, Value, json};

use crate::testing::Rig;

async fn rig() -> Rig {
    Rig::new(super::toolset().unwrap()).await
}

fn agent() -> Principal {
    Principal {
        under: Some("ann".to_owned()),
        ..Principal::agent("claude")
    }
}

/// Waits until a question is open.
async fn asked(rig: &Rig) -> Question {
    loop {
        if let Some(question) = rig.kernel.questions(&rig.me).into_iter().next() {
            return question;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_person_answers_in_the_inbox_and_an_agent_cannot() {
    let rig = rig().await;
    let args = json!({"question": "Where?", "options": ["here", "there"], "context": "a trip"});
    let call = rig.call_as(agent(), "ask_user", args);
    let answering = async {
        let question = asked(&rig).await;
        assert_eq!(question.form, json!({"enum": ["here", "there"]}));
        let answer = |who: Principal, value: &str| {
            let (kernel, id, value) = (rig.kernel.clone(), question.id.clone(), json!(value));
            async move { kernel.answer_question(&who, &id, value).await }
        };
        for (who, value, said) in [
            (agent(), "here", "agents never answer what people are asked"),
            (
                Principal::person("ann"),
                "nowhere",
                "the answer does not fit",
            ),
        ] {
            let refused = answer(who, value).await.unwrap_err();
            assert!(refused.message.contains(said), "{}", refused.message);
        }
        answer(Principal::person("ann"), "there").await.unwrap();
        let late = answer(Principal::person("ann"), "here").await.unwrap_err();
        assert!(
            late.message.contains("is not open any more"),
            "{}",
            late.message
        );
    };
    let (answer, ()) = tokio::join!(call, answering);
    let data = answer.result.unwrap();
    assert_eq!(
        data,
        json!({"answered": true, "answer": "there", "by": "ann", "question_id": "", "note": ""})
    );
}

#[tokio::test]
async fn what_nobody_answered_in_time_can_be_fetched_later() {
    let rig = rig().await;
    let args = json!({"action": "Delete it", "wait_seconds": 0});
    let first = rig
        .call_as(agent(), "confirm_action", args)
        .await
        .result
        .unwrap();
    assert_eq!(
        (&first["confirmed"], &first["answered"]),
        (&json!(false), &json!(false))
    );
    let id = first["question_id"].as_str().unwrap().to_owned();
    let again = json!({"action": "Delete it", "question_id": id});
    let open = rig
        .call_as(agent(), "human_confirm", again.clone())
        .await
        .result
        .unwrap();
    assert_eq!(open["question_id"], json!(id), "it is still open");
    let theirs = rig.call("human_confirm", again.clone()).await;
    assert!(
        theirs.text().starts_with("not_found"),
        "it is the agent's: {}",
        theirs.text()
    );
    let question = asked(&rig).await;
    rig.kernel
        .answer_question(&rig.me, &question.id, json!(true))
        .await
        .unwrap();
    let last = rig
        .call_as(agent(), "human_confirm", again)
        .await
        .result
        .unwrap();
    assert_eq!(
        (&last["confirmed"], &last["by"]),
        (&json!(true), &json!("ann"))
    );
}

#[tokio::test]
async fn a_call_that_is_given_up_takes_its_question_back() {
    let rig = rig().await;
    let call = rig.call_as(agent(), "human_input", json!({"question": "Well?"}));
    let stopped = async {
        let question = asked(&rig).await;
        let run = question.run.unwrap();
        rig.kernel.cancel(&agent(), &run).await.unwrap();
    };
    let (answer, ()) = tokio::join!(call, stopped);
    assert!(!answer.is_ok());
    assert_eq!(rig.kernel.questions(&rig.me), Vec::new());
}

/// A client that answers as it was told to.
#[derive(Debug)]
struct Client {
    capabilities: Value,
    says: Value,
    heard: Mutex<Option<Value>>,
    extras: Map<String, Value>,
}

#[async_trait]
impl Caller for Client {
    fn session(&self) -> &str {
        "one"
    }
    fn protocol(&self) -> &str {
        "2025-11-25"
    }
    fn capabilities(&self) -> &Value {
        &self.capabilities
    }
    fn extras(&self) -> &Map<String, Value> {
        &self.extras
    }
    async fn tell(&self, _: &str, _: Value) {}
    async fn ask(&self, questions: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        *self.heard.lock().unwrap() = Some(questions["question"].clone());
        Ok(Map::from_iter([("question".to_owned(), self.says.clone())]))
    }
}

#[tokio::test]
async fn a_client_that_can_ask_does() {
    let rig = rig().await;
    let cases = [
        (
            json!({"question": "Name?"}),
            json!({"action": "accept", "content": {"answer": "Ann"}}),
            json!({"answered": true, "answer": "Ann", "by": "client"}),
        ),
        (
            json!({"question": "Which?", "options": ["a", "b"]}),
            json!({"action": "accept", "content": {"answer": "c"}}),
            json!({"answered": false, "answer": null, "by": ""}),
        ),
        (
            json!({"question": "Who?", "fields": {"properties": {"age": {"type": "integer"}}}}),
            json!({"action": "accept", "content": {"age": 7}}),
            json!({"answered": true, "answer": {"age": 7}, "by": "client"}),
        ),
        (
            json!({"question": "Name?"}),
            json!({"action": "decline"}),
            json!({"answered": false, "answer": null, "by": ""}),
        ),
    ];
    for (args, says, wanted) in cases {
        let client = Arc::new(Client {
            capabilities: json!({"elicitation": {}}),
            says,
            heard: Mutex::default(),
            extras: Map::new(),
        });
        let ctx = Ctx::builder().caller(client.clone()).build();
        let call = Call::new(agent(), "human_input", args.clone()).ctx(ctx);
        let data = rig.kernel.call(call).await.result.unwrap();
        for (key, value) in wanted.as_object().unwrap() {
            assert_eq!(&data[key], value, "{args} {key}: {data}");
        }
        let heard = client.heard.lock().unwrap().clone().unwrap();
        assert_eq!(heard["method"], "elicitation/create");
        assert_eq!(heard["params"]["message"], args["question"]);
    }
}

#[tokio::test]
async fn bad_calls() {
    let rig = rig().await;
    rig.refuses(
        "human_input",
        &[
            (json!({}), "\"question\" is a required property"),
            (
                json!({"question": "  "}),
                "validation: the question is blank",
            ),
            (
                json!({"question": "a", "options": ["x", "x"]}),
                "an option is blank, or there twice",
            ),
            (
                json!({"question": "a", "options": ["x"], "fields": {"properties": {}}}),
                "both `options` and `fields` are given",
            ),
            (
                json!({"question": "a", "fields": {"type": "array"}}),
                "`fields` must describe an object",
            ),
            (
                json!({"question": "a", "fields": {"x": 1}}),
                "`fields` has no `properties`",
            ),
            (
                json!({"question": "a", "fields": {"properties": {"x": {"type": "object"}}}}),
                "`fields` has `x`, which is not a simple type",
            ),
            (
                json!({"question": "a", "question_id": "7"}),
                "`7` is no question",
            ),
            (
                json!({"question": "a", "question_id": format!("qst_{}", "0".repeat(32))}),
                "not_found: there is no open question",
            ),
            (
                json!({"question": "a", "wait_seconds": 4000}),
                "wait_seconds",
            ),
        ],
    )
    .await;
}
