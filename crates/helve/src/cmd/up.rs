//! `helve up`: the hub.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use helve_server::Lanes;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::client::Client;
use crate::config::{Config, DiscloseWord, LISTEN};
use crate::exit::{Done, Exit, Failure};
use crate::hub::{Age, Open, Synced, TERMINAL};
use crate::state::State;
use crate::{env, out, workspace};

/// Run the hub: tools, policy, approvals and the record, behind REST and MCP.
///
/// State is kept in `.helve/` of the workspace; tools in `tools/` are loaded, and
/// again whenever they change. Stop it with Ctrl-C: what runs is given ten seconds.
#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Where to listen [default: `server.listen`, or 127.0.0.1:7717]; port 0 takes any that is free.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Run programs only in a sandbox, or not at all [default: `sandbox.require_sandbox`].
    #[arg(long)]
    require_sandbox: bool,
    /// How much MCP clients are shown before they ask [default: `mcp.disclose`].
    #[arg(long, value_name = "HOW", value_enum)]
    disclose: Option<DiscloseWord>,
}

pub(crate) async fn run(args: &UpArgs) -> Done {
    let root = workspace::root();
    let config = Config::load(&root)?;
    if let Some(url) = State::of(&root).running()
        && Client::answers(&url).await
    {
        let error = format!("a hub runs in this workspace already, at {url}");
        return Err(Failure::input(error)
            .hint("commands find it by themselves; Ctrl-C in its terminal stops it"));
    }
    let wanted = args.listen.clone().or_else(|| config.server.listen.clone());
    let wanted = wanted.unwrap_or_else(|| LISTEN.to_owned());
    let listener = TcpListener::bind(&wanted).await.map_err(|e| {
        let port = wanted.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
        Failure::usage(format!("cannot listen on `{}`: {e}", out::visible(&wanted))).hint(
            match port {
                Some(Ok(_)) => {
                    "another hub may be there; choose a port with `--listen 127.0.0.1:0`"
                }
                _ => "write it as ADDRESS:PORT, like `127.0.0.1:7717`",
            },
        )
    })?;
    let address = listener.local_addr().map_err(Failure::output)?;
    // Before the hub, so that they end after it.
    let lanes = Lanes::start().map_err(|e| Failure::output(format!("no thread starts: {e}")))?;
    let walls = args.require_sandbox.into();
    let open = Open::open(&root, hosts(address, &config), walls, args.disclose).await?;
    let url = format!("http://{}", shown(address));
    let (token, age) = open.agent_token().await?;
    // What goes to a file or a journal stays there; the secret need not.
    let shows = age == Age::New || std::io::stderr().is_terminal();
    let token = shows.then_some(token);
    open.record("hub.started").await?;
    open.sign().await?;
    open.state.set_running(&url)?;
    greet(&open, address, &url, token.as_deref(), shows);
    open.tend(tell);

    let mut term = signal(SignalKind::terminate()).map_err(Failure::output)?;
    let (hub, front) = (open.hub.clone(), open.front.clone());
    let closing = CancellationToken::new();
    let stop = closing.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = term.recv() => {}
        }
        out::say("\nstopping: what runs may end first");
        // Streams end now; requests that are at work get their answers.
        hub.close();
        front.fall_silent();
        stop.cancel();
    });
    let over = async {
        closing.cancelled().await;
        open.end_runs().await;
        tokio::time::sleep(LAST).await;
    };
    let served = tokio::select! {
        served = lanes.serve(listener, open.router(), closing.clone()) => served,
        // Who does not take their answer is not waited for.
        () = over => Ok(()),
    };
    open.state.set_stopped();
    let recorded = open.record("hub.stopped").await;
    open.close().await?;
    recorded?;
    served.map_err(|e| Failure::output(format!("the server failed: {e}")))?;
    Ok(Exit::Ok)
}

/// How long the last answers may take.
const LAST: Duration = Duration::from_secs(2);

