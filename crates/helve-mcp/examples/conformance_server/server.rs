//! The handler: one method of the protocol, one line here, the work beside it.

// Logging and `resources/subscribe` are of the older era only, and marked so.
#![expect(deprecated)]

use std::sync::Arc;

use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::task_manager::TaskManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{ErrorData, ServerHandler};

use crate::catalog::{Answer, CATALOG, page, tool};
use crate::changes::Changes;
use crate::{prompts, resources, tools};

/// What all sessions share.
pub(crate) struct Shared {
    pub(crate) changes: Changes,
    pub(crate) tasks: TaskManager,
    /// Seals the state that travels with a question and must come back unchanged.
    pub(crate) seal: RequestStateCodec,
    /// For closing a stream in the middle of a call; only over HTTP.
    pub(crate) sessions: Option<Arc<LocalSessionManager>>,
    page: Option<usize>,
}

impl Shared {
    pub(crate) fn new(sessions: Option<Arc<LocalSessionManager>>, page: Option<usize>) -> Self {
        Self {
            changes: Changes::default(),
            tasks: TaskManager::new(),
            // A test has nothing to hide; what matters is that a change is noticed.
            seal: RequestStateCodec::new(*b"a key that nobody needs to guess"),
            sessions,
            page,
        }
    }
}

/// One session of the server.
#[derive(Clone)]
pub(crate) struct Fixture {
    pub(crate) shared: Arc<Shared>,
}

impl Fixture {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_logging()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("conformance-fixture", "1.0.0"))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListToolsResult> {
        let cursor = request.and_then(|r| r.cursor);
        let (tools, next) = page(&CATALOG.tools, cursor.as_deref(), self.shared.page);
        let mut result = ListToolsResult::with_all_items(tools);
        result.next_cursor = next;
        Ok(result)
    }

    // rmcp checks the headers that mirror arguments against this.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        tool(name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Answer<CallToolResponse> {
        tools::call(&self.shared, request, context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListPromptsResult> {
        Ok(ListPromptsResult::with_all_items(CATALOG.prompts.clone()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<GetPromptResponse> {
        prompts::get(&request)
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<CompleteResult> {
        let values = vec!["test".to_owned(), "testing".to_owned()];
        let found = CompletionInfo::new(values).map_err(|e| ErrorData::internal_error(e, None))?;
        Ok(CompleteResult::new(found))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListResourcesResult> {
        Ok(ListResourcesResult::with_all_items(
            CATALOG.resources.clone(),
        ))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListResourceTemplatesResult> {
        Ok(ListResourceTemplatesResult::with_all_items(
            CATALOG.templates.clone(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<ReadResourceResponse> {
        resources::read(&request.uri)
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<()> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<()> {
        Ok(())
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Answer<()> {
        // In the newer era the level travels with each request.
        if context.meta.protocol_version().is_some() {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.shared.changes.tell(context.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Answer<()> {
        self.shared.changes.listen(&context).await;
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<GetTaskResult> {
        Ok(GetTaskResult::new(
            self.shared.tasks.get_task(&request.task_id)?,
        ))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<()> {
        self.shared
            .tasks
            .update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<()> {
        self.shared.tasks.cancel_task(&request.task_id)
    }
}
