//! The handler of the protocol: each request, taken to where it is answered.

#![expect(deprecated, reason = "clients of the older revisions still log")]

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use helve_core::def::ExecutorKind;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams,
    CancelledNotificationParam, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult,
    DetailedTask, DiscoverResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    GetTaskParams, GetTaskResult, Implementation, InitializeRequestParams, InitializeResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ServerCapabilities, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Task, TaskPayload, TaskStatus, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};

use crate::upstream::List;

use super::answer::{finish, finish_list};
use super::changes::Listening;
use super::client::{not_here, protocol};
use super::list::page;
use super::passing::key_of;
use super::verbatim::wrap;
use super::{Session, direct, lock};

/// How long a first list waits for servers that were never seen before.
const FIRST: Duration = Duration::from_secs(10);

/// How often it is looked whether a client that is told of changes is still there.
const QUIET: Duration = Duration::from_secs(30);

/// What the handler is: a session, shared with whoever tells it of changes.
#[derive(Clone)]
pub(super) struct Handler(pub(crate) Arc<Session>);

type Ctx = RequestContext<RoleServer>;

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let options = self.0.front.options();
        let mut capabilities = json!({
            "tools": {"listChanged": true},
            "logging": {},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        });
        let elsewhere = self.0.front.elsewhere();
        if elsewhere.is_some_and(|e| !e.names().is_empty()) {
            capabilities["resources"] = json!({"subscribe": true, "listChanged": true});
            capabilities["prompts"] = json!({"listChanged": true});
            capabilities["completions"] = json!({});
        }
        let capabilities: ServerCapabilities =
            serde_json::from_value(capabilities).unwrap_or_default();
        let name = Implementation::new(options.name.clone(), options.version.clone());
        ServerConfig::new(capabilities).with_server_info(name)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: Ctx,
    ) -> Result<InitializeResult, ErrorData> {
        let who = self.0.who(&context)?;
        context.peer.set_peer_info(request.clone());
        let mut info = self.negotiate_initialize(&request)?;
        info.instructions = self.0.instructions(&who);
        Ok(info)
    }

    async fn discover(&self, context: Ctx) -> Result<DiscoverResult, ErrorData> {
        let who = self.0.who(&context)?;
        let mut info = self.get_info();
        info.instructions = self.0.instructions(&who);
        let versions: Cow<'static, [ProtocolVersion]> = self.supported_protocol_versions();
        Ok(DiscoverResult::from_server_info(
            versions.into_owned(),
            info,
        ))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Ctx,
    ) -> Result<ListToolsResult, ErrorData> {
        let who = self.0.who(&context)?;
        if let Some(elsewhere) = self.0.front.elsewhere() {
            elsewhere.seen(FIRST).await;
        }
        let most = self.0.front.options().page;
        let list = self.0.listed(&who);
        let page = page("tools", list, cursor(&request), most)?;
        Ok(ListToolsResult {
            meta: Some(wrap(finish_list(page, &protocol(&context)))),
            ..ListToolsResult::default()
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Ctx,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(begun) = direct::taken_over(&context) {
            let who = self.0.who(&context)?;
            let result = self.0.carry_on(begun, &who, &context).await?;
            return Ok(self.complete_call(&request.name, result, &context));
        }
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        let answers = object(request.input_responses);
        let state = request.request_state;
        let name = request.name;
        let result = self
            .0
            .call(&name, arguments, state.as_deref(), &answers, &context)
            .await?;
        Ok(self.complete_call(&name, result, &context))
    }

    /// Only tools whose arguments travel in headers: those are checked against them.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let entry = self.0.front.with_headers(name)?;
        let schema = entry.def.input_schema.as_object()?.clone();
        Some(Tool::new(name.to_owned(), "", Arc::new(schema)))
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Ctx,
    ) -> Result<ListPromptsResult, ErrorData> {
        let page = self
            .list(List::Prompts, "prompts", &request, &context)
            .await?;
        Ok(ListPromptsResult {
            meta: Some(wrap(page)),
            ..ListPromptsResult::default()
        })
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Ctx,
    ) -> Result<ListResourcesResult, ErrorData> {
        let page = self
            .list(List::Resources, "resources", &request, &context)
            .await?;
        Ok(ListResourcesResult {
            meta: Some(wrap(page)),
            ..ListResourcesResult::default()
        })
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Ctx,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let page = self
            .list(List::Templates, "resourceTemplates", &request, &context)
            .await?;
        Ok(ListResourceTemplatesResult {
            meta: Some(wrap(page)),
            ..ListResourceTemplatesResult::default()
        })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Ctx,
    ) -> Result<GetPromptResponse, ErrorData> {
        let who = self.0.who(&context)?;
        let (server, name) = self.0.prompt(&request.name, &who).await?;
        let mut params = Map::new();
        params.insert("name".to_owned(), name.into());
        if let Some(arguments) = request.arguments {
            params.insert("arguments".to_owned(), Value::Object(arguments));
        }
        let answers = object(request.input_responses);
        let result = self.0.pass_on(
            server,
            "prompts/get",
            params,
            request.request_state,
            answers,
            &context,
        );
        let mut empty = GetPromptResult::new(Vec::new());
        empty.meta = Some(wrap(finish(result.await?, &protocol(&context))));
        Ok(GetPromptResponse::Complete(empty))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Ctx,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let who = self.0.who(&context)?;
        let server = self.0.resource(&request.uri, &who).await?;
        let mut params = Map::new();
        params.insert("uri".to_owned(), request.uri.into());
        let answers = object(request.input_responses);
        let result = self.0.pass_on(
            server,
            "resources/read",
            params,
            request.request_state,
            answers,
            &context,
        );
        let result = result.await?;
        let asks = result
            .get("resultType")
            .is_some_and(|t| t == "input_required");
        let result = match asks {
            true => finish(result, &protocol(&context)),
            false => finish_list(result, &protocol(&context)),
        };
        let mut empty = ReadResourceResult::new(Vec::new());
        empty.meta = Some(wrap(result));
        Ok(ReadResourceResponse::Complete(empty))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: Ctx,
    ) -> Result<CompleteResult, ErrorData> {
        let who = self.0.who(&context)?;
        let mut params = match serde_json::to_value(&request) {
            Ok(Value::Object(params)) => params,
            _ => Map::new(),
        };
        params.shift_remove("_meta");
        let reference = &params["ref"];
        let text = |key: &str| reference[key].as_str().unwrap_or_default().to_owned();
        let server = match reference["type"].as_str() {
            Some("ref/prompt") => {
                let (server, name) = self.0.prompt(&text("name"), &who).await?;
                params["ref"]["name"] = name.into();
                server
            }
            _ => self.0.resource(&text("uri"), &who).await?,
        };
        let method = "completion/complete";
        let result = self
            .0
            .pass_on(server, method, params, None, Map::new(), &context);
        let mut empty = CompleteResult::default();
        empty.meta = Some(wrap(finish(result.await?, &protocol(&context))));
        Ok(empty)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: Ctx,
    ) -> Result<(), ErrorData> {
        let level = serde_json::to_value(request.level).unwrap_or_default();
        *lock(&self.0.level) = level.as_str().map(str::to_owned);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: Ctx,
    ) -> Result<(), ErrorData> {
        let who = self.0.who(&context)?;
        let server = self.0.resource(&request.uri, &who).await?;
        self.to_server(server, "resources/subscribe", &request.uri, &context)
            .await?;
        lock(&self.0.subscribed).insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: Ctx,
    ) -> Result<(), ErrorData> {
        let who = self.0.who(&context)?;
        let server = self.0.resource(&request.uri, &who).await?;
        lock(&self.0.subscribed).remove(&request.uri);
        self.to_server(server, "resources/unsubscribe", &request.uri, &context)
            .await
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let request = context.request_context();
        let who = self.0.who(request)?;
        let mut notes = self.0.front.notes();
        let uris = context.accepted().resource_subscriptions.clone();
        for uri in uris.into_iter().flatten() {
            if let Ok(server) = self.0.resource(&uri, &who).await {
                // A server that cannot tell of one resource still tells of its lists.
                let _ = self
                    .to_server(server, "resources/subscribe", &uri, request)
                    .await;
            }
            lock(&self.0.subscribed).insert(uri);
        }
        let mut listening = Listening::new(self.0.clone(), who);
        loop {
            let note = tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.0.front.silent().cancelled() => return Ok(()),
                note = notes.recv() => note,
            };
            let note = match note {
                Ok(note) => note,
                Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {
                    super::changes::Note::Tools
                }
                Err(tokio::sync::broadcast::error::RecvError::Closed) => return Ok(()),
            };
            if let Some(notification) = listening.hears(&note) {
                // What it did not ask for is not sent.
                let _ = context.sink().send(notification).await;
            }
        }
    }

    async fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        _context: NotificationContext<RoleServer>,
    ) {
        if let Some(id) = &notification.request_id {
            self.0.direct.cancel(id);
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        direct::open(&self.0, &context);
        let (session, peer) = (self.0.clone(), context.peer);
        let parts = context.extensions.get::<http::request::Parts>();
        let who = parts.and_then(|p| p.extensions.get().cloned());
        let Some(who) = self.0.fixed().cloned().or(who) else {
            return;
        };
        let mut notes = self.0.front.notes();
        tokio::spawn(async move {
            let mut listening = Listening::new(session, who);
            loop {
                // A client that hung up says nothing, so it is looked at now and then.
                let note = tokio::time::timeout(QUIET, notes.recv()).await;
                if peer.is_transport_closed() {
                    return;
                }
                let note = match note {
                    Err(_) => continue,
                    Ok(Ok(note)) => note,
                    Ok(Err(tokio::sync::broadcast::error::RecvError::Lagged(_))) => {
                        super::changes::Note::Tools
                    }
                    Ok(Err(tokio::sync::broadcast::error::RecvError::Closed)) => return,
                };
                if let Some(notification) = listening.hears(&note)
                    && peer.send_notification(notification).await.is_err()
                {
                    return;
                }
            }
        });
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: Ctx,
    ) -> Result<GetTaskResult, ErrorData> {
        let who = self.0.who(&context)?;
        let task = self.0.front.task(&who, &request.task_id).await?;
        let empty = Task::new(request.task_id, TaskStatus::Working, "", "");
        let mut result = GetTaskResult::new(DetailedTask::new(empty, TaskPayload::Working));
        result.meta = Some(wrap(finish(task, &protocol(&context))));
        Ok(result)
    }

    async fn update_task(&self, request: UpdateTaskParams, context: Ctx) -> Result<(), ErrorData> {
        let who = self.0.who(&context)?;
        let answers = request.input_responses.into_iter().collect();
        let front = &self.0.front;
        front.update_task(&who, &request.task_id, &answers).await
    }

    async fn cancel_task(&self, request: CancelTaskParams, context: Ctx) -> Result<(), ErrorData> {
        let who = self.0.who(&context)?;
        self.0.front.cancel_task(&who, &request.task_id).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: Ctx,
    ) -> Result<CustomResult, ErrorData> {
        Err(not_here(&request.method))
    }
}

