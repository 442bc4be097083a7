//! The servers of `.mcp.json`, and how the front doors reach them.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use helve_kernel::{ErrorKind, Principal, ToolError};
use helve_mcp::Upstreams;
use helve_mcp::upstream::{
    LoginState, McpJson, Pending, Reach, Refreshed, State as Standing, Status, Upstream,
};
use helve_server::Gateway;
use helve_tools::agent::{Server, Servers};
use serde_json::{Value, json};

use crate::config::Config;
use crate::env;
use crate::exit::Failure;
use crate::secrets::Configured;
use crate::state::State;

/// The file with the servers of a workspace.
pub(crate) const FILE: &str = ".mcp.json";

/// Reads the file of a workspace, and knows its servers. What could not be used is told.
pub(super) async fn open(
    root: &Path,
    state: &State,
    config: &Config,
) -> Result<(Upstreams, Vec<String>), Failure> {
    let (servers, told) = read(root, config).await;
    let folder = state.path().join("mcp");
    let opened = Upstreams::open(servers, &folder);
    let hint = "it says which definitions wait; mend it, or move it away and look at all anew";
    let opened = opened.map_err(|e| Failure::output(e).hint(hint))?;
    Ok((opened, told))
}

/// The servers of a workspace, with what the configuration says about them.
async fn read(root: &Path, config: &Config) -> (Vec<Upstream>, Vec<String>) {
    let file = match std::fs::read_to_string(root.join(FILE)) {
        Ok(text) => McpJson::read(&text, &env::named, &env::for_servers()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => McpJson::default(),
        Err(e) => McpJson {
            problems: vec![format!("it cannot be read: {e}")],
            ..McpJson::default()
        },
    };
    let mut told: Vec<String> = file.problems.into_iter().chain(file.warnings).collect();
    let mut servers = file.servers;
    for server in &mut servers {
        if let Reach::Stdio { cwd, .. } = &mut server.reach {
            *cwd = Some(match cwd {
                Some(cwd) => root.join(cwd),
                None => root.to_owned(),
            });
        }
        let Some(table) = config.mcp.servers.get(&server.name) else {
            continue;
        };
        table.apply(&mut server.rules);
        let named = table.oauth.as_ref().and_then(|o| o.client_secret.as_ref());
        if let (Some(name), Some(oauth)) = (named, &mut server.rules.oauth) {
            match secret(root, config, name).await {
                Ok(value) => oauth.client_secret = Some(value),
                Err(why) => told.push(format!("`{}`: the secret `{name}`: {why}", server.name)),
            }
        }
    }
    let unknown =
        config.mcp.servers.keys().filter(|name| {
            !servers.iter().any(|s| s.name == **name) && !file.disabled.contains(name)
        });
    told.extend(unknown.map(|name| format!("it has no `{name}`, of which `mcp.servers` speaks")));
    let told = told.into_iter().map(|t| format!("{FILE}: {t}")).collect();
    (servers, told)
}

/// The value of a secret that the configuration names.
async fn secret(root: &Path, config: &Config, name: &str) -> Result<String, String> {
    let all = config.secrets.read()?;
    let secret = all.get(name).ok_or("`[secrets]` has none of that name")?;
    let source = secret.source.clone();
    Configured::new(root, all).value(&source).await
}

/// The gateway as the front doors see it.
pub(super) struct Gate {
    upstreams: Upstreams,
    root: PathBuf,
}

impl Gate {
    pub(super) fn new(upstreams: Upstreams, root: &Path) -> Self {
        Self {
            upstreams,
            root: root.to_owned(),
        }
    }
}

#[async_trait]
impl Gateway for Gate {
    fn servers(&self) -> Vec<Value> {
        self.upstreams.servers().iter().map(status).collect()
    }

    fn server(&self, name: &str) -> Result<Value, ToolError> {
        let found = self.upstreams.status(name).map_err(missing)?;
        Ok(status(&found))
    }

    async fn test(&self, name: &str) -> Result<Value, ToolError> {
        let looked = self.upstreams.refresh(name).await.map_err(missing)?;
        let took = self.upstreams.round_trip(name).await.map_err(missing)?;
        let found = self.upstreams.status(name).map_err(missing)?;
        Ok(json!({
            "server": status(&found),
            "looked": refreshed(&looked),
            "round_trip_ms": took.as_secs_f64() * 1000.0,
        }))
    }

    fn waiting(&self, server: Option<&str>) -> Result<Vec<Value>, ToolError> {
        if let Some(name) = server {
            self.upstreams.status(name).map_err(missing)?;
        }
        Ok(self.upstreams.pending(server).iter().map(pending).collect())
    }

    async fn accept(
        &self,
        who: &Principal,
        server: &str,
        tool: Option<&str>,
        seen: Option<&str>,
    ) -> Result<Vec<String>, ToolError> {
        self.upstreams
            .accept(who, server, tool, seen)
            .await
            .map_err(missing)
    }

    async fn login(&self, name: &str) -> Result<String, ToolError> {
        self.upstreams.login(name).await.map_err(missing)
    }

    async fn reload(&self) -> Result<Vec<String>, ToolError> {
        let config =
            Config::load(&self.root).map_err(|f| ToolError::validation(f.error.to_string()))?;
        let (servers, mut told) = read(&self.root, &config).await;
        told.extend(self.upstreams.reload(servers).await);
        Ok(told)
    }
}

/// A server that is asked for by name and is not there is not found.
fn missing(error: helve_mcp::UpstreamError) -> ToolError {
    let unknown = matches!(error, helve_mcp::UpstreamError::Unknown { .. });
    let error = ToolError::from(error);
    match unknown {
        true => ToolError {
            kind: ErrorKind::NotFound,
            ..error
        },
        false => error,
    }
}

/// The servers, as agents are told of them.
pub(super) fn told(upstreams: Upstreams) -> Servers {
    Servers::new(move || {
        let all = upstreams.servers();
        all.iter()
            .map(|status| {
                let (state, why) = match &status.state {
                    Standing::Idle => ("idle", String::new()),
                    Standing::Starting => ("starting", String::new()),
                    Standing::Running => ("running", String::new()),
                    Standing::Failed { why, .. } => ("failed", why.clone()),
                };
                Server {
                    name: status.name.clone(),
                    state: state.to_owned(),
                    why,
                    tools: status.tools.len(),
                }
            })
            .collect()
    })
}

fn status(status: &Status) -> Value {
    let (state, why, again, login) = match &status.state {
        Standing::Idle => ("idle", None, None, false),
        Standing::Starting => ("starting", None, None, false),
        Standing::Running => ("running", None, None, false),
        Standing::Failed {
            why,
            again_in,
            wants_login,
        } => (
            "failed",
            Some(why),
            again_in.map(|d| d.as_secs_f64().ceil()),
            *wants_login,
        ),
    };
    json!({
        "name": status.name,
        "type": status.kind,
        "place": status.place,
        "state": state,
        "why": why,
        "again_in": again,
        "wants_login": login,
        "logged_in": status.logged_in,
        "login": status.login.as_ref().map(|login| match login {
            LoginState::Waiting => "waiting",
            LoginState::Done => "done",
            LoginState::Failed(why) => why.as_str(),
        }),
        "era": status.era.map(helve_mcp::upstream::Era::as_str),
        "protocol": status.protocol,
        "capabilities": status.capabilities,
        "server_info": status.server_info,
        "instructions": status.instructions,
        "tools": status.tools,
        "waiting": status.waiting,
        "problems": status.problems,
        "stderr": status.tail,
    })
}

fn refreshed(looked: &Refreshed) -> Value {
    json!({
        "tools": looked.tools,
        "registered": looked.registered,
        "waiting": looked.waiting,
        "gone": looked.gone,
        "problems": looked.problems,
    })
}

fn pending(pending: &Pending) -> Value {
    json!({
        "server": pending.server,
        "tool": pending.tool,
        "before": pending.before,
        "after": pending.after,
        "seen": pending.seen,
        "flags": pending.flags.iter().map(|f| json!({"pointer": f.pointer, "kind": f.kind, "says": f.says})).collect::<Vec<_>>(),
    })
}
