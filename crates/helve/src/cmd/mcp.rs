//! `helve mcp`: the hub as an MCP server on standard input and output, and the MCP servers
//! behind it.

pub(crate) mod accept;
pub(crate) mod add;
pub(crate) mod diff;
mod file;
pub(crate) mod list;
pub(crate) mod login;
pub(crate) mod remove;
pub(crate) mod test;

use std::time::Duration;

use axum::serve::ListenerExt as _;
use clap::{Args, Subcommand};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use crate::client::Client;
use crate::config::DiscloseWord;
use crate::exit::{Done, Exit, Failure};
use crate::hub::{self, AGENT, Open, Walls};
use crate::state::State;
use crate::{out, workspace};

/// Serve the tools of this workspace to an MCP client, on standard input and output.
///
/// The client acts as the agent of the workspace, under whoever started it: what it asks
/// for can be approved in the client itself where that can ask, or with `helve approve`
/// from another terminal. If a hub runs here already (`helve up`, or another client's
/// `helve mcp`), this one joins it.
///
/// With a command, it is about the servers of `.mcp.json`, whose tools are tools of the hub.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    what: Option<What>,
    /// Show the virtual server of that name (`mcp.views`).
    #[arg(long, value_name = "NAME")]
    view: Option<String>,
    /// How much is shown before anybody asks [default: `mcp.disclose`].
    #[arg(long, value_name = "HOW", value_enum)]
    disclose: Option<DiscloseWord>,
    /// Act with the saved token of that name (`.helve/tokens/<NAME>`) [default: agent].
    #[arg(long = "as", value_name = "NAME")]
    acting: Option<String>,
    /// Run programs only in a sandbox, or not at all [default: `sandbox.require_sandbox`].
    #[arg(long)]
    require_sandbox: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    Add(add::AddArgs),
    List(list::ListArgs),
    Remove(remove::RemoveArgs),
    Test(test::TestArgs),
    Diff(diff::DiffArgs),
    Accept(accept::AcceptArgs),
    Login(login::LoginArgs),
}

/// Has the hub read `.mcp.json` again. What it could not use is told.
async fn reload(client: &Client) -> Result<(), Failure> {
    let answer = client.post("/upstreams", &json!({})).await?;
    for problem in answer["problems"].as_array().into_iter().flatten() {
        out::warn(&out::visible(problem.as_str().unwrap_or_default()));
    }
    Ok(())
}

/// How long to try to join or open the hub, and how often.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(50);

/// How long the last answers may take.
const LAST: Duration = Duration::from_secs(2);

pub(crate) async fn run(args: &McpArgs) -> Done {
    match &args.what {
        None => open_or_join(args).await,
        Some(What::Add(args)) => add::run(args).await,
        Some(What::List(args)) => list::run(args).await,
        Some(What::Remove(args)) => remove::run(args).await,
        Some(What::Test(args)) => test::run(args).await,
        Some(What::Diff(args)) => diff::run(args).await,
        Some(What::Accept(args)) => accept::run(args).await,
        Some(What::Login(args)) => login::run(args).await,
    }
}

