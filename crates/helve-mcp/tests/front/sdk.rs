//! The client of the protocol's own library, in both eras.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use helve_kernel::Principal;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams,
    ElicitResult, ElicitationAction, Implementation, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RequestContext, RunningService};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Value, json};

use super::support::{Hub, echo};

/// A person who approves whatever they are asked.
#[derive(Clone, Default)]
struct Approver(Arc<AtomicUsize>);

impl ClientHandler for Approver {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let asked = serde_json::to_value(&request).unwrap();
        let said = super::support::text(&asked["message"]);
        assert!(said.contains("`note_save`"), "{said}");
        self.0.fetch_add(1, Ordering::SeqCst);
        let answer = ElicitResult::new(ElicitationAction::Accept);
        Ok(answer.with_content(json!({"decision": "approve"})))
    }

    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation();
        ClientConfig::new(capabilities.build(), Implementation::new("sdk", "1"))
    }
}

type Running = RunningService<RoleClient, Approver>;

fn eras() -> [ClientLifecycleMode; 2] {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover { preferred_versions },
    ]
}

async fn connect(hub: &Hub, who: &Arc<Principal>, era: ClientLifecycleMode) -> (Running, Approver) {
    let (here, there) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(there);
    let session = hub.front.session(None, who.clone()).unwrap();
    tokio::spawn(session.serve(reader, writer, hub.closing.clone()));
    let person = Approver::default();
    let client = person.clone().serve_with_lifecycle(here, era).await;
    (client.unwrap(), person)
}

async fn call(client: &Running, tool: &'static str, args: Value) -> CallToolResult {
    let args = args.as_object().unwrap().clone();
    let params = CallToolRequestParams::new(tool).with_arguments(args);
    client.call_tool(params).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn it_lists_calls_and_approves() {
    for era in eras() {
        let hub = Hub::new().await;
        let who = hub.agent("a", "ann").await;
        let (client, person) = connect(&hub, &who, era).await;
        let tools = client.list_all_tools().await.unwrap();
        let names: Vec<&str> = tools.iter().map(|t| &*t.name).collect();
        assert!(
            names.is_sorted() && names.contains(&"note_read"),
            "{names:?}"
        );
        let result = call(&client, "note_read", json!({"text": "x"})).await;
        assert_eq!(result.structured_content, Some(json!({"text": "x"})));
        let result = call(&client, "note_save", json!({"x": 1})).await;
        assert_eq!(
            result.structured_content,
            Some(json!({"x": 1})),
            "{result:?}"
        );
        assert_eq!((person.0.load(Ordering::SeqCst), hub.saves()), (1, 1));
        assert_eq!(hub.approval().await.decisions[0].by, "ann");
        client.cancel().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn it_reads_all_pages() {
    for era in eras() {
        let hub = Hub::with(helve_mcp::Options {
            page: 2,
            ..Default::default()
        })
        .await;
        hub.kernel.add_tool(echo("zz_last", json!({}))).unwrap();
        let who = hub.agent("a", "ann").await;
        let (client, _) = connect(&hub, &who, era).await;
        let tools = client.list_all_tools().await.unwrap();
        assert_eq!((tools.len(), &*tools[8].name), (9, "zz_last"));
    }
}
