//! The tools of an MCP server that is asked now.

use std::path::Path;

use helve_core::read::Syntax;
use helve_mcp::Upstreams;
use helve_mcp::upstream::{McpJson, Reach, Rules, Upstream};
use serde_json::{Map, Value, json};

use super::read::Taken;
use crate::exit::Failure;
use crate::{env, workspace};

/// The most pages of a list.
const PAGES: usize = 2_000;

/// The list of a server: by its name in `.mcp.json`, its address, or the command that
/// starts it.
pub(super) async fn list(source: &str) -> Result<Taken, Failure> {
    let server = server(source)?;
    let name = server.name.clone();
    let folder = tempfile::tempdir().map_err(Failure::output)?;
    let asked = Upstreams::open(vec![server], folder.path()).map_err(Failure::output)?;
    let tools = pages(&asked, &name).await;
    asked.close().await;
    let text = json!({"tools": tools?}).to_string();
    Ok(Taken {
        shown: name,
        bytes: text.into_bytes(),
        syntax: Syntax::Json,
        url: None,
    })
}

fn server(source: &str) -> Result<Upstream, Failure> {
    let root = workspace::root();
    let file = std::fs::read_to_string(root.join(".mcp.json")).unwrap_or_default();
    let known = McpJson::read(&file, &env::named, &env::for_servers()).servers;
    if let Some(server) = known.into_iter().find(|s| s.name == source) {
        return Ok(server);
    }
    let (name, reach) = match source.split_once("://") {
        Some((_, rest)) => {
            let host = rest.split(['/', ':', '?']).next().unwrap_or_default();
            let reach = Reach::Http {
                url: source.to_owned(),
                headers: Vec::new(),
            };
            (host.replace('.', "_"), reach)
        }
        None => {
            let mut words = source.split_whitespace().map(str::to_owned);
            let command = words.next().unwrap_or_default();
            let name = Path::new(&command).file_stem();
            let name = name.map(|n| n.to_string_lossy().into_owned());
            let reach = Reach::Stdio {
                command,
                args: words.collect(),
                env: env::for_servers(),
                cwd: Some(root),
            };
            (name.unwrap_or_default(), reach)
        }
    };
    match name.is_empty() {
        true => Err(Failure::usage("there is no server to ask")
            .hint("name one of `.mcp.json`, an address, or a command")),
        false => Ok(Upstream {
            name,
            reach,
            rules: Rules::default(),
        }),
    }
}

async fn pages(asked: &Upstreams, name: &str) -> Result<Vec<Value>, Failure> {
    let mut tools = Vec::new();
    let mut cursor: Option<Value> = None;
    for _ in 0..PAGES {
        let mut params = Map::new();
        params.extend(cursor.take().map(|c| ("cursor".to_owned(), c)));
        let page = asked.request(name, "tools/list", Value::Object(params), None);
        let mut page = page.await.map_err(|error| {
            let why = error.get("message").and_then(Value::as_str);
            let why = crate::out::visible(why.unwrap_or("it gave no reason"));
            Failure::input(format!("`{name}` does not tell its tools: {why}"))
                .hint("`helve mcp test` shows what is wrong with a server of `.mcp.json`")
        })?;
        if let Some(Value::Array(list)) = page.shift_remove("tools") {
            tools.extend(list);
        }
        cursor = page.shift_remove("nextCursor").filter(|c| !c.is_null());
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(Failure::input(format!("the list of `{name}` does not end")))
}
