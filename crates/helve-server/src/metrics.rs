//! Counters, in the words of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use helve_kernel::Answer;

use crate::Hub;
use crate::routes::Route;

/// Upper ends of the buckets, in seconds.
const BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// What is counted.
#[derive(Default)]
pub(crate) struct Metrics(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    requests: BTreeMap<(&'static str, &'static str, u16), u64>,
    calls: BTreeMap<&'static str, u64>,
    /// By bucket, the last for all that took longer; with their sum.
    seconds: ([u64; BUCKETS.len() + 1], f64),
}

/// What is looked up when somebody asks.
pub(crate) struct Gauges {
    pub(crate) tools: u64,
    pub(crate) approvals_pending: u64,
    pub(crate) audit_entries: u64,
}

/// Counts a request of one route.
pub(crate) async fn count(
    State((hub, route)): State<(Hub, &'static Route)>,
    request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let response = next.run(request).await;
    let seconds = begun.elapsed().as_secs_f64();
    let mut counted = hub.metrics().lock();
    let key = (route.method, route.path, response.status().as_u16());
    *counted.requests.entry(key).or_default() += 1;
    let bucket = BUCKETS
        .iter()
        .position(|end| seconds <= *end)
        .unwrap_or(BUCKETS.len());
    counted.seconds.0[bucket] += 1;
    counted.seconds.1 += seconds;
    drop(counted);
    response
}

impl Metrics {
    pub(crate) fn called(&self, answer: &Answer) {
        let outcome = match (&answer.result, answer.meta.state) {
            (_, Some(state)) => state.as_str(),
            (Err(error), None) => error.kind.as_str(),
            (Ok(_), None) => "succeeded",
        };
        *self.lock().calls.entry(outcome).or_default() += 1;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn text(&self, gauges: &Gauges) -> String {
        let counted = self.lock();
        let mut out = String::new();
        head(
            &mut out,
            "helve_requests_total",
            "counter",
            "HTTP requests.",
        );
        for ((method, path, status), n) in &counted.requests {
            let method = method.to_uppercase();
            let _ = writeln!(
                out,
                "helve_requests_total{{method=\"{method}\",path=\"{path}\",status=\"{status}\"}} {n}"
            );
        }
        head(
            &mut out,
            "helve_calls_total",
            "counter",
            "Calls of tools, by what came of them.",
        );
        for (outcome, n) in &counted.calls {
            let _ = writeln!(out, "helve_calls_total{{outcome=\"{outcome}\"}} {n}");
        }
        let name = "helve_request_seconds";
        head(&mut out, name, "histogram", "How long requests take.");
        let mut sum = 0;
        for (end, n) in BUCKETS.iter().zip(counted.seconds.0) {
            sum += n;
            let _ = writeln!(out, "{name}_bucket{{le=\"{end}\"}} {sum}");
        }
        sum += counted.seconds.0[BUCKETS.len()];
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {sum}");
        let _ = writeln!(out, "{name}_sum {}\n{name}_count {sum}", counted.seconds.1);
        for (name, says, value) in [
            ("helve_tools", "Registered tools.", gauges.tools),
            (
                "helve_approvals_pending",
                "Approvals that wait, up to 1000.",
                gauges.approvals_pending,
            ),
            (
                "helve_audit_entries",
                "Entries of the record.",
                gauges.audit_entries,
            ),
        ] {
            head(&mut out, name, "gauge", says);
            let _ = writeln!(out, "{name} {value}");
        }
        out
    }
}

fn head(out: &mut String, name: &str, kind: &str, says: &str) {
    let _ = writeln!(out, "# HELP {name} {says}\n# TYPE {name} {kind}");
}