impl Handler {
    fn complete_call(
        &self,
        name: &str,
        result: Map<String, Value>,
        context: &Ctx,
    ) -> CallToolResponse {
        let result = self.0.told(name, result, context);
        let mut empty = CallToolResult::success(Vec::new());
        empty.meta = Some(wrap(result));
        CallToolResponse::Complete(empty)
    }

    async fn list(
        &self,
        what: List,
        name: &str,
        request: &Option<PaginatedRequestParams>,
        context: &Ctx,
    ) -> Result<Map<String, Value>, ErrorData> {
        let who = self.0.who(context)?;
        if self
            .0
            .front
            .elsewhere()
            .is_none_or(|e| e.names().is_empty())
        {
            return Err(not_here(&format!("{name}/list")));
        }
        let items = self.0.elsewhere_list(what, &who).await?;
        let items = items.into_iter().map(|item| (key_of(what, &item), item));
        let items = items.collect();
        let most = self.0.front.options().page;
        let page = page(name, items, cursor(request), most)?;
        Ok(finish_list(page, &protocol(context)))
    }

    async fn to_server(
        &self,
        server: String,
        method: &'static str,
        uri: &str,
        context: &Ctx,
    ) -> Result<(), ErrorData> {
        let mut params = Map::new();
        params.insert("uri".to_owned(), uri.into());
        let passed = self
            .0
            .pass_on(server, method, params, None, Map::new(), context);
        passed.await.map(|_| ())
    }
}

