//! The table of routes: what there is, who may, what it takes and gives.
//!
//! The router and the OpenAPI document are both made from it. Beside the console's pages,
//! which have a table of their own, a route that is not here does not exist; one that is
//! here has its check.

use axum::Router;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use helve_kernel::Permission;

use crate::api::{
    approvals, audit, catalog, changes, meta, questions, runs, search, tokens, tools, upstreams,
};
use crate::problem::{Problem, crashed, shown};
use crate::{Hub, guard};

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everybody who can reach the hub.
    Open,
    /// Whoever shows a token with this right.
    Needs(Permission),
}

/// A parameter in the query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) says: &'static str,
    /// The name of its schema in [`crate::schemas`].
    pub(crate) schema: &'static str,
}

/// One route.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    pub(crate) says: &'static str,
    pub(crate) access: Access,
    pub(crate) query: &'static [Parameter],
    /// The schema of the body, if it takes one.
    pub(crate) body: Option<&'static str>,
    /// Statuses that say yes, with the schema of what comes.
    pub(crate) gives: &'static [(u16, &'static str)],
    /// Statuses that say no, beside those that every route can give.
    pub(crate) refuses: &'static [u16],
    handler: fn() -> MethodRouter<Hub>,
}

const fn parameter(name: &'static str, schema: &'static str, says: &'static str) -> Parameter {
    Parameter { name, says, schema }
}

const LIMIT: Parameter = parameter("limit", "Limit", "How many items, at most.");
const WHY: Parameter = parameter("why", "Why", "Why, for the record.");

macro_rules! routes {
    ($(
        $method:ident $path:literal $id:ident $access:expr, $says:literal
        [$($query:expr),*] $body:expr => $gives:expr, $refuses:expr, $handler:path;
    )*) => {
        /// All routes.
        pub(crate) static ROUTES: &[Route] = &[$(Route {
            method: stringify!($method),
            path: $path,
            id: stringify!($id),
            says: $says,
            access: $access,
            query: &[$($query),*],
            body: $body,
            gives: $gives,
            refuses: $refuses,
            handler: || $method($handler),
        }),*];
    };
}

use Access::{Needs, Open};
use Permission::{
    ApprovalDecide, AuditRead, RunRead, RunUndo, TokenManage, ToolExecute, ToolRead, ToolRegister,
};

