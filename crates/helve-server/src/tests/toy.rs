//! An executor that does what a test tells it to.

use std::sync::Mutex;

use async_trait::async_trait;
use helve_kernel::{Artifact, ErrorKind, Executor, Permit, Reply, Stream, ToolDef, ToolError};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What a run that waits is told.
pub(super) enum Step {
    Write(Stream, Vec<u8>),
    Done,
}

pub(super) struct Toy {
    pub(super) runs: Mutex<Vec<(String, Map<String, Value>)>>,
    tell: UnboundedSender<Step>,
    told: tokio::sync::Mutex<UnboundedReceiver<Step>>,
}

impl Default for Toy {
    fn default() -> Self {
        let (tell, told) = unbounded_channel();
        Self {
            runs: Mutex::default(),
            tell,
            told: told.into(),
        }
    }
}

impl Toy {
    pub(super) fn out(&self, bytes: impl Into<Vec<u8>>) {
        self.tell
            .send(Step::Write(Stream::Stdout, bytes.into()))
            .unwrap();
    }

    pub(super) fn err(&self, bytes: impl Into<Vec<u8>>) {
        self.tell
            .send(Step::Write(Stream::Stderr, bytes.into()))
            .unwrap();
    }

    pub(super) fn done(&self) {
        self.tell.send(Step::Done).unwrap();
    }

    pub(super) fn count(&self) -> usize {
        self.runs.lock().unwrap().len()
    }
}

#[async_trait]
impl Executor for Toy {
    async fn inspect(&self, _: &ToolDef) -> Result<Option<Value>, ToolError> {
        Ok(None)
    }

    async fn run(&self, permit: &Permit) -> Result<Reply, ToolError> {
        let name = permit.def().name.to_string();
        let args = permit.args().clone();
        self.runs.lock().unwrap().push((name.clone(), args.clone()));
        match name.as_str() {
            "toy_wait" => loop {
                let step = tokio::select! {
                    step = async { self.told.lock().await.recv().await } => step,
                    () = permit.stop().cancelled() => return Err(ToolError::denied("stopped")),
                };
                match step {
                    Some(Step::Write(stream, bytes)) => permit.log(stream, bytes).await,
                    Some(Step::Done) | None => return Ok(Reply::new("waited")),
                }
            },
            "toy_fail" => {
                let word = args["kind"].as_str().unwrap();
                let kind = ErrorKind::ALL.into_iter().find(|k| k.as_str() == word);
                Err(ToolError::new(kind.unwrap(), "the toy broke"))
            }
            "toy_file" => {
                let folder = permit.artifacts().unwrap();
                std::fs::create_dir_all(folder)?;
                std::fs::write(folder.join("toy.bin"), [0, 159, 146, 150])?;
                std::os::unix::fs::symlink("/etc/passwd", folder.join("link"))?;
                let names = ["toy.bin", "link", "gone", "../escape"];
                let artifacts = names.map(|name| Artifact {
                    name: name.to_owned(),
                    bytes: 4,
                });
                Ok(Reply {
                    artifacts: artifacts.to_vec(),
                    ..Reply::new("left a file")
                })
            }
            _ => {
                permit.log(Stream::Stdout, b"hello\n".to_vec()).await;
                Ok(Reply::new(Value::Object(args)))
            }
        }
    }
}

fn tool(name: &str, risk: &str, properties: Value) -> Value {
    json!({
        "name": name,
        "description": format!("Plays {name}. Use it in tests."),
        "risk": risk,
        "executor": {"type": "host", "command": ["/bin/true"]},
        "input_schema": {
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        },
    })
}

pub(super) fn tools() -> Vec<Value> {
    let mut echo = tool(
        "toy_echo",
        "read",
        json!({"text": {"type": "string", "description": "What.", "default": "hi"},
               "n": {"type": "number", "description": "A number."}}),
    );
    echo["aliases"] = json!(["echo-it"]);
    echo["tags"] = json!(["loud"]);
    vec![
        echo,
        tool("toy_wait", "read", json!({})),
        tool("toy_file", "read", json!({})),
        tool(
            "toy_fail",
            "read",
            json!({"kind": {"type": "string", "description": "How."}}),
        ),
        tool(
            "toy_write",
            "write",
            json!({"text": {"type": "string", "description": "What."},
                   "key": {"type": "string", "description": "A secret.", "x-secret": true}}),
        ),
        tool("other_thing", "read", json!({})),
    ]
}