/// The names that this address may be called by.
fn hosts(address: SocketAddr, config: &Config) -> Vec<String> {
    let port = address.port();
    let mut hosts = vec![address.to_string()];
    if address.ip().is_loopback() || address.ip().is_unspecified() {
        hosts.push(format!("localhost:{port}"));
        hosts.push(format!("127.0.0.1:{port}"));
        hosts.push(format!("[::1]:{port}"));
    }
    hosts.extend(config.server.hosts.iter().cloned());
    hosts
}

/// The address as it can be called from here.
fn shown(address: SocketAddr) -> String {
    match address.ip().is_unspecified() {
        true => format!("127.0.0.1:{}", address.port()),
        false => address.to_string(),
    }
}

/// A link that signs the person at the terminal in; only a hint where others may read it.
fn console(open: &Open, url: &str, shows: bool) -> String {
    let secret = open.state.read_token(TERMINAL).filter(|_| shows);
    let link = secret.and_then(|secret| open.hub.sign_in_link(&secret));
    match link {
        Some(path) => format!("{url}{path}  (once, for ten minutes)"),
        None => format!("{url}/console; `helve console` prints a link"),
    }
}

fn greet(open: &Open, address: SocketAddr, url: &str, token: Option<&str>, shows: bool) {
    let strong = |text: &str| out::styled(out::STRONG, text);
    if env::log().as_deref() == Some("quiet") {
        return;
    }
    let tools = open.kernel().tools();
    let enabled = tools.iter().filter(|e| e.enabled && !e.open).count();
    out::say(&format!(
        "{} listens on {}  (pages: {url}/docs)",
        strong("helve"),
        strong(url)
    ));
    out::say(&format!("  workspace  {}", open.root.display()));
    out::say(&format!("  tools      {}", out::count(enabled, "tool")));
    out::say(&format!("  policy     {}", rules(open)));
    out::say(&format!(
        "  MCP        {url}/mcp, or the command `helve mcp`"
    ));
    out::say(&format!("  console    {}", console(open, url, shows)));
    if !address.ip().is_loopback() {
        out::say(&format!(
            "  {} other machines can reach it: every route but /healthz, /openapi.json, /docs and the sign-in page \
             needs a token, and nothing is encrypted; put TLS in front",
            strong("open")
        ));
    }
    tell(&open.synced);
    match token {
        Some(token) => out::say(&format!(
            "\nThe first agent's token (kept in .helve/tokens/agent):\n\n  {token}\n"
        )),
        None => out::say("\nThe first agent's token is kept in .helve/tokens/agent.\n"),
    }
    let token = token.unwrap_or("$(cat .helve/tokens/agent)");
    out::say("To call a tool as that agent:\n");
    out::say(&format!(
        "  curl {url}/catalog -H \"Authorization: Bearer {token}\""
    ));
    out::say("  helve call <tool> key=value --as agent\n");
    out::say("To decide what it asks for: `helve approvals`, `helve approve <id>`. Ctrl-C stops.");
}

fn rules(open: &Open) -> String {
    match open.kernel().policy().rules().len() {
        0 => "the default: read and exec_low run, exec_high and write ask".to_owned(),
        n => format!("{}, then the default by risk", out::count(n, "rule")),
    }
}

fn tell(synced: &Synced) {
    if env::log().as_deref() == Some("quiet") {
        return;
    }
    if !synced.changed.is_empty() {
        out::say(&format!("  loaded     {}", some(&synced.changed)));
    }
    if !synced.removed.is_empty() {
        out::say(&format!("  removed    {}", some(&synced.removed)));
    }
    for problem in &synced.problems {
        out::warn(&out::visible(problem));
    }
}

/// The first few of many names.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    match names.len() > SHOWN {
        true => format!("{}, and {} more", shown.join(", "), names.len() - SHOWN),
        false => shown.join(", "),
    }
}