routes! {
    get "/tools" list_tools Needs(ToolRead), "The tools within the token's scopes."
        [LIMIT, parameter("cursor", "Text", "Where the last page ended."),
         parameter("tag", "Text", "Only those with this tag."),
         parameter("group", "Text", "Only those of this group."),
         parameter("enabled", "Flag", "Only those that can, or cannot, be called."),
         parameter("dialect", "Dialect", "The tools as this vendor wants them."),
         parameter("strict", "Flag", "For the vendor's constrained decoding.")]
        None => &[(200, "Tools")], &[400, 422], tools::list;
    post "/tools" register_tool Needs(ToolRegister), "Registers a tool, in any dialect."
        [WHY] Some("Definition") => &[(201, "Registered")], &[400, 409, 413, 415, 422, 503], tools::create;
    get "/tools/{id}" get_tool Needs(ToolRead), "A tool, by any of its names."
        [parameter("dialect", "Dialect", "The tool as this vendor wants it.")]
        None => &[(200, "AnyTool")], &[400, 404, 422], tools::show;
    put "/tools/{id}" replace_tool Needs(ToolRegister), "Puts a new version in place, or registers the tool."
        [WHY] Some("Definition") => &[(200, "Registered"), (201, "Registered")],
        &[400, 404, 409, 413, 415, 422, 503], tools::replace;
    patch "/tools/{id}" change_tool Needs(ToolRegister), "Changes parts of a tool (JSON merge patch) into a new version."
        [WHY] Some("Patch") => &[(200, "Registered")], &[400, 404, 409, 413, 415, 422, 503], tools::change;
    delete "/tools/{id}" remove_tool Needs(ToolRegister), "Removes a tool; its versions stay on record."
        [] None => &[(204, "")], &[404, 409, 503], tools::remove;
    post "/tools/{id}/enable" enable_tool Needs(ToolRegister), "Lets a tool be called."
        [] None => &[(200, "Tool")], &[404, 409, 503], tools::enable;
    post "/tools/{id}/disable" disable_tool Needs(ToolRegister), "Keeps a tool from being called."
        [] None => &[(200, "Tool")], &[404, 409, 503], tools::disable;
    get "/tools/{id}/versions" list_versions Needs(ToolRead), "All versions of a tool, oldest first."
        [] None => &[(200, "Versions")], &[404], tools::versions;
    post "/tools/{id}/rollback" roll_back_tool Needs(ToolRegister), "Makes an old version current again."
        [] Some("Rollback") => &[(200, "Tool")], &[400, 404, 409, 413, 415, 422, 503], tools::roll_back;
    post "/tools/{id}/runs" call_tool Needs(ToolExecute), "Calls a tool."
        [] Some("ToolCall") => &[(200, "Answer"), (202, "Answer")],
        &[400, 404, 409, 413, 415, 422, 503], runs::create_for;
    post "/runs" create_run Needs(ToolExecute), "Calls the tool that the body names."
        [] Some("RunCall") => &[(200, "Answer"), (202, "Answer")],
        &[400, 404, 409, 413, 415, 422, 503], runs::create;
    get "/runs" list_runs Needs(RunRead), "Runs, newest first: one's own, or with `audit:read` all."
        [LIMIT, parameter("cursor", "RunId", "Where the last page ended."),
         parameter("tool", "Text", "Only those of this tool."),
         parameter("state", "RunState", "Only those in this state."),
         parameter("who", "Text", "Only those of this owner, or of agents under them."),
         parameter("since", "Time", "Asked for not before (RFC 3339)."),
         parameter("until", "Time", "Asked for before (RFC 3339).")]
        None => &[(200, "Runs")], &[400], runs::list;
    get "/runs/{id}" get_run Needs(RunRead), "A run, with its answer once there is one."
        [] None => &[(200, "Run")], &[404], runs::show;
    get "/runs/{id}/logs" run_logs Needs(RunRead), "What a run writes, as server-sent events until it is over; or as JSON."
        [LIMIT, parameter("after", "Number", "Only chunks after this number."),
         parameter("follow", "Flag", "Whether to wait for more; true if not said.")]
        None => &[(200, "Logs")], &[400, 404], runs::logs;
    get "/runs/{id}/artifacts/{name}" get_artifact Needs(RunRead), "A file that a run left."
        [] None => &[(200, "File")], &[404], runs::artifact;
    post "/runs/{id}/cancel" cancel_run Needs(ToolExecute), "Calls a run off."
        [] None => &[(202, "Cancelled")], &[404, 409, 503], runs::cancel;
    get "/runs/{id}/diff" run_diff Needs(RunRead), "What a run changed, or would change: as JSON, as text for people, or as a patch."
        [parameter("format", "DiffFormat", "In which form; counts for more than `Accept`.")]
        None => &[(200, "Diff")], &[400, 404], changes::diff;
    post "/runs/{id}/undo" undo_run Needs(RunUndo), "Takes back what a run changed, as a run of its own: all of it, or nothing."
        [] Some("UndoRun") => &[(200, "Answer")], &[400, 404, 409, 413, 415, 422, 503], changes::undo_run;
    post "/runs/{id}/pin" pin_run Needs(RunUndo), "Keeps what was there before a run for as long as this holds."
        [] None => &[(200, "Pinned")], &[404, 409, 503], changes::pin;
    post "/runs/{id}/unpin" unpin_run Needs(RunUndo), "Lets what was there before a run go when its time is over."
        [] None => &[(200, "Pinned")], &[404, 409, 503], changes::unpin;
    post "/runs/{id}/purge" purge_run Needs(RunUndo), "Lets go for good of the records that a run removed. For people."
        [] None => &[(200, "Purged")], &[404, 409, 422, 503], changes::purge;
    post "/undo" undo Needs(RunUndo), "Takes back what several runs changed: those that are named, or one and all since."
        [] Some("Undo") => &[(200, "Answer")], &[400, 404, 409, 413, 415, 422, 503], changes::undo;
    get "/changes" list_changes Needs(RunRead), "Which paths were changed by which runs, the last first: one's own, or with `audit:read` all."
        [LIMIT, parameter("cursor", "ChangesCursor", "Where the last page ended."),
         parameter("path", "Text", "Only this path and what is beneath it; from the workspace, or absolute.")]
        None => &[(200, "Changes")], &[400], changes::list;
    post "/changes/collect" collect_changes Needs(RunUndo), "Lets go of what was there before, as far as it need not be kept. For people."
        [] Some("Nothing") => &[(200, "Collected")], &[400, 409, 413, 415, 422, 503], changes::collect;
    get "/approvals" list_approvals Needs(RunRead), "Approvals, newest first."
        [LIMIT, parameter("cursor", "ApprovalId", "Where the last page ended."),
         parameter("state", "ApprovalState", "Only those in this state.")]
        None => &[(200, "Approvals")], &[400], approvals::list;
    get "/approvals/{id}" get_approval Needs(RunRead), "An approval: what would run, and what people said."
        [] None => &[(200, "Approval")], &[404], approvals::show;
    post "/approvals/{id}/approve" approve Needs(ApprovalDecide), "Says yes. With the last yes that is needed, the run begins."
        [] Some("Reason") => &[(200, "Approval")], &[400, 404, 409, 413, 415, 422, 503], approvals::approve;
    post "/approvals/{id}/deny" deny Needs(ApprovalDecide), "Says no."
        [] Some("Reason") => &[(200, "Approval")], &[400, 404, 409, 413, 415, 422, 503], approvals::deny;
    get "/questions" list_questions Needs(RunRead), "What tools ask people and nobody has answered yet, oldest first."
        [] None => &[(200, "Questions")], &[], questions::list;
    post "/questions/{id}/answer" answer_question Needs(RunRead), "Answers a question of a tool, once. For people: those under whom the asking agent acts, or with `approval:decide`."
        [] Some("QuestionAnswer") => &[(200, "Question")], &[400, 404, 409, 413, 415, 422, 503], questions::answer;
    get "/audit" read_audit Needs(AuditRead), "The record, oldest first."
        [LIMIT, parameter("resource_id", "Text", "About this run, tool, approval or token."),
         parameter("actor", "Text", "By this actor."),
         parameter("event", "Text", "Of this event."),
         parameter("since", "Time", "Not before (RFC 3339)."),
         parameter("until", "Time", "Before (RFC 3339)."),
         parameter("after", "Number", "Only entries after this number.")]
        None => &[(200, "Entries")], &[400], audit::list;
    get "/audit/export" export_audit Needs(AuditRead), "The whole record, a line for each entry: what `helve audit verify` checks."
        [parameter("after", "Number", "Only entries after this number.")]
        None => &[(200, "Lines")], &[400], audit::export;
    get "/tokens" list_tokens Needs(ToolRead), "One's own tokens, or with `token:manage` all; never their secrets."
        [] None => &[(200, "Tokens")], &[], tokens::list;
    post "/tokens" create_token Needs(TokenManage), "Makes a token. Its secret is in the answer and nowhere else."
        [] Some("NewToken") => &[(201, "TokenCreated")], &[400, 409, 413, 415, 422, 503], tokens::create;
    delete "/tokens/{id}" revoke_token Needs(ToolRead), "Revokes a token, for streams that are open with it, too."
        [] None => &[(204, "")], &[404, 409, 503], tokens::revoke;
    post "/console/links" create_sign_in_link Needs(RunRead), "A link by which whoever has this token signs in to the console: once, for ten minutes. For people."
        [] None => &[(201, "SignInLink")], &[503], tokens::sign_in_link;
    get "/me" whoami Needs(ToolRead), "Who the token belongs to, and what it may do."
        [] None => &[(200, "Me")], &[], tokens::me;
    get "/catalog" get_catalog Needs(ToolRead), "The tools in one line each, within a budget of tokens."
        [parameter("budget", "Budget", "How many tokens it may take.")]
        None => &[(200, "Catalog")], &[400, 422], catalog::show;
    post "/search" search_tools Needs(ToolRead), "Tools by what they do, in English or Chinese."
        [] Some("Search") => &[(200, "Found")], &[400, 413, 415, 422], search::find;
    get "/policy" get_policy Needs(AuditRead), "The rules, and what they decide for each principal and tool."
        [parameter("principal", "Text", "A principal, beside the owners of tokens.")]
        None => &[(200, "Policy")], &[400], catalog::policy;
    post "/policy/explain" explain_policy Needs(ToolRead), "Which rule would decide a call, and why. Nothing runs."
        [] Some("Explain") => &[(200, "Explanation")], &[400, 404, 413, 415, 422], catalog::explain;
    get "/upstreams" list_upstreams Needs(ToolRead), "The MCP servers behind the hub, and how they stand."
        [] None => &[(200, "Upstreams")], &[], upstreams::list;
    post "/upstreams" reload_upstreams Needs(ToolRegister), "Reads again which MCP servers there are."
        [] None => &[(200, "Reloaded")], &[404, 422], upstreams::reload;
    get "/upstreams/{id}" get_upstream Needs(ToolRead), "An MCP server behind the hub."
        [] None => &[(200, "Upstream")], &[404], upstreams::show;
    post "/upstreams/{id}/test" test_upstream Needs(ToolRegister), "Starts a server if need be, looks at its tools, and says how long it takes to answer."
        [] None => &[(200, "UpstreamTest")], &[404, 503], upstreams::test;
    post "/upstreams/{id}/login" login_upstream Needs(ToolRegister), "Begins to log in to a server: the address that somebody must open."
        [] None => &[(200, "LoginBegun")], &[404, 503], upstreams::login;
    get "/quarantine" list_quarantine Needs(ToolRegister), "Definitions of MCP servers that are not what they were, or hide something: not used until somebody has looked."
        [parameter("server", "Text", "Only those of this server.")]
        None => &[(200, "Quarantine")], &[404], upstreams::waiting;
    post "/quarantine/accept" accept_definitions Needs(ToolRegister), "Takes over what waits, of one tool or of all of a server. For people."
        [] Some("Accept") => &[(200, "Accepted")], &[400, 404, 409, 413, 415, 422, 503], upstreams::accept;
    get "/metrics" get_metrics Needs(RunRead), "Counters for Prometheus."
        [] None => &[(200, "Metrics")], &[503], meta::metrics;
    get "/.well-known/oauth-protected-resource" protected_resource Open, "Where a client gets a token for this hub, where an identity provider is configured."
        [] None => &[(200, "ProtectedResource")], &[404], meta::protected_resource;
    get "/.well-known/oauth-protected-resource/mcp" protected_resource_mcp Open, "The same for the MCP door."
        [] None => &[(200, "ProtectedResource")], &[404], meta::protected_resource;
    get "/healthz" healthz Open, "Whether the hub can do its work."
        [] None => &[(200, "Health"), (503, "Health")], &[], meta::healthz;
    get "/openapi.json" get_openapi Open, "This description."
        [] None => &[(200, "Anything")], &[], meta::openapi;
    get "/docs" docs Open, "This description, to be read."
        [] None => &[(200, "Html")], &[], meta::docs;
}

