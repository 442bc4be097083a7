//! A hub with a few toys in memory, for whoever wants to ask it over HTTP:
//! `cargo run -p helve-server --example serve -- 7717`. Prints a token.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use helve_core::def::{ExecutorKind, Risk};
use helve_kernel::{
    ApprovalRules, Executor, Kernel, NewToken, Permission, Permit, Principal, PrincipalKind,
    Registration, Reply, Stream, ToolDef, ToolError,
};
use helve_server::{Hub, Settings};
use serde_json::{Value, json};

/// Gives back what it gets.
struct Echo;

#[async_trait]
impl Executor for Echo {
    async fn inspect(&self, _: &ToolDef) -> Result<Option<Value>, ToolError> {
        Ok(None)
    }

    async fn run(&self, permit: &Permit) -> Result<Reply, ToolError> {
        permit.log(Stream::Stdout, b"echo\n".to_vec()).await;
        Ok(Reply::new(Value::Object(permit.args().clone())))
    }
}

#[tokio::main]
#[expect(clippy::print_stdout)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).unwrap_or_else(|| "7717".to_owned());
    let kernel = Kernel::builder()
        .executor(ExecutorKind::Host, Arc::new(Echo))
        // Nobody is there to decide, so nobody is waited for.
        .approvals(ApprovalRules {
            ask_for: Duration::from_secs(1),
            ..ApprovalRules::default()
        })
        .open()
        .await?;
    let root = Principal::person("root");
    for (name, risk) in [
        ("toy_echo", "read"),
        ("toy_loud", "exec_low"),
        ("toy_write", "write"),
    ] {
        let def = json!({
            "name": name,
            "description": "Says what it is told. Use it to see whether anybody listens.",
            "risk": risk,
            "executor": {"type": "host", "command": ["/bin/true"]},
            "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}},
        });
        let def = ToolDef::from_value(&def).map_err(|issues| format!("{issues:?}"))?;
        let new = Registration {
            def,
            source: "api".to_owned(),
            why: None,
            replace: false,
        };
        kernel.register(&root, new).await?;
    }
    let new = NewToken {
        name: "example".to_owned(),
        kind: PrincipalKind::Person,
        owner: "ann".to_owned(),
        permissions: Permission::ALL.to_vec(),
        scopes: vec!["*".to_owned()],
        max_risk: Risk::Write,
        lasts: None,
    };
    let (_, secret) = kernel.create_token(&root, new).await?;
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    let address = listener.local_addr()?.to_string();
    let settings = Settings {
        hosts: vec![address.clone()],
        rate: 100_000,
        burst: 100_000,
        ..Settings::default()
    };
    println!("{}", secret.reveal());
    println!("http://{address}");
    axum::serve(listener, Hub::new(kernel, settings).router()).await?;
    Ok(())
}
