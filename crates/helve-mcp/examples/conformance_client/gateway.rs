//! A hub with one server behind its gateway, and somebody who calls.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use helve_core::def::{ExecutorKind, Risk};
use helve_kernel::{Call, Caller, Ctx, Kernel, MemoryStore, Principal, ToolError, Wire};
use helve_mcp::upstream::settings::OAuth;
use helve_mcp::upstream::{List, LoginState, Reach, Rules};
use helve_mcp::{Upstream, UpstreamError, Upstreams};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::{Outcome, browser, made_up};

/// What the server is called here.
const SERVER: &str = "suite";

/// As often as a server may ask for another login before it is given up.
const LOGINS: usize = 3;

/// How long a login may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the suite expects of a client that is known by the address of its description.
const DESCRIPTION: &str = "https://conformance-test.local/client-metadata.json";

/// A hub with one server behind it.
pub(crate) struct Gateway {
    gate: Upstreams,
    kernel: Kernel,
    person: Arc<Person>,
    logins: usize,
    _state: TempDir,
}

/// A tool: its name here, its name there, and the schema as the server gave it.
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) there: String,
    pub(crate) schema: Value,
}

impl Gateway {
    /// Knows the server at an address. The context is what the suite tells beside it.
    pub(crate) async fn open(url: &str, version: &str, context: &Value) -> Outcome<Self> {
        let word = |name: &str| context[name].as_str().map(str::to_owned);
        let server = Upstream {
            name: SERVER.to_owned(),
            reach: Reach::Http {
                url: url.to_owned(),
                headers: Vec::new(),
            },
            place: url.to_owned(),
            rules: Rules {
                risk: Risk::Read,
                oauth: Some(OAuth {
                    client_id: word("client_id").or_else(|| Some(DESCRIPTION.to_owned())),
                    client_secret: word("client_secret"),
                    scopes: Vec::new(),
                    // Without a person: the suite says so in the scenario's name.
                    client_credentials: context["name"] == "auth/client-credentials-basic",
                }),
                ..Rules::default()
            },
        };
        let state = TempDir::new()?;
        let gate = Upstreams::open(vec![server], state.path())?;
        let kernel = Kernel::builder()
            .store(Arc::new(MemoryStore::default()))
            .executor(ExecutorKind::Mcp, gate.executor())
            .open()
            .await?;
        gate.attach(&kernel).await;
        Ok(Self {
            gate,
            kernel,
            person: Arc::new(Person::new(version)),
            logins: 0,
            _state: state,
        })
    }

    /// Connects, and looks at the tools; logs in as often as it must.
    pub(crate) async fn connect(&mut self) -> Outcome<()> {
        loop {
            match self.gate.refresh(SERVER).await {
                Ok(_) => return Ok(()),
                Err(UpstreamError::Unavailable {
                    wants_login: true, ..
                }) => self.log_in().await?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Logs in as a person does: opens the address, and comes back.
    async fn log_in(&mut self) -> Outcome<()> {
        if self.logins == LOGINS {
            return Err("the server asks for a login again and again".into());
        }
        self.logins += 1;
        let link = self.gate.login(SERVER).await?;
        browser::agree(&link).await?;
        let settled = tokio::time::timeout(PATIENCE, async {
            loop {
                match self.gate.status(SERVER)?.login {
                    Some(LoginState::Done) => return Ok(()),
                    Some(LoginState::Failed(why)) => return Err(why.into()),
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        });
        settled.await?
    }

    /// The tools that the gateway took over.
    pub(crate) fn tools(&self) -> Vec<Known> {
        let entries = self.kernel.tools();
        let known = entries.iter().filter_map(|entry| {
            let mcp = entry.def.metadata.get("mcp")?;
            Some(Known {
                name: entry.def.name.to_string(),
                there: mcp["tool"].as_str()?.to_owned(),
                schema: mcp["definition"]["inputSchema"].clone(),
            })
        });
        known.collect()
    }

    /// Calls a tool by its name here. What it says itself is fine, whatever it says.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &Value) -> Outcome<()> {
        loop {
            let ctx = Ctx::builder().caller(self.person.clone()).build();
            let call = Call::new(Principal::person("somebody"), tool, arguments.clone()).ctx(ctx);
            let Err(error) = self.kernel.call(call).await.result else {
                return Ok(());
            };
            if let Some(Wire::Result(_)) = error.wire.as_deref() {
                return Ok(());
            }
            // A server may want more than the login that it has had: the hint says so.
            let hint = error.hint.as_deref().unwrap_or_default();
            match hint.contains("helve mcp login") {
                true => self.log_in().await?,
                false => return Err(format!("`{tool}`: {}", error.message).into()),
            }
        }
    }

    /// What it has of a kind beside tools.
    pub(crate) async fn list(&self, what: List) -> Vec<Value> {
        let lists = self.gate.list(what).await;
        lists.into_iter().flat_map(|(_, items)| items).collect()
    }

    /// Asks for something that is no tool.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Outcome<()> {
        let caller: Arc<dyn Caller> = self.person.clone();
        let asked = self
            .gate
            .request(SERVER, method, params, Some(caller))
            .await;
        match asked {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("`{method}`: {}", Value::Object(error)).into()),
        }
    }

    pub(crate) async fn close(&self) {
        self.gate.close().await;
        self.kernel.close(Duration::from_secs(5)).await;
    }
}

/// Whoever calls: agrees to everything, with what is suggested.
#[derive(Debug)]
struct Person {
    protocol: String,
    capabilities: Value,
    extras: Map<String, Value>,
}

impl Person {
    fn new(protocol: &str) -> Self {
        Self {
            protocol: protocol.to_owned(),
            capabilities: json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}}),
            extras: Map::new(),
        }
    }
}

#[async_trait]
impl Caller for Person {
    fn session(&self) -> &str {
        "somebody"
    }

    fn protocol(&self) -> &str {
        &self.protocol
    }

    fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    fn extras(&self) -> &Map<String, Value> {
        &self.extras
    }

    async fn tell(&self, _: &str, _: Value) {}

    async fn ask(&self, questions: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        let answer = |question: &Value| match question["method"].as_str() {
            Some("elicitation/create") => {
                let content = made_up::value(&question["params"]["requestedSchema"]);
                Ok(json!({"action": "accept", "content": content}))
            }
            Some("sampling/createMessage") => Ok(json!({
                "role": "assistant",
                "content": {"type": "text", "text": "text"},
                "model": "made-up",
                "stopReason": "endTurn",
            })),
            Some("roots/list") => Ok(json!({"roots": []})),
            _ => Err(ToolError::dependency("nobody can answer that")),
        };
        let answers = questions
            .iter()
            .map(|(name, q)| Ok((name.clone(), answer(q)?)));
        answers.collect()
    }
}
