//! The requests of the Automation Hub document, as they stand in it.

use super::*;

const BACKUP: &str = r#"{
  "id": "backup_notes",
  "name": "备份笔记",
  "description": "将笔记目录备份到指定位置",
  "risk_level": "write",
  "executor": "docker",
  "args_schema": {
    "type": "object",
    "properties": {
      "source": {"type": "string"},
      "destination": {"type": "string"}
    },
    "required": ["source", "destination"]
  },
  "command": ["python", "/app/scripts/backup_notes.py"],
  "cwd": "/workspace",
  "timeout_sec": 300,
  "allowed_paths": ["/workspace/notes", "/data/backups"],
  "is_enabled": true
}"#;

const CLEANUP: &str = r#"{
  "id": "cleanup_dir",
  "name": "清理目录",
  "description": "清理临时文件和缓存",
  "risk_level": "write",
  "executor": "docker",
  "args_schema": {
    "type": "object",
    "properties": {
      "directory": {
        "type": "string",
        "description": "要清理的目录路径"
      },
      "pattern": {
        "type": "string",
        "default": "*.tmp",
        "description": "文件匹配模式"
      }
    },
    "required": ["directory"]
  },
  "command": ["python", "/app/scripts/cleanup_dir.py"],
  "timeout_sec": 60,
  "allowed_paths": ["/tmp", "/data/cache"]
}"#;

const MIGRATED: &str = r#"{
  "id": "backup_notes",
  "name": "备份笔记",
  "command": ["python", "/app/scripts/backup_notes.py"],
  "risk_level": "write",
  "executor": "docker"
}"#;

fn register(body: &str) -> Ask {
    post("/tools").raw(body, "application/json")
}

#[tokio::test]
async fn its_tools_register() {
    let bench = Bench::new().await;
    let made = bench.send(register(BACKUP).by(&bench.ann)).await.is(201);
    let def = &made["tool"]["definition"];
    assert_eq!(def["title"], "备份笔记");
    assert_eq!(def["risk"], "write");
    assert_eq!(def["executor"]["type"], "docker");
    assert_eq!(
        def["executor"]["command"],
        json!(["python", "/app/scripts/backup_notes.py"])
    );
    assert_eq!(def["executor"]["cwd"], "/workspace");
    let warnings = made["warnings"].to_string();
    assert!(
        warnings.contains("cannot run tools with executor `docker` yet"),
        "{warnings}"
    );
    bench.send(register(CLEANUP).by(&bench.ann)).await.is(201);
    let shown = bench
        .get("/tools/backup_notes?dialect=automation-hub")
        .await
        .is(200);
    assert_eq!(shown, serde_json::from_str::<Value>(BACKUP).unwrap());
    // The same tool once more, as the section on migration has it.
    bench
        .send(register(MIGRATED).by(&bench.ann))
        .await
        .problem(409);
    let put = ask("PUT", "/tools/backup_notes").by(&bench.ann);
    let moved = bench
        .send(put.raw(MIGRATED, "application/json"))
        .await
        .is(200);
    assert_eq!(moved["tool"]["version"], "1.0.1");
    let versions = bench.get("/tools/backup_notes/versions").await.is(200);
    assert_eq!(versions["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_migrated_one_registers_alone() {
    let bench = Bench::new().await;
    let made = bench.send(register(MIGRATED).by(&bench.ann)).await.is(201);
    let def = &made["tool"]["definition"];
    assert_eq!(def["description"], "备份笔记", "for want of another");
    assert_eq!(def["input_schema"]["type"], "object");
    assert_eq!(def["risk"], "write");
}

#[tokio::test]
async fn its_ids_with_hyphens_and_capitals_are_kept_as_names() {
    let bench = Bench::new().await;
    let body = BACKUP.replace("\"backup_notes\"", "\"Backup-Notes\"");
    let made = bench.send(register(&body).by(&bench.ann)).await.is(201);
    assert_eq!(made["tool"]["id"], "backup_notes");
    assert_eq!(
        bench.get("/tools/Backup-Notes").await.is(200)["id"],
        "backup_notes"
    );
    let put = ask("PUT", "/tools/Backup-Notes").by(&bench.ann);
    bench.send(put.raw(body, "application/json")).await.is(200);
}

#[tokio::test]
async fn a_run_without_its_executor_says_so() {
    let bench = Bench::new().await;
    bench.send(register(CLEANUP).by(&bench.ann)).await.is(201);
    let said = bench
        .post("/runs", json!({"tool_id": "cleanup_dir", "args": {}}))
        .await
        .problem(422);
    assert!(said.contains("directory"), "{said}");
    let body = json!({"tool_id": "cleanup_dir", "args": {"directory": "/tmp"}});
    let asked = bench.post("/runs", body).await.is(202);
    let text = |key: &str| asked["meta"][key].as_str().unwrap().to_owned();
    let (run, approval) = (text("run_id"), text("approval_id"));
    let shown = bench.get(&format!("/approvals/{approval}")).await.is(200);
    assert_eq!(
        shown["args"],
        json!({"directory": "/tmp", "pattern": "*.tmp"})
    );
    bench
        .send(post(&format!("/approvals/{approval}/approve")).by(&bench.bob))
        .await
        .is(200);
    let id = helve_kernel::RunId::parse(&run).unwrap();
    bench.hub.kernel().wait_for(&id).await.unwrap();
    let over = bench.get(&format!("/runs/{run}")).await.is(200);
    assert_eq!(over["state"], "failed");
    let error = &over["answer"]["error"];
    assert_eq!(error["type"], "dependency");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("executor `docker`"),
        "{error}"
    );
    // As the document says to look for it.
    let reply = bench
        .get(&format!("/audit?resource_id={run}"))
        .await
        .is(200);
    let events: Vec<&Value> = reply["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| &e["record"]["event"])
        .collect();
    assert_eq!(
        events,
        ["run.asked", "approval.decided", "run.started", "run.ended"]
    );
}

#[tokio::test]
async fn the_two_risks_that_need_a_person_wait_for_one() {
    let bench = Bench::new().await;
    for (risk, status) in [
        ("read", 200),
        ("exec_low", 200),
        ("exec_high", 202),
        ("write", 202),
    ] {
        let body = json!({
            "id": format!("risk_{risk}"), "name": "风险", "description": "一个工具",
            "risk_level": risk, "executor": "host", "command": ["/bin/true"],
        });
        bench.post("/tools", body).await.is(201);
        bench
            .post(&format!("/tools/risk_{risk}/runs"), json!({"args": {}}))
            .await
            .is(status);
    }
}