impl super::Front {
    /// The tool of a name, if any of its arguments travels in a header.
    fn with_headers(&self, name: &str) -> Option<Arc<helve_kernel::Entry>> {
        let changes = self.kernel().tool_changes();
        let mut kept = lock(&self.0.headers);
        if kept.changes != Some(changes) {
            let mut found = std::collections::HashMap::new();
            for entry in self.kernel().tools() {
                if !has_header(&entry.def.input_schema) {
                    continue;
                }
                let executor = entry.def.executor.as_ref();
                if executor.is_some_and(|e| e.kind == ExecutorKind::Mcp)
                    && let Some(foreign) = super::views::foreign(&entry.def)
                {
                    found.insert(foreign.tool.to_owned(), entry.clone());
                }
                found.insert(entry.def.name.to_string(), entry);
            }
            *kept = super::Headers {
                changes: Some(changes),
                tools: found,
            };
        }
        kept.tools.get(name).cloned()
    }
}

fn has_header(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.contains_key("x-mcp-header") || map.values().any(has_header),
        Value::Array(list) => list.iter().any(has_header),
        _ => false,
    }
}

fn cursor(request: &Option<PaginatedRequestParams>) -> Option<&str> {
    request.as_ref()?.cursor.as_deref()
}

fn object(answers: Option<rmcp::model::InputResponses>) -> Map<String, Value> {
    answers.into_iter().flatten().collect()
}
