//! Calls one tool of a server from many sessions at once, and says how long it took.
//!
//! Each caller has a session of its own and arguments that nobody else sends; an answer
//! without them is a failure. All are let go together. Between being ready and
//! beginning it waits for a line on standard input, so that whoever measures the
//! server can look at it before and after.
//!
//! ```sh
//! gateway_load '{"url": "http://127.0.0.1:8000/mcp", "tool": "echo", "argument": "text",
//!                "arguments": {}, "headers": {}, "callers": 16, "seconds": 3, "answer": true}'
//! ```
//!
//! With `"first": true` it tries until one call was served, and says when that was.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::http::{HeaderName, HeaderValue};
use rmcp::model::{CallToolRequestParams, ClientConfig, JsonObject};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Barrier;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What to do.
#[derive(Debug, Deserialize)]
struct Plan {
    url: String,
    headers: HashMap<String, String>,
    tool: String,
    /// The argument that is different in every call.
    argument: String,
    /// The others.
    arguments: JsonObject,
    /// Whether the answer says what the argument was.
    answer: bool,
    #[serde(default)]
    callers: usize,
    #[serde(default)]
    seconds: f64,
    #[serde(default)]
    first: bool,
}

/// Calls before anything is measured, of each caller.
const WARM: usize = 3;

/// How long a server may take to its first answer.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::main]
async fn main() -> Outcome<()> {
    let plan = std::env::args().nth(1).ok_or("usage: gateway_load PLAN")?;
    let plan: Arc<Plan> = Arc::new(serde_json::from_str(&plan)?);
    if plan.first {
        return first(&plan).await;
    }
    let mut sessions = Vec::new();
    for caller in 0..plan.callers {
        let session = connect(&plan).await?;
        for number in 0..WARM {
            call(&session, &plan, &format!("warm-{caller}-{number}")).await?;
        }
        sessions.push(session);
    }
    say("ready")?;
    tokio::task::spawn_blocking(|| std::io::stdin().lock().read_line(&mut String::new())).await??;

    let barrier = Arc::new(Barrier::new(plan.callers + 1));
    let length = Duration::from_secs_f64(plan.seconds);
    let callers = sessions.into_iter().enumerate().map(|(caller, session)| {
        let (plan, barrier) = (Arc::clone(&plan), Arc::clone(&barrier));
        tokio::spawn(async move {
            let mut times = Vec::new();
            barrier.wait().await;
            let begin = Instant::now();
            while begin.elapsed() < length {
                let text = format!("caller-{caller}-call-{}", times.len());
                let start = Instant::now();
                call(&session, &plan, &text).await?;
                times.push(start.elapsed());
            }
            let end = Instant::now();
            Outcome::Ok((times, end, session))
        })
    });
    let callers: Vec<_> = callers.collect();
    barrier.wait().await;
    let begin = Instant::now();
    let (mut times, mut end, mut sessions) = (Vec::new(), begin, Vec::new());
    for caller in callers {
        let (mine, ended, session) = caller.await??;
        times.extend(mine);
        end = end.max(ended);
        sessions.push(session);
    }
    times.sort();
    let seconds = (end - begin).as_secs_f64();
    // Nearest rank; a caller always makes at least one call.
    let at = |part: usize| times[(times.len() * part).div_ceil(100).max(1) - 1].as_secs_f64() * 1e3;
    let calls = times.len();
    #[expect(clippy::cast_precision_loss, reason = "nobody makes that many calls")]
    let rate = calls as f64 / seconds;
    let seen = json!({"calls": calls, "seconds": seconds, "rate": rate, "p50_ms": at(50), "p99_ms": at(99)});
    say(&seen.to_string())?;
    for session in sessions {
        // What is measured is over; a server that does not say goodbye is not waited for.
        let _ = tokio::time::timeout(Duration::from_secs(1), session.cancel()).await;
    }
    Ok(())
}

/// Tries until a call was served, and says when: microseconds since 1970.
async fn first(plan: &Plan) -> Outcome<()> {
    let begin = Instant::now();
    loop {
        let tried = async {
            let session = connect(plan).await?;
            call(&session, plan, "first").await
        };
        match tried.await {
            Ok(()) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
                return say(&json!({"at_us": now.as_micros()}).to_string());
            }
            Err(error) if begin.elapsed() > PATIENCE => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    }
}

/// A session, opened as most clients do today.
async fn connect(plan: &Plan) -> Outcome<RunningService<RoleClient, ClientConfig>> {
    let mut headers = HashMap::new();
    for (name, value) in &plan.headers {
        headers.insert(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
    }
    let config =
        StreamableHttpClientTransportConfig::with_uri(plan.url.as_str()).custom_headers(headers);
    let http = reqwest::Client::builder().tcp_nodelay(true).build()?;
    let transport = StreamableHttpClientTransport::with_client(http, config);
    let client = ClientConfig::default();
    Ok(client
        .serve_with_lifecycle(transport, ClientLifecycleMode::Initialize)
        .await?)
}

async fn call(
    session: &RunningService<RoleClient, ClientConfig>,
    plan: &Plan,
    text: &str,
) -> Outcome<()> {
    let mut arguments = plan.arguments.clone();
    arguments.insert(plan.argument.clone(), text.into());
    let request = CallToolRequestParams::new(plan.tool.clone()).with_arguments(arguments);
    let result = session.call_tool(request).await?;
    let said = json!(result).to_string();
    match result.is_error == Some(true) || plan.answer && !said.contains(text) {
        true => Err(format!("the answer to `{text}` is {said}").into()),
        false => Ok(()),
    }
}

fn say(line: &str) -> Outcome<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