pub(crate) fn router(hub: &Hub, doors: Router) -> Router {
    // Whoever asks is known before they come to another door.
    let mut router: Router<Hub> = match doors.has_routes() {
        true => {
            let admit = from_fn_with_state(hub.clone(), guard::door);
            doors.route_layer(admit).with_state(())
        }
        false => Router::new(),
    };
    for route in ROUTES {
        let check = from_fn_with_state((hub.clone(), route), guard::route);
        let count = from_fn_with_state((hub.clone(), route), crate::metrics::count);
        let handler = (route.handler)().layer(check).layer(count);
        router = router.route(route.path, handler);
    }
    router
        .merge(crate::console::router(hub))
        .method_not_allowed_fallback(wrong_method)
        .fallback(nowhere)
        .layer(from_fn(contained))
        .layer(from_fn_with_state(hub.clone(), guard::origin))
        .with_state(hub.clone())
}

async fn wrong_method(method: Method, uri: Uri) -> Problem {
    let (path, method) = (shown(uri.path()), shown(method.as_str()));
    let detail = format!("`{path}` does not take {method}");
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail)
}

async fn nowhere(uri: Uri) -> Problem {
    Problem::not_found(uri.path()).hint("`/docs` shows what there is")
}

/// A handler that panics fails its own request and no other.
pub(crate) async fn contained(
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> axum::response::Response {
    use axum::response::IntoResponse as _;
    use futures_util::FutureExt as _;
    let answer = std::panic::AssertUnwindSafe(next.run(request))
        .catch_unwind()
        .await;
    answer.unwrap_or_else(|_| crashed().into_response())
}