async fn open_or_join(args: &McpArgs) -> Done {
    let root = workspace::root();
    let state = State::of(&root);
    let begun = Instant::now();
    loop {
        if Client::runs(&state).await {
            let joined = join(args, &state).await;
            match joined {
                Err(_) if begun.elapsed() < PATIENCE && !state.socket().exists() => {}
                joined => return joined,
            }
        } else {
            let listener = TcpListener::bind("127.0.0.1:0").await;
            let listener = listener.map_err(Failure::output)?;
            let address = listener.local_addr().map_err(Failure::output)?;
            let hosts = vec![address.to_string(), format!("localhost:{}", address.port())];
            let walls = Walls::from(args.require_sandbox);
            match Open::open(&root, hosts, walls, args.disclose).await {
                Ok(open) => return serve(args, open, listener).await,
                // Another client may have opened it just now.
                Err(_) if Client::runs(&state).await && begun.elapsed() < PATIENCE => {}
                Err(failure) => return Err(failure),
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Speaks with the client as the hub itself, until it hangs up.
async fn serve(args: &McpArgs, open: Open, listener: TcpListener) -> Done {
    let address = listener.local_addr().map_err(Failure::output)?;
    let url = format!("http://{address}");
    let token = match &args.acting {
        Some(name) => saved(&open.state, name)?,
        None => open.agent_token().await?.0,
    };
    let who = open.kernel().authenticate(&token);
    let who = who.ok_or_else(|| Failure::input("the token is unknown, expired or revoked"))?;
    let session = open.front.session(args.view.as_deref(), who);
    let Some(session) = session else {
        let name = args.view.as_deref().unwrap_or_default();
        let failure = Failure::usage(format!("there is no view `{}`", out::visible(name)));
        return Err(failure.hint("`mcp.views` of helve.toml has them"));
    };
    for problem in &open.synced.problems {
        out::warn(&out::visible(problem));
    }
    open.record("hub.started").await?;
    open.state.set_running(&url)?;
    open.tend(|_| {});
    // Other commands, and other clients, find the hub by its address.
    let stop = open.stopping();
    let stopped = stop.clone();
    let listener = listener.tap_io(|stream| {
        // Without it every answer waits for the other side's acknowledgement.
        let _ = stream.set_nodelay(true);
    });
    let server = axum::serve(listener, open.router().into_make_service())
        .with_graceful_shutdown(async move { stopped.cancelled().await });
    let server = tokio::spawn(async move { server.await });
    let (reader, writer) = helve_mcp::standard_streams();
    let mut term = signal(SignalKind::terminate()).map_err(Failure::output)?;
    let served = tokio::select! {
        served = session.serve(reader, writer, stop.clone()) => served,
        // A client that does not wait for the end of input ends us so.
        _ = term.recv() => Ok(()),
    };
    open.state.set_stopped();
    stop.cancel();
    open.hub.close();
    open.end_runs().await;
    // Requests that were at work get their answers, if anybody takes them.
    let _ = tokio::time::timeout(LAST, server).await;
    let recorded = open.record("hub.stopped").await;
    open.close().await?;
    recorded?;
    served.map_err(Failure::output)?;
    Ok(Exit::Ok)
}

/// Gives on what the client and the running hub say to each other.
async fn join(args: &McpArgs, state: &State) -> Done {
    if args.disclose.is_some() {
        out::warn("`--disclose` counts only for a hub that is opened here; one runs already");
    }
    let token = saved(state, args.acting.as_deref().unwrap_or(AGENT))?;
    let stream = hub::connect(state, &token, args.view.as_deref()).await?;
    let (mut from_hub, mut to_hub) = stream.into_split();
    let (mut input, mut output) = helve_mcp::standard_streams();
    let there = async {
        let copied = tokio::io::copy(&mut input, &mut to_hub).await;
        let closed = to_hub.shutdown().await;
        copied.and(closed)
    };
    let back = async {
        let copied = tokio::io::copy(&mut from_hub, &mut output).await;
        let flushed = output.flush().await;
        copied.and(flushed)
    };
    tokio::pin!(there, back);
    tokio::select! {
        _ = &mut there => {
            // The client is done; what is under way may still be answered.
            let _ = back.await;
            Ok(Exit::Ok)
        }
        _ = &mut back => Err(Failure::output("the hub of this workspace has stopped")
            .hint("start the client's connection again: it opens a hub by itself")),
    }
}

fn saved(state: &State, name: &str) -> Result<String, Failure> {
    state.read_token(name).ok_or_else(|| {
        Failure::input(format!("there is no saved token `{}`", out::visible(name)))
            .hint("`helve token create` makes one; `--as` names it")
    })
}
